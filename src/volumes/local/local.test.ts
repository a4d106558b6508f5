import { beforeEach, describe, expect, test } from 'vitest';
import { aSetUpRequest, noOwner } from '../../../test/builders/volume-requests.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { FakeVolumeHost } from '../../../test/fakes/fake-volume-host.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import type { SetUpRequest, VolumePlugin } from '../plugin.ts';
import { localPlugin } from './local.ts';

describe('local', () => {
  const signal = new AbortController().signal;
  const layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
  let host: FakeVolumeHost;
  let plugin: VolumePlugin;
  let isMountedByOtherPod: boolean;
  beforeEach(() => {
    host = new FakeVolumeHost(layout.podsDir);
    isMountedByOtherPod = false;
    const events = { pod: () => undefined, node: () => undefined };
    const mounts = { isMountedByOtherPod: (): boolean => isMountedByOtherPod };
    plugin = localPlugin({
      host,
      layout,
      events,
      clock: new FakeClock(),
      log: silentLogger,
      mounts,
    });
    host.entries.set('/mnt/disk', 'directory').set('/etc/file', 'file').set('/dev/vdb', 'block-device');
  });

  const request = (path: string, over: Parameters<typeof aSetUpRequest>[2] = {}): SetUpRequest =>
    aSetUpRequest('local-volume', { local: { path } }, over);
  const tried = async (path: string, over = {}): Promise<string> =>
    await plugin.setUp(request(path, over), signal).then(
      () => host.mounts.map(({ options }) => options).join(' '),
      (err: unknown) => describeError(err),
    );

  const cases: readonly (readonly [string, string, object, string])[] = [
    ['binds a directory', '/mnt/disk', {}, '/mnt/disk'],
    ['binds a directory read-only', '/mnt/disk', { spec: { readOnly: true } }, '/mnt/disk,ro'],
    ['rejects a file', '/etc/file', {}, 'only directory and block device are supported'],
    ['rejects a missing path', '/none', {}, 'only directory and block device are supported'],
    ['rejects a path with ..', '/mnt/../etc', {}, 'invalid path: /mnt/../etc'],
    ['rejects a relative path', 'mnt/disk', {}, 'invalid path: mnt/disk'],
    [
      'mounts the file system of a device',
      '/dev/vdb',
      {},
      '/dev/vdb /root/plugins/kubernetes.io/local-volume/mounts/v',
    ],
  ];
  for (const [name, path, over, want] of cases)
    test(name, async () => expect(await tried(path, over)).toBe(want));

  const owner = { ...noOwner, fsGroup: 7 };
  test('applies the fsGroup for the first pod only, and not to a read-only volume', async () => {
    await tried('/mnt/disk', { owner });
    expect(host.owned).toMatchObject([{ fsGroup: 7, onlyOnRootMismatch: false }]);
    isMountedByOtherPod = true;
    host.mounts.length = 0;
    await tried('/mnt/disk', { owner });
    isMountedByOtherPod = false;
    host.mounts.length = 0;
    await tried('/mnt/disk', { owner, spec: { readOnly: true } });
    expect(host.owned).toHaveLength(1);
  });

  test('removes the directory of a failed bind mount', async () => {
    host.injectFault('bind', () => Promise.reject(new KubeletError('forbidden', 'EPERM', 'not permitted')));
    expect(await tried('/mnt/disk')).toBe('not permitted');
    expect(host.entries.has(request('/mnt/disk').path)).toBe(false);
  });

  test('serialises set-ups of one volume and finds its device by the name on disk', async () => {
    const { spec, path } = request('/dev/vdb');
    expect(plugin.deviceKey(spec)).toBe('local-volume/v');
    const onDisk = { uid: 'uid-p', directoryName: 'v', path };
    expect(await plugin.nodeDevices?.keyOf(onDisk)).toBeUndefined();
    await tried('/dev/vdb');
    expect(await plugin.nodeDevices?.keyOf(onDisk)).toBe('local-volume/v');
    expect(await plugin.nodeDevices?.list()).toEqual(['local-volume/v']);
    await plugin.tearDown(onDisk, signal);
    await plugin.nodeDevices?.release('local-volume/v', signal);
    expect([host.mounts, await plugin.nodeDevices?.list()]).toEqual([[], []]);
  });
});

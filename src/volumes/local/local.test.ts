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
  let elsewhere: boolean;
  beforeEach(() => {
    host = new FakeVolumeHost(layout.podsDir);
    elsewhere = false;
    const events = { pod: () => undefined, node: () => undefined };
    const mounts = { isMountedByOtherPod: (): boolean => elsewhere };
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
    ['a directory', '/mnt/disk', {}, '/mnt/disk'],
    ['read-only', '/mnt/disk', { spec: { readOnly: true } }, '/mnt/disk,ro'],
    ['a file', '/etc/file', {}, 'only directory and block device are supported'],
    ['nothing', '/none', {}, 'only directory and block device are supported'],
    ['a path that goes up', '/mnt/../etc', {}, 'invalid path: /mnt/../etc'],
    ['a relative path', 'mnt/disk', {}, 'invalid path: mnt/disk'],
    ['a device’s file system', '/dev/vdb', {}, '/dev/vdb /root/plugins/kubernetes.io/local-volume/mounts/v'],
  ];
  for (const [name, path, over, want] of cases)
    test(name, async () => expect(await tried(path, over)).toBe(want));

  const owner = { ...noOwner, fsGroup: 7 };
  test('its files are given to the group by its first pod, not when it is read-only', async () => {
    await tried('/mnt/disk', { owner });
    expect(host.owned).toMatchObject([{ fsGroup: 7, onlyOnRootMismatch: false }]);
    elsewhere = true;
    host.mounts.length = 0;
    await tried('/mnt/disk', { owner });
    elsewhere = false;
    host.mounts.length = 0;
    await tried('/mnt/disk', { owner, spec: { readOnly: true } });
    expect(host.owned).toHaveLength(1);
  });

  test('a bind that fails leaves no directory', async () => {
    host.injectFault('bind', () => Promise.reject(new KubeletError('forbidden', 'EPERM', 'not permitted')));
    expect(await tried('/mnt/disk')).toBe('not permitted');
    expect(host.entries.has(request('/mnt/disk').path)).toBe(false);
  });

  test('two pods of one volume go one after the other; its name stands for it on disk', async () => {
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

import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { FakeVolumeHost } from '../../../test/fakes/fake-volume-host.ts';
import { Channel } from '../../base/channel.ts';
import { startComponent } from '../../base/component.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import type { VolumeOperationDeps } from '../operation-deps.ts';
import { pluginDefaults, type VolumePlugin } from '../plugin.ts';
import { DeviceLocks } from './device-locks.ts';
import { DeviceReleases } from './device-releases.ts';
import { DeviceUsers } from './device-users.ts';

const layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
const changed = new Channel<string>();
describe('DeviceReleases', () => {
  let clock: FakeClock;
  let host: FakeVolumeHost;
  let onDisk: string[];
  let calls: string[];
  let release: (key: string) => Promise<void>;
  let stop: AbortController;
  let users: DeviceUsers;
  let releases: DeviceReleases;
  let locks: DeviceLocks;
  let observed: string[];

  const plugin: VolumePlugin = {
    ...pluginDefaults,
    name: 'example.com/p',
    canServe: () => true,
    prerequisite: { missing: () => undefined, changed },
    setUp: () => Promise.reject(new Error('not used')),
    block: {
      setUp: () => Promise.reject(new Error('not used')),
      tearDown: () => Promise.resolve(),
      findUnlinked: async (uid) => (uid === 'b' ? ['three'] : []),
    },
    nodeDevices: {
      keyOf: async ({ directoryName }) => `key-${directoryName}`,
      list: async () => onDisk,
      release: async (key) => {
        calls.push(key);
        await release(key);
      },
      attachName: (key) => (key === 'key-two' ? undefined : `attached-${key}`),
      label: (key) => `p:${key}`,
    },
  };

  async function begin(): Promise<void> {
    users = new DeviceUsers({ host, layout, plugins: [plugin] });
    locks = new DeviceLocks();
    const metrics = {
      observe: ({ plugin: name, operation }: { plugin: string; operation: string }) =>
        void observed.push(`${operation} ${name}`),
    };
    const operations = {
      host,
      layout,
      plugins: [plugin],
      locks,
      users,
      metrics,
      clock,
    } as unknown as VolumeOperationDeps;
    releases = new DeviceReleases({ operations, log: silentLogger });
    stop = new AbortController();
    await startComponent(releases, stop.signal);
    await clock.advance(0);
  }

  beforeEach(() => {
    clock = new FakeClock(0);
    host = new FakeVolumeHost('/root/pods');
    onDisk = [];
    calls = [];
    observed = [];
    release = () => Promise.resolve();
  });

  test('reads devices and their users from disk, linked or not, and releases the rest', async () => {
    onDisk = ['key-one', 'key-two', 'key-left'];
    await host.makeDirectory('/root/pods/a/volumes/example.com~p/one');
    await host.makeDirectory('/root/pods/b/volumeDevices/example.com~p');
    host.links.set('/root/pods/b/volumeDevices/example.com~p/two', '/dev/two');
    await begin();
    expect([users.isUsed('key-one'), users.isUsed('key-two'), users.isUsed('key-three')]).toEqual([
      true,
      true,
      true,
    ]);
    expect(calls).toEqual(['key-left']);
    expect(observed).toEqual(['unmount_device p:key-left']);
    expect(users.ofPod('b')).toEqual([
      { key: 'key-two', paths: ['/root/pods/b/volumeDevices/example.com~p/two'] },
      { key: 'key-three', paths: ['/root/pods/b/volumeDevices/example.com~p/three'] },
    ]);
    expect(users.attachNames()).toEqual(['attached-key-one', 'attached-key-three']);
    expect([users.isUsedByOther('key-one', 'a'), users.isUsedByOther('key-one', 'b')]).toEqual([false, true]);
  });

  test('a device is released after its last user only', async () => {
    await begin();
    users.add(plugin, 'k', { uid: 'a', path: '/a' });
    users.add(plugin, 'k', { uid: 'b', path: '/b' });
    users.remove('k', '/a');
    await releases.releaseUnused('k', 1_000);
    expect(calls).toEqual([]);
    users.remove('k', '/b');
    await clock.until(releases.releaseUnused('k', 1_000));
    expect(calls).toEqual(['k']);
    expect(users.pluginOf('k')).toBeUndefined();
  });

  test('a release waits for a set-up in flight, which keeps the device', async () => {
    await begin();
    users.add(plugin, 'k', { uid: 'a', path: '/a' });
    users.remove('k', '/a');
    let finish: () => void = () => undefined;
    const setUp = locks.run('k', stop.signal, () => new Promise<void>((resolve) => (finish = resolve)));
    const waiting = releases.releaseUnused('k', 1_000);
    await clock.advance(10);
    users.add(plugin, 'k', { uid: 'b', path: '/b' });
    finish();
    await setUp;
    await clock.until(waiting);
    expect(calls).toEqual([]);
    expect(users.pluginOf('k')).toBe(plugin);
  });

  test('a hung release holds its caller for the grace period only, and delays no other device', async () => {
    await begin();
    for (const key of ['hung', 'k']) users.add(plugin, key, { uid: 'a', path: `/${key}` });
    for (const key of ['hung', 'k']) users.remove(key, `/${key}`);
    release = (key) => (key === 'hung' ? new Promise(() => undefined) : Promise.resolve());
    let ended = false;
    const waiting = releases.releaseUnused('hung', 5_000).then(() => (ended = true));
    await clock.until(releases.releaseUnused('k', 5_000));
    expect(calls).toEqual(['hung', 'k']);
    expect(ended).toBe(false);
    await clock.until(waiting);
    expect(users.attachNames()).toEqual(['attached-hung']);
  });

  test('a failed release is repeated with backoff, and at once when a driver registers', async () => {
    await begin();
    users.add(plugin, 'k', { uid: 'a', path: '/a' });
    users.remove('k', '/a');
    release = () => Promise.reject(new KubeletError('unavailable', 'NoDriver', 'driver is unreachable'));
    await clock.until(releases.releaseUnused('k', 5_000));
    await clock.advance(500);
    await clock.advance(1_000);
    expect(calls).toHaveLength(3);
    release = () => Promise.resolve();
    changed.push('d');
    await clock.advance(0);
    expect(calls).toHaveLength(4);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('a disk that cannot be read is read again, and nothing is released before', async () => {
    onDisk = ['key-left'];
    host.injectFault('listDirectories', () => Promise.reject(new Error('input/output error')));
    await begin();
    expect([users.isLoaded, calls.length]).toEqual([false, 0]);
    host.injectFault('listDirectories', undefined);
    await clock.advance(5_000);
    expect([users.isLoaded, calls]).toEqual([true, ['key-left']]);
  });

  test('ends with its signal although a release hangs', async () => {
    onDisk = ['key-left'];
    await host.makeDirectory('/root/pods');
    users = new DeviceUsers({ host, layout, plugins: [plugin] });
    const operations = {
      host,
      layout,
      plugins: [plugin],
      locks: new DeviceLocks(),
      users,
      metrics: { observe: () => undefined },
      clock,
    } as unknown as VolumeOperationDeps;
    const hanging = new DeviceReleases({ operations, log: silentLogger });
    const own = new AbortController();
    const { stopped } = await startComponent(hanging, own.signal);
    own.abort();
    await stopped;
    expect(clock.pendingTimers()).toBe(0);
  });
});

import { expect, test } from 'vitest';
import { aSetUpRequest } from '../../../test/builders/volume-requests.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { FakeVolumeHost } from '../../../test/fakes/fake-volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import type { VolumeSpec } from '../plugin.ts';
import { nfsPlugin } from './nfs.ts';

const signal = new AbortController().signal;
const nfs = { server: 'files.example.com', path: '/export' };

function setUp() {
  const host = new FakeVolumeHost('/root/pods');
  const clock = new FakeClock();
  return { host, clock, plugin: nfsPlugin({ host, clock }) };
}

const cases: readonly (readonly [string, Partial<VolumeSpec>, string])[] = [
  ['without options', {}, ''],
  ['read-only', { readOnly: true }, 'ro'],
  ['with the volume’s mountOptions', { mountOptions: ['vers=4.2', 'hard'] }, 'vers=4.2,hard'],
  ['with both, without duplicates', { mountOptions: ['ro', 'hard'], readOnly: true }, 'ro,hard'],
];
for (const [name, spec, options] of cases)
  test(`nfs mounts ${name}`, async () => {
    const { host, plugin } = setUp();
    const request = aSetUpRequest('nfs', { nfs }, { spec });
    const { readOnly, managed, location } = await plugin.setUp(request, signal);
    expect(location).toEqual({ kind: 'path', path: request.path });
    expect([readOnly, managed]).toEqual([spec.readOnly === true, false]);
    expect(host.mounts).toEqual([{ path: request.path, fsType: 'nfs4', options }]);
    // setUp is idempotent.
    await plugin.setUp(request, signal);
    expect(host.mounts).toHaveLength(1);
  });

test('nfs removes the directory of a failed mount, but keeps one that is mounted nevertheless', async () => {
  const { host, plugin } = setUp();
  const request = aSetUpRequest('nfs', { nfs });
  host.injectFault('mountWithHelper', () =>
    Promise.reject(new KubeletError('unavailable', 'MountFailed', 'denied')),
  );
  await expect(plugin.setUp(request, signal)).rejects.toThrow('denied');
  expect(host.entries.has(request.path)).toBe(false);
  host.injectFault('mountWithHelper', () => {
    host.mounts.push({ path: request.path, fsType: 'nfs4', options: '' });
    return Promise.reject(new KubeletError('unavailable', 'MountFailed', 'killed'));
  });
  await expect(plugin.setUp(request, signal)).rejects.toThrow('killed');
  expect(host.entries.has(request.path)).toBe(true);
  await plugin.tearDown({ uid: 'uid-p', directoryName: 'v', path: request.path }, signal);
  expect([host.mounts, host.entries.has(request.path)]).toEqual([[], false]);
});

test('nfs measures only a server that responds within the deadline', async () => {
  const { host, clock, plugin } = setUp();
  const { path } = aSetUpRequest('nfs', { nfs });
  expect(await clock.until(plugin.stats(path, signal))).toMatchObject({ capacityBytes: 1_000 });
  host.injectFault('isResponsive', () => new Promise(() => undefined));
  expect(await clock.until(plugin.stats(path, signal))).toBeUndefined();
});

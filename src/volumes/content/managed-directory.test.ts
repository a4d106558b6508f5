import { expect, test } from 'vitest';
import { FakeVolumeHost } from '../../../test/fakes/fake-volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import {
  type Medium,
  makeManagedDirectory,
  markComplete,
  removeManagedDirectory,
} from './managed-directory.ts';

const layout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
const path = '/root/pods/u/volumes/kubernetes.io~secret/v';
const volume = { uid: 'u', directoryName: 'v', path };
const disk: Medium = { kind: 'disk' };
const memory: Medium = { kind: 'memory', sizeBytes: 1_024n };

function setUp() {
  const host = new FakeVolumeHost(layout.podsDir);
  const deps = { host, layout };
  const make = (medium: Medium, isRemount = false) =>
    makeManagedDirectory(deps, volume, { marker: 'wrapped_v', medium, isRemount });
  const mark = () => markComplete(deps, 'u', 'wrapped_v');
  const called = (run: () => Promise<unknown>) => {
    host.calls.length = 0;
    return run().then(() => host.calls.map((call) => call.split(' ')[0]));
  };
  return { host, deps, make, mark, called };
}

for (const medium of [disk, memory]) {
  test(`${medium.kind}: is new, then partial until it is marked, then complete`, async () => {
    const { host, make, mark } = setUp();
    expect(await make(medium)).toBe('new');
    expect(await make(medium)).toBe('partial');
    await mark();
    expect(await make(medium)).toBe('complete');
    expect(host.mounts).toHaveLength(medium === memory ? 1 : 0);
  });

  test(`${medium.kind}: only checks a directory that it has completed before`, async () => {
    const { make, mark, called } = setUp();
    await make(medium);
    await mark();
    expect(await called(() => make(medium, true))).toEqual(
      medium === disk ? ['kindOf'] : ['kindOf', 'isMountedAs'],
    );
  });

  test(`${medium.kind}: creates a directory again that was removed after completion`, async () => {
    const { host, deps, make, mark } = setUp();
    await make(medium);
    await mark();
    await removeManagedDirectory(deps, volume, { marker: 'wrapped_v', remains: 'empty' });
    expect(host.mounts).toEqual([]);
    expect(await make(medium, true)).toBe('new');
    await mark();
    expect(await make(medium, true)).toBe('complete');
  });
}

test('mounts a file system in memory again that was unmounted, and reports it as new', async () => {
  const { host, make, mark } = setUp();
  await make(memory);
  await mark();
  await host.unmount(path);
  expect(await make(memory, true)).toBe('new');
  expect(host.mounts).toHaveLength(1);
});

test('removes the marker before the volume', async () => {
  const { host, deps, make, mark } = setUp();
  await make(memory);
  await mark();
  host.injectFault('removeVolume', () => Promise.reject(new KubeletError('conflict', 'EBUSY', 'in use')));
  const removal = removeManagedDirectory(deps, volume, { marker: 'wrapped_v', remains: 'mount' });
  await expect(removal).rejects.toThrow('in use');
  host.injectFault('removeVolume', undefined);
  expect(await make(memory)).toBe('partial');
});

test('reports a failure to create the marker’s directory after creating the volume’s', async () => {
  const { host, make } = setUp();
  let calls = 0;
  host.injectFault('makeDirectory', async () => {
    if (calls++ === 1) throw new KubeletError('unavailable', 'ENOSPC', 'no space');
    for (let tick = 0; tick < 10; tick++) await Promise.resolve();
  });
  await expect(make(disk)).rejects.toThrow('no space');
  expect(host.entries.has(path)).toBe(true);
});

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

function ground() {
  const host = new FakeVolumeHost(layout.podsDir);
  const deps = { host, layout };
  const make = (medium: Medium, isRemount = false) =>
    makeManagedDirectory(deps, volume, { marker: 'wrapped_v', medium, isRemount });
  const mark = () => markComplete(deps, 'u', 'wrapped_v');
  const called = (work: () => Promise<unknown>) => {
    host.calls.length = 0;
    return work().then(() => host.calls.map((call) => call.split(' ')[0]));
  };
  return { host, deps, make, mark, called };
}

for (const medium of [disk, memory]) {
  test(`${medium.kind}: new, then partial until it is marked, then complete`, async () => {
    const { host, make, mark } = ground();
    expect(await make(medium)).toBe('new');
    expect(await make(medium)).toBe('partial');
    await mark();
    expect(await make(medium)).toBe('complete');
    expect(host.mounts).toHaveLength(medium === memory ? 1 : 0);
  });

  test(`${medium.kind}: what was complete before is looked at, and nothing is made`, async () => {
    const { make, mark, called } = ground();
    await make(medium);
    await mark();
    expect(await called(() => make(medium, true))).toEqual(
      medium === disk ? ['kindOf'] : ['kindOf', 'isMountedAs'],
    );
  });

  test(`${medium.kind}: what was complete before and is no more is made again`, async () => {
    const { host, deps, make, mark } = ground();
    await make(medium);
    await mark();
    await removeManagedDirectory(deps, volume, { marker: 'wrapped_v', remains: 'empty' });
    expect(host.mounts).toEqual([]);
    expect(await make(medium, true)).toBe('new');
    await mark();
    expect(await make(medium, true)).toBe('complete');
  });
}

test('a file system in memory that somebody unmounted is mounted again, and its content is new', async () => {
  const { host, make, mark } = ground();
  await make(memory);
  await mark();
  await host.unmount(path);
  expect(await make(memory, true)).toBe('new');
  expect(host.mounts).toHaveLength(1);
});

test('the mark goes before anything of the volume does', async () => {
  const { host, deps, make, mark } = ground();
  await make(memory);
  await mark();
  host.injectFault('removeVolume', () => Promise.reject(new KubeletError('conflict', 'EBUSY', 'in use')));
  const removal = removeManagedDirectory(deps, volume, { marker: 'wrapped_v', remains: 'mount' });
  await expect(removal).rejects.toThrow('in use');
  host.injectFault('removeVolume', undefined);
  expect(await make(memory)).toBe('partial');
});

test('a place for the mark that cannot be made is told when the volume’s own is made', async () => {
  const { host, make } = ground();
  let calls = 0;
  host.injectFault('makeDirectory', async () => {
    if (calls++ === 1) throw new KubeletError('unavailable', 'ENOSPC', 'no space');
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
  });
  await expect(make(disk)).rejects.toThrow('no space');
  expect(host.entries.has(path)).toBe(true);
});

// Directories and cgroups of orphaned pods are removed; those of known pods stay. On the fake clock.
import { afterEach, expect, test } from 'vitest';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

const volumes = '/var/lib/kubelet/pods/uid-gone/volumes';
const logs = '/var/log/pods/default_gone_uid-gone/c';
const foreign = ['/var/lib/kubelet/pods/lost+found', '/var/log/pods/notes'];
let node: FakeNode;
afterEach(async () => await node.stop());

function before(): void {
  node = new FakeNode();
  for (const directory of [volumes, logs, ...foreign]) node.directories.add(directory);
}

test('removes directories of a pod that neither a source nor the runtime knows', async () => {
  before();
  node.write('p.yaml', aPod());
  await node.start();
  await node.clock.advance(2_000);
  const left = [...node.directories].filter((each) => !each.includes('uid-p'));
  expect(left.toSorted()).toEqual(foreign.toSorted());
  expect([...node.directories].some((each) => each.includes('uid-p'))).toBe(true);
  expect(node.stores.lifecycles.all().size).toBe(1);
});

test('unmounts the volumes of an orphaned pod before it removes their directory', async () => {
  before();
  const volume = `${volumes}/kubernetes.io~secret/v`;
  await node.volumes.makeDirectory(volume);
  await node.volumes.mountTmpfs(volume, 1_024n);
  const wasMounted: boolean[] = [];
  node.volumes.injectFault('removeVolume', async () => void wasMounted.push(node.directories.has(volumes)));
  await node.start();
  await node.clock.advance(2_000);
  expect(wasMounted).toEqual([true]);
  expect(node.volumes.mounts).toEqual([]);
  expect(node.directories).not.toContain(volumes);
});

test('keeps the directory of a volume that no plugin serves, and reports it once', async () => {
  before();
  await node.volumes.makeDirectory(`${volumes}/kubernetes.io~odd/v`);
  await node.start();
  await node.clock.advance(600_000);
  expect(node.directories).toContain(volumes);
  expect(node.logged('kubernetes.io~odd').filter((line) => /^[EW]/.test(line))).toHaveLength(1);
});

test('removes nothing while a source has not reported', async () => {
  before();
  node.manifestsUnreadable = true;
  await node.start();
  await node.clock.advance(300_000);
  expect(node.directories).toContain(volumes);
  node.manifestsUnreadable = false;
  await node.clock.advance(120_000);
  expect(node.directories).not.toContain(volumes);
  expect(node.directories).not.toContain(logs);
});

test('removes the cgroups of unknown pods, and of pods that have ended and are still desired', async () => {
  node = new FakeNode();
  node.cgroups.enter('/kubepods/burstable/poduid-gone', 7);
  await node.cgroups.kill(['kubepods', 'burstable', 'poduid-gone']);
  const command = ['sh', '-c', 'exit 0'];
  node.write('p.yaml', aPod({ restartPolicy: 'Never', containers: [aContainer({ command })] }));
  await node.start();
  await node.clock.advance(5_000);
  expect([...node.cgroups.groups.keys()].filter((path) => path.includes('poduid'))).toEqual([]);
  expect(node.status('uid-p')?.phase).toBe('Succeeded');
});

test('does not touch a pod whose UID reappears', async () => {
  before();
  node.write('p.yaml', aPod({ uid: 'uid-gone', name: 'gone' }));
  await node.start();
  await node.clock.advance(300_000);
  expect(node.directories).toContain(volumes);
  expect(node.status('uid-gone')?.phase).toBe('Running');
});

import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../../test/builders/builders.ts';
import { FakeCgroups } from '../../../test/fakes/fake-cgroups.ts';
import { KubeletError } from '../../base/errors.ts';
import { PodCgroups } from './pod-cgroups.ts';

const policy = {
  enforceCpuLimits: true,
  cpuPeriodUs: 100_000n,
  pidsLimit: 50n,
  reservesMemory: false,
  podLevelResources: true,
};

function rig() {
  const cgroups = new FakeCgroups();
  return { cgroups, pods: new PodCgroups({ cgroups, root: ['kubepods'], policy }) };
}

test("creates a pod's cgroup with its settings, and applies them again to an existing one", async () => {
  const { cgroups, pods } = rig();
  const requests = { cpu: '1', memory: '1Mi' };
  const pod = aPod({ uid: 'u', containers: [aContainer({ resources: { requests, limits: requests } })] });
  await pods.ensure(pod);
  await pods.ensure(pod);
  expect(pods.parentOf(pod)).toBe('/kubepods/podu');
  expect(cgroups.calls).toEqual(['create /kubepods/podu', 'create /kubepods/podu']);
  expect(cgroups.settings('/kubepods/podu')).toEqual({
    cpuShares: 1024n,
    cpuQuotaUs: 100_000n,
    cpuPeriodUs: 100_000n,
    memoryLimitBytes: 1_048_576n,
    pidsLimit: 50n,
    hugePageLimits: {},
  });
});

test('reports a setting that the kernel rejects with the cgroup, as upstream', async () => {
  const { cgroups, pods } = rig();
  cgroups.faults.set('/kubepods/besteffort/podu', new KubeletError('invalid', 'EINVAL', 'cannot write "2"'));
  await expect(pods.ensure(aPod({ uid: 'u' }))).rejects.toMatchObject({
    kind: 'invalid',
    reason: 'FailedCreatePodContainer',
    message: 'failed to create container for [kubepods besteffort podu] : cannot write "2"',
  });
});

test('names the cgroups of QoS classes as upstream does', async () => {
  const { pods } = rig();
  const burstable = aPod({ uid: 'b', containers: [aContainer({ resources: { requests: { cpu: '1' } } })] });
  expect([pods.parentOf(burstable), pods.parentOf(aPod({ uid: 'e' }))]).toEqual([
    '/kubepods/burstable/podb',
    '/kubepods/besteffort/pode',
  ]);
});

test("removal kills the remaining processes of the pod, and no other pod's", async () => {
  const { cgroups, pods } = rig();
  cgroups.enter('/kubepods/burstable/podu', 11);
  cgroups.enter('/kubepods/burstable/podu/c', 12);
  cgroups.enter('/kubepods/burstable/podv', 13);
  await pods.removePod('u');
  await pods.removePod('u');
  expect(cgroups.killed).toEqual([11, 12]);
  expect([...cgroups.groups.keys()]).toEqual(['/kubepods/burstable/podv']);
});

test('finds and removes a cgroup that was recreated after its removal', async () => {
  const { cgroups, pods } = rig();
  const pod = aPod({ uid: 'u' });
  await pods.ensure(pod);
  await pods.removePod('u');
  expect([...cgroups.groups.keys()].filter((name) => name.endsWith('podu'))).toEqual([]);
  cgroups.enter('/kubepods/burstable/podu', 11);
  await pods.removePod('u');
  expect(cgroups.killed).toEqual([]);
  expect([...(await pods.podsWithCgroups())]).toEqual(['u']);
  await pods.removePod('u');
  expect(cgroups.killed).toEqual([11]);
  await pods.ensure(pod);
  await pods.removePod('u');
  expect([...cgroups.groups.keys()].filter((name) => name.endsWith('podu'))).toEqual([]);
});

test('reports a conflict while a process survives its kill', async () => {
  const { cgroups, pods } = rig();
  cgroups.enter('/kubepods/podu', 11);
  cgroups.immortal.add(11);
  await expect(pods.removePod('u')).rejects.toMatchObject({ kind: 'conflict', reason: 'CgroupBusy' });
  expect(cgroups.groups.has('/kubepods/podu')).toBe(true);
});

test('kills one container by its cgroup, however the runtime names it', async () => {
  const { cgroups, pods } = rig();
  cgroups.enter('/kubepods/podu/abc', 11);
  cgroups.enter('/kubepods/besteffort/podu/cri-containerd-abc.scope', 12);
  cgroups.enter('/kubepods/podu/abd', 13);
  await pods.killContainer('u', 'abc');
  expect(cgroups.killed).toEqual([11, 12]);
});

for (const id of ['..', '.', '', 'a/b'])
  test(`rejects an unsafe container ID: ${JSON.stringify(id)}`, async () =>
    await expect(rig().pods.killContainer('u', id)).rejects.toMatchObject({ kind: 'invalid' }));

for (const uid of ['', 'a/b', '\0'])
  test(`rejects an unsafe pod UID: ${JSON.stringify(uid)}`, async () =>
    await expect(rig().pods.removePod(uid)).rejects.toMatchObject({ kind: 'invalid' }));

test('lists the pods that have cgroups', async () => {
  const { cgroups, pods } = rig();
  for (const path of [
    '/kubepods/podg',
    '/kubepods/burstable/podb',
    '/kubepods/besteffort/podx',
    '/kubepods/other',
  ])
    cgroups.enter(path, 1);
  expect([...(await pods.podsWithCgroups())].toSorted()).toEqual(['b', 'g', 'x']);
});

test('a pod with exclusive CPUs has no quota', async () => {
  const cgroups = new FakeCgroups();
  const exclusive = { hasExclusiveCpus: (uid: string) => uid === 'u' };
  const pods = new PodCgroups({ cgroups, root: ['kubepods'], policy, exclusive });
  const requests = { cpu: '1', memory: '1Mi' };
  const containers = [aContainer({ resources: { requests, limits: requests } })];
  await pods.ensure(aPod({ uid: 'u', containers }));
  expect(cgroups.settings('/kubepods/podu')).toMatchObject({ cpuShares: 1024n, cpuQuotaUs: -1n });
  expect(pods.desiredAmounts(aPod({ uid: 'u', containers }))).toMatchObject({ cpuQuotaUs: -1n });
  expect(pods.desiredAmounts(aPod({ uid: 'v', containers }))).toMatchObject({ cpuQuotaUs: 100_000n });
});

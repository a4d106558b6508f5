// Garbage collection of containers, sandboxes, logs and links in a cluster of one node, on the fake clock.
import { describe, expect, test } from 'vitest';
import { ContainerState } from '../../../src/api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../../src/api/cri/labels.ts';
import type { PodStatus } from '../../../src/api/k8s/types.ts';
import { KubeletError } from '../../../src/base/errors.ts';
import { aContainer, aPod, type PodOver } from '../../builders/builders.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';

const exits = (code: number, name = 'c') => aContainer({ name, command: ['sh', '-c', `exit ${code}`] });
const job: PodOver = { restartPolicy: 'Never', containers: [exits(0), exits(3, 'd')] };
const flags = (perContainer: number, total = -1) => ({
  flags: { maximumDeadContainersPerContainer: perContainer, maximumDeadContainers: total },
});
const evicted = {
  reason: 'Evicted',
  message: 'The node was low on resource: memory. ',
  graceSeconds: 1,
  evicted: true,
} as const;
const minute = 60_000;

/** Names of the pods of all containers of the runtime. */
async function containers(world: ClusterWorld): Promise<readonly string[]> {
  const { containers: all } = await world.node.cri.listContainers({});
  return all.map(({ labels }) => labels[criLabels.podName] ?? '').toSorted();
}

async function sandboxes(world: ClusterWorld): Promise<number> {
  return (await world.node.cri.listPodSandbox({})).items.length;
}

const exitCodes = (status: PodStatus | undefined): readonly (number | undefined)[] =>
  (status?.containerStatuses ?? []).map(({ state }) => state?.terminated?.exitCode);
const logsOf = (world: ClusterWorld): readonly string[] =>
  [...world.node.directories].filter((each) => each.startsWith('/var/log/pods/'));
const deleteUnused = (world: ClusterWorld): Promise<void> => world.node.deleteUnusedContainers();

describe('a finished pod', () => {
  test('keeps its newest containers by default', async () => {
    const world = await startCluster();
    world.run('job', job);
    await world.advance(10 * minute);
    expect(await containers(world)).toEqual(['job', 'job']);
  });

  test('loses them within a minute if none is to be kept, but not its status', async () => {
    const world = await startCluster(flags(0));
    const { uid = '' } = world.run('job', job).metadata ?? {};
    await world.advance(5_000);
    const before = world.pod('job')?.status;
    expect(exitCodes(before)).toEqual([0, 3]);
    await world.advance(2 * minute);
    expect(await containers(world)).toEqual([]);
    expect(exitCodes(world.node.status(uid))).toEqual([0, 3]);
    expect(world.pod('job')?.status).toEqual(before);
  });

  test('loses all of them under disk pressure, but neither its status nor its log directory', async () => {
    const world = await startCluster();
    world.run('job', job);
    world.run('web');
    await world.advance(5_000);
    const before = world.pod('job')?.status;
    await deleteUnused(world);
    expect([await containers(world), await sandboxes(world)]).toEqual([['web'], 1]);
    expect(logsOf(world).some((each) => each.includes('default_job_'))).toBe(true);
    await world.node.kill();
    await world.node.start();
    await world.advance(2 * minute);
    expect(world.pod('job')?.status).toEqual(before);
    expect(world.phase('web')).toBe('Running');
    expect(await containers(world)).toEqual(['web']);
    world.delete('job', 0);
    await world.advance(minute);
    expect(world.pod('job')).toBeUndefined();
    expect(logsOf(world).filter((each) => each.includes('default_job_'))).toEqual([]);
  });

  test('keeps containers whose exit the API server does not have', async () => {
    const world = await startCluster();
    world.run('job', { ...job, containers: [aContainer()] });
    await world.advance(5_000);
    world.api.faults.goDown();
    world.node.cri.exitContainer('c', 3);
    await world.advance(10_000);
    await deleteUnused(world);
    expect(await containers(world)).toEqual(['job']);
    world.api.faults.comeUp();
    await world.advance(2 * minute);
    await deleteUnused(world);
    expect(await containers(world)).toEqual([]);
    expect(exitCodes(world.pod('job')?.status)).toEqual([3]);
  });

  test('keeps its newest containers if it is static: nothing else remembers that it has run', async () => {
    const world = await startCluster(flags(0));
    world.node.write('p.yaml', aPod({ name: 'once', ...job }));
    await world.advance(5 * minute);
    await deleteUnused(world);
    expect(await containers(world)).toEqual(['once-n', 'once-n']);
  });
});

describe('an evicted pod', () => {
  test('is removed within a minute with its logs, not in its grace period, although its object exists', async () => {
    const world = await startCluster();
    const stubborn = aContainer({ command: ['sh', '-c', 'trap "" TERM; sleep 9999'] });
    const { uid = '' } = world.run('web', { containers: [stubborn] }).metadata ?? {};
    await world.advance(5_000);
    const kill = world.node.killPod(uid, { ...evicted, graceSeconds: 150 });
    await world.advance(140_000);
    expect(logsOf(world)).not.toEqual([]);
    await world.node.clock.until(kill, 20_000);
    await world.advance(5_000);
    const before = world.pod('web')?.status;
    expect([before?.phase, before?.reason, exitCodes(before)]).toEqual(['Failed', 'Evicted', [137]]);
    await world.advance(minute);
    expect([await containers(world), await sandboxes(world), logsOf(world)]).toEqual([[], 0, []]);
    expect(world.pod('web')?.status).toEqual(before);
  });

  test('is recognized by a kubelet that started later', async () => {
    const world = await startCluster();
    const { uid = '' } = world.run('web').metadata ?? {};
    await world.advance(5_000);
    await world.node.clock.until(world.node.killPod(uid, evicted), 10_000);
    await world.advance(2_000);
    await world.node.kill();
    expect(await containers(world)).toEqual(['web']);
    await world.node.start();
    await world.advance(2 * minute);
    expect([await containers(world), await sandboxes(world), logsOf(world)]).toEqual([[], 0, []]);
    expect(exitCodes(world.pod('web')?.status)).toEqual([137]);
  });
});

describe('a crashing container', () => {
  const crashing: PodOver = { containers: [exits(1)] };

  test('leaves as many dead containers as the flags specify, and the newest also under pressure', async () => {
    const world = await startCluster(flags(2));
    world.run('web', crashing);
    await world.advance(5 * minute);
    expect(await containers(world)).toEqual(['web', 'web']);
    await deleteUnused(world);
    expect(await containers(world)).toEqual(['web', 'web']);
  });

  test('that is never started again is collected too: the total of the node is exceeded by another pod', async () => {
    const world = await startCluster(flags(3, 3));
    world.run('first', { containers: [exits(1)] });
    await world.advance(minute);
    expect(await containers(world)).toEqual(['first', 'first', 'first']);
    // Its image fails from now on, so that its worker has no successful sync.
    world.node.cri.faults.fail('createContainer', new KubeletError('internal', 'X', 'broken'), {
      times: 1_000,
      match: ({ sandboxConfig }) => sandboxConfig?.metadata?.name === 'first',
    });
    world.run('second', { restartPolicy: 'Never', containers: [exits(0)] });
    await world.advance(3 * minute);
    expect(await containers(world)).toEqual(['first', 'second']);
  });

  test('in an unknown state is stopped before it is removed, and stays if that fails', async () => {
    const world = await startCluster();
    const { cri } = world.node;
    world.run('web');
    await world.advance(2_000);
    const { id } = cri.container('c');
    cri.exitContainer(id, 1);
    await world.advance(2_000);
    Object.assign(cri.container(id), { state: ContainerState.CONTAINER_UNKNOWN });
    const isIt = ({ containerId }: { readonly containerId: string }): boolean => containerId === id;
    const refused = new KubeletError('internal', 'X', 'cannot stop it');
    const fault = cri.faults.fail('stopContainer', refused, { times: 1_000, match: isIt });
    cri.exitContainer('c', 1);
    await world.advance(2 * minute);
    const ids = async () => (await cri.listContainers({})).containers.map((each) => each.id);
    expect(await ids()).toHaveLength(3);
    expect(world.node.logged('Failed to stop a container in an unknown state')).not.toEqual([]);
    fault.remove();
    await world.advance(2 * minute);
    expect(await ids()).toHaveLength(2);
    expect(await ids()).not.toContain(id);
  });
});

describe('links to logs that do not exist', () => {
  test('are removed, unless their container may write again', async () => {
    const world = await startCluster();
    world.run('web');
    await world.advance(2_000);
    const { id } = world.node.cri.container('c');
    const link = (name: string): string => `/var/log/containers/${name}.log`;
    const dead = [link(`gone_default_c-${'0'.repeat(64)}`), link('short-1'), link('noid')];
    const alive = link(`web_default_c-${id}`);
    for (const each of [...dead, alive]) world.node.danglingLinks.add(each);
    await world.advance(minute);
    expect([...world.node.danglingLinks]).toEqual([alive]);
  });

  test('stay while the runtime does not answer for their container', async () => {
    const world = await startCluster();
    const dead = `/var/log/containers/gone_default_c-${'0'.repeat(64)}.log`;
    world.node.danglingLinks.add(dead);
    const unavailable = new KubeletError('unavailable', 'UNAVAILABLE', 'away');
    const fault = world.node.cri.faults.fail('containerStatus', unavailable, { times: 1_000 });
    await world.advance(2 * minute);
    expect(world.node.danglingLinks).toContain(dead);
    fault.remove();
    await world.advance(minute);
    expect(world.node.danglingLinks).not.toContain(dead);
  });
});

describe('failures', () => {
  test('a runtime that does not answer is reported on the node once a minute; collection continues afterwards', async () => {
    const world = await startCluster(flags(0));
    world.run('job', job);
    await world.advance(5_000);
    world.node.cri.faults.goDown();
    await world.advance(3 * minute);
    const events = world.node.events('n').filter(({ reason }) => reason === 'ContainerGCFailed');
    expect(events).toMatchObject([{ type: 'Warning', count: expect.any(Number) }]);
    world.node.cri.faults.comeUp();
    await world.advance(2 * minute);
    expect(await containers(world)).toEqual([]);
    expect(world.node.logged('Container garbage collection succeeded')).not.toEqual([]);
  });

  test('a removal that fails does not fail the sync, and is retried once a minute and after syncs', async () => {
    const world = await startCluster();
    const { cri } = world.node;
    world.run('web', { containers: [exits(1)] });
    const refused = new KubeletError('internal', 'X', 'cannot remove it');
    const fault = cri.faults.fail('removeContainer', refused, { times: 10_000 });
    await world.advance(10 * minute);
    const created = world.callCount('createContainer');
    expect(created).toBeGreaterThan(5);
    expect(world.callCount('removeContainer')).toBeLessThan(200);
    expect(world.node.logged('Failed to sync pod')).toEqual([]);
    fault.remove();
    await world.advance(6 * minute);
    expect((await containers(world)).length).toBeLessThanOrEqual(2);
  });

  test('a removal that hangs delays no other pod', async () => {
    const world = await startCluster();
    world.run('stuck', job);
    world.run('job', job);
    world.run('busy', { terminationGracePeriodSeconds: 600 });
    await world.advance(5_000);
    world.node.cri.faults.stall('removeContainer', {
      times: 1_000,
      match: ({ containerId }) =>
        world.node.cri.container(containerId).sandbox.config.metadata?.name === 'stuck',
    });
    await deleteUnused(world);
    expect(await containers(world)).toEqual(['busy', 'stuck', 'stuck']);
    expect(world.node.logged('Failed to collect the garbage of a pod')).toHaveLength(1);
  });

  test('a kubelet killed in the middle of a removal finishes it', async () => {
    const world = await startCluster();
    const { uid = '' } =
      world.run('web', { containers: [aContainer(), aContainer({ name: 'd' })] }).metadata ?? {};
    await world.advance(5_000);
    await world.node.clock.until(world.node.killPod(uid, evicted), 10_000);
    world.node.cri.faults.stall('removePodSandbox', { times: 1 });
    await world.advance(minute);
    expect([await containers(world), await sandboxes(world)]).toEqual([[], 1]);
    await world.node.kill();
    await world.node.start();
    await world.advance(2 * minute);
    expect([await sandboxes(world), logsOf(world)]).toEqual([0, []]);
    expect(world.phase('web')).toBe('Failed');
  });
});

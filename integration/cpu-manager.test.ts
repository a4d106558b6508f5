// The static CPU manager on the real kernel: exclusive CPUs in cpuset.cpus and inside the containers, the shared CPUs of other
// pods, restarts, damaged and foreign state files, changes of the policy under running pods.
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Container, Pod } from '../src/api/k8s/types.ts';
import { decodeCpuState, encodeCpuState } from '../src/resources/cpu/cpu-state.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import { deletePods, eventCount } from './support/device-pods.ts';
import { KernelCgroups } from './support/kernel-cgroups.ts';
import { container, manifest } from './support/manifest.ts';
import { allocatableResources, listPodResources } from './support/pod-resources.ts';
import { containerIdOf, containerStatus, uidOf } from './support/pod-state.ts';
import { useClusterNode } from './support/suite-node.ts';

// CPU 0 is reserved, so an exclusive pod gets all others: on a machine of two CPUs exactly CPU 1.
const last = cpus().length - 1;
const reserved = '0';
const exclusive = last === 1 ? '1' : `1-${last}`;
const everyCpu = `0-${last}`;

const describeOnCpus = last < 1 ? describe.skip : describeOnRig;

describeOnCpus(last < 1 ? 'cpu manager (skipped: the machine has one CPU)' : 'cpu manager', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let kernel: KernelCgroups;
  const names = new Set<string>();
  /** Read at every start of the kubelet. */
  const config: Record<string, unknown> = {
    cpuManagerPolicy: 'static',
    reservedSystemCPUs: reserved,
    cpuManagerReconcilePeriod: '1s',
  };

  useClusterNode(
    (node) => ({ rig, cluster, kubelet } = node),
    (joined) => ({ flags: [`--kubeconfig=${joined.kubeconfig}`], config }),
  );
  beforeAll(async () => {
    kernel = await KernelCgroups.find();
  });
  afterEach(async () => {
    if (!kubelet.running) await kubelet.start();
    await deletePods(cluster, ...names);
    names.clear();
    await restartWith('static');
  });

  const stateFile = (): string => join(kubelet.rootDir, 'cpu_manager_state');
  const recoveries = (): number => eventCount(cluster, 'node1', 'ManagerStateRecovered');

  async function restartWith(policy: 'none' | 'static'): Promise<void> {
    if (config['cpuManagerPolicy'] === policy && kubelet.running) return;
    if (kubelet.running) await kubelet.stop();
    config['cpuManagerPolicy'] = policy;
    await kubelet.start();
  }

  /** Guaranteed, with whole CPUs. */
  const soloPod = (name: string): Pod => {
    const amounts = { cpu: String(last), memory: '32Mi' };
    const resources: Container['resources'] = { requests: amounts, limits: amounts };
    return manifest(name, { containers: [container('main', undefined, { resources })] });
  };
  const create = (pod: Pod): string => {
    const name = pod.metadata?.name ?? '';
    cluster.createPod(pod);
    names.add(name);
    return name;
  };
  const run = (pod: Pod): Promise<Pod> => cluster.untilReady(create(pod));

  const podCgroup = (pod: Pod): string => {
    const folder = pod.status?.qosClass === 'Guaranteed' ? '' : 'besteffort/';
    return `${rig.workspace.name}/kubepods/${folder}pod${uidOf(pod)}`;
  };
  const cpusetOf = (pod: Pod): string =>
    readFileSync(
      kernel.fileOf('cpuset', `${podCgroup(pod)}/${containerIdOf(pod)}`, 'cpuset.cpus'),
      'utf8',
    ).trim();
  const untilCpuset = async (pod: Pod, wanted: string): Promise<void> => {
    await waitFor(() => {
      const found = cpusetOf(pod);
      if (found === wanted) return true;
      throw new Error(`it is ${found}`);
    }, `cpuset.cpus of ${pod.metadata?.name} to be ${wanted}`);
  };
  /** As a process in the container sees it. */
  const allowedInside = async (pod: Pod): Promise<string> => {
    const cmd = ['grep', 'Cpus_allowed_list', '/proc/self/status'];
    const { stdout } = await rig.cri.execSync({ containerId: containerIdOf(pod), cmd, timeout: 10n });
    return Buffer.from(stdout).toString().split(':')[1]?.trim() ?? '';
  };
  const untilUnchanged = async (pod: Pod): Promise<void> => {
    const now = await cluster.untilReady(pod.metadata?.name ?? '');
    expect(containerStatus(now)).toMatchObject({
      restartCount: 0,
      containerID: containerStatus(pod).containerID ?? '',
    });
  };
  const ids = Array.from({ length: last }, (_, index) => index + 1);

  test('a Guaranteed pod has its CPUs alone, and shared pods leave them while it exists', async () => {
    const shared = await run(manifest('shared'));
    await untilCpuset(shared, everyCpu);
    const solo = await run(soloPod('solo'));
    expect(cpusetOf(solo)).toBe(exclusive);
    expect(await allowedInside(solo)).toBe(exclusive);
    for (const cgroup of [podCgroup(solo), `${podCgroup(solo)}/${containerIdOf(solo)}`])
      expect(kernel.amount(cgroup, 'cpu.cfs_quota_us')).toBe('max');
    await untilCpuset(shared, reserved);
    expect(await allowedInside(shared)).toBe(reserved);
    const later = await run(manifest('later'));
    expect(cpusetOf(later)).toBe(reserved);

    expect(await listPodResources(kubelet)).toEqual({ 'solo/main': `cpus=${ids.join(',')}` });
    expect((await allocatableResources(kubelet)).cpus).toEqual(ids);
    const second = create(soloPod('second'));
    const { status } = await cluster.untilPod(second, 'to be rejected', ({ phase }) => phase === 'Failed');
    expect(status?.reason).toMatch(/^(OutOfcpu|UnexpectedAdmissionError)$/);

    await deletePods(cluster, 'solo', 'second');
    await untilCpuset(shared, everyCpu);
    await untilCpuset(later, everyCpu);
    expect(await allowedInside(shared)).toBe(everyCpu);
    const next = await run(soloPod('next'));
    expect(cpusetOf(next)).toBe(exclusive);
    await untilUnchanged(shared);
  });

  /** A kubelet that has just started lists its pods once it has read their manifests. */
  const untilListed = async (name: string): Promise<void> => {
    await expect
      .poll(() => listPodResources(kubelet), { timeout: 10_000 })
      .toEqual({ [`${name}/main`]: `cpus=${ids.join(',')}` });
  };

  test('restarts keep the CPUs, with the state in the format of the Go kubelet', async () => {
    const solo = await run(soloPod('kept'));
    const events = recoveries();
    await kubelet.kill9();
    const text = readFileSync(stateFile(), 'utf8');
    const state = decodeCpuState(text);
    expect(state).toEqual({
      policyName: 'static',
      defaultCpuSet: reserved,
      entries: { [uidOf(solo)]: { main: exclusive } },
    });
    expect(encodeCpuState(state)).toBe(text);
    await kubelet.start();
    await untilUnchanged(solo);
    await untilListed('kept');

    // As a Go kubelet of v1.34 writes it: without the copy of the state that v1.37 adds.
    await kubelet.stop();
    const { checksum, defaultCpuSet, entries, policyName } = JSON.parse(
      readFileSync(stateFile(), 'utf8'),
    ) as Record<string, unknown>;
    writeFileSync(stateFile(), JSON.stringify({ policyName, defaultCpuSet, entries, checksum }));
    await kubelet.start();
    await untilUnchanged(solo);
    await untilListed('kept');
    expect(cpusetOf(solo)).toBe(exclusive);
    expect(recoveries()).toBe(events);
  });

  test('a kubelet starts with a damaged state file, and running pods keep their CPUs', async () => {
    const solo = await run(soloPod('whole'));
    const shared = await run(manifest('beside'));
    const damages: readonly ((text: string) => string)[] = [
      (text) => text.slice(0, text.length / 2),
      () => '',
      (text) => text.replace(/"checksum":\d+/, '"checksum":1').replace(/"data":/i, '"other":'),
    ];
    for (const damage of damages) {
      const events = recoveries();
      await kubelet.stop();
      writeFileSync(stateFile(), damage(readFileSync(stateFile(), 'utf8')));
      await kubelet.start();
      await waitFor(() => recoveries() === events + 1, 'the event ManagerStateRecovered');
      await waitFor(
        async () => (await listPodResources(kubelet))['whole/main'] === `cpus=${ids.join(',')}`,
        'the CPUs of the pod to be known',
      );
      expect(cpusetOf(solo)).toBe(exclusive);
      await untilCpuset(shared, reserved);
    }
    await untilUnchanged(solo);
    await untilUnchanged(shared);
  });

  test('the policy changes under running pods, which are not restarted', async () => {
    const solo = await run(soloPod('steady'));
    const shared = await run(manifest('bystander'));
    await untilCpuset(shared, reserved);
    const before = recoveries();
    await restartWith('none');
    await waitFor(() => recoveries() === before + 1, 'the event of the change to none');
    await untilUnchanged(solo);
    await untilUnchanged(shared);
    const free = await run(manifest('free'));
    expect(await allowedInside(free)).toBe(everyCpu);
    expect(decodeCpuState(readFileSync(stateFile(), 'utf8')).policyName).toBe('none');

    await restartWith('static');
    await waitFor(() => recoveries() === before + 2, 'the event of the change to static');
    for (const pod of [solo, shared, free]) await untilUnchanged(pod);
    await untilCpuset(solo, exclusive);
    await untilCpuset(shared, reserved);
    await untilCpuset(free, reserved);
    expect(await listPodResources(kubelet)).toEqual({ 'steady/main': `cpus=${ids.join(',')}` });
  });
});

// The resources of a pod on the machine, all of which must be removed with the pod.
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Pod } from '../../src/api/k8s/types.ts';
import { cgroupFolders } from '../rig/cgroups.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import type { Rig } from '../rig/rig.ts';
import { waitFor } from '../rig/wait.ts';

function names(dir: string): readonly string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}

/** One word for each kind of resource that the pod has. */
export async function podTraces(rig: Rig, kubelet: Kubelet, pod: Pod): Promise<readonly string[]> {
  const uid = pod.metadata?.uid ?? '';
  const [sandboxes, containers] = await Promise.all([rig.cri.listPodSandbox({}), rig.cri.listContainers({})]);
  const found: Readonly<Record<string, boolean>> = {
    sandbox: sandboxes.items.some(({ metadata }) => metadata?.uid === uid),
    container: containers.containers.some((each) => each.labels['io.kubernetes.pod.uid'] === uid),
    directory: existsSync(join(kubelet.rootDir, 'pods', uid)),
    logs: names(kubelet.podLogsDir).some((name) => name.includes(uid)),
    cgroup: cgroupFolders(rig.cgroupParent).some((folder) => basename(folder).includes(uid)),
  };
  return Object.keys(found).filter((kind) => found[kind]);
}

export const allTraces = ['sandbox', 'container', 'directory', 'logs', 'cgroup'];

export async function untilNoTraces(rig: Rig, kubelet: Kubelet, pod: Pod): Promise<void> {
  await waitFor(
    async () => {
      const left = await podTraces(rig, kubelet, pod);
      if (left.length === 0) return true;
      throw new Error(`left: ${left.join(', ')}`);
    },
    `all resources of pod ${pod.metadata?.name} to be removed`,
    40_000,
  );
}

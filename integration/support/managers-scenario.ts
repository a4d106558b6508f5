// The pods that two kubelets run in turn, and what each node shows of them.
import type { Pod, PodStatus, ResourceList, ResourceRequirements } from '../../src/api/k8s/types.ts';
import { waitFor } from '../rig/wait.ts';
import { sampleResource } from './device-plugin.ts';
import { deletePods, deviceContainer, showDevices } from './device-pods.ts';
import { type ManagersNode, type ManagersSettings, startManagersNode } from './managers-node.ts';
import { ManagersRecord } from './managers-record.ts';
import { container, manifest } from './manifest.ts';

const amounts = (cpu: string, over: ResourceList = {}): ResourceRequirements => {
  const each = { cpu, memory: '32Mi', ...over };
  return { requests: each, limits: each };
};

/** Guaranteed, with this amount of CPU. */
export function cpuPod(name: string, cpu: string): Pod {
  return manifest(name, {
    automountServiceAccountToken: false,
    containers: [container('main', undefined, { resources: amounts(cpu) })],
  });
}

export function sharedPod(name: string): Pod {
  return manifest(name, { automountServiceAccountToken: false });
}

/** Its init container has one device, which the main container reuses. */
export function devicesPod(name: string, count: number): Pod {
  return manifest(name, {
    automountServiceAccountToken: false,
    initContainers: [deviceContainer('prepare', 1, { script: showDevices })],
    containers: [deviceContainer('main', count), container('beside')],
  });
}

/** With a sidecar of one device; the main container has CPUs and a device. */
function mixedPod(name: string, cpu: string): Pod {
  const device = { [sampleResource]: '1' };
  return manifest(name, {
    automountServiceAccountToken: false,
    initContainers: [
      container('side', undefined, { restartPolicy: 'Always', resources: amounts('100m', device) }),
    ],
    containers: [container('main', undefined, { resources: amounts(cpu, device) })],
  });
}

const hasFailed = ({ phase }: PodStatus): boolean => phase === 'Failed';

class Scenario {
  readonly #node: ManagersNode;
  readonly #record: ManagersRecord;
  readonly #found: Record<string, unknown> = {};

  constructor(node: ManagersNode) {
    this.#node = node;
    this.#record = new ManagersRecord(node);
  }

  async #run(pod: Pod): Promise<void> {
    this.#node.cluster.createPod(pod);
    await this.#node.cluster.untilReady(pod.metadata?.name ?? '');
  }

  async #refuse(pod: Pod): Promise<void> {
    this.#node.cluster.createPod(pod);
    await this.#node.cluster.untilPod(pod.metadata?.name ?? '', 'to be rejected', hasFailed);
  }

  /** Keeps what the node shows now. */
  async #show(when: string, cpusets: Readonly<Record<string, string>>): Promise<void> {
    await waitFor(
      async () => {
        const found = await this.#record.cpusets();
        if (Object.entries(cpusets).every(([name, cpus]) => found[name]?.endsWith(`\t${cpus}`))) return true;
        throw new Error(JSON.stringify(found));
      },
      `the cpusets ${JSON.stringify(cpusets)}`,
    );
    this.#found[when] = {
      statuses: this.#record.statuses(),
      node: this.#record.nodeResources(),
      podResources: await this.#record.podResources(),
      cpusets: await this.#record.cpusets(),
      stateFiles: this.#record.stateFiles(),
    };
  }

  async run(): Promise<Readonly<Record<string, unknown>>> {
    await this.#show('at the start', {});
    await this.#run(sharedPod('shared'));
    await this.#run(devicesPod('devices', 2));
    await this.#run(cpuPod('solo', '1'));
    this.#found['calls of the plugin'] = this.#record.pluginCalls(0);
    for (const pod of [devicesPod('many', 5), devicesPod('more', 3), cpuPod('second', '1')])
      await this.#refuse(pod);
    await this.#show('with a pod that has a CPU alone', { 'shared/main': '0', 'solo/main': '1' });
    await deletePods(this.#node.cluster, 'solo', 'second', 'many', 'more', 'devices');
    const calls = this.#node.plugin.calls().length;
    await this.#run(mixedPod('mixed', '500m'));
    this.#found['later calls of the plugin'] = this.#record.pluginCalls(calls);
    await this.#show('with a pod that has a part of a CPU', { 'shared/main': '0-1', 'mixed/main': '0-1' });
    return {
      ...this.#found,
      events: this.#record.events(),
      created: this.#record.created(),
      updated: this.#record.updated('shared/main'),
    };
  }
}

/** Runs the pods on a new node, and returns what it showed. */
export async function showManagers(settings: ManagersSettings): Promise<Readonly<Record<string, unknown>>> {
  const node = await startManagersNode(settings);
  try {
    return await new Scenario(node).run();
  } catch (err) {
    throw new Error(node.describe(), { cause: err });
  } finally {
    await node.stop();
  }
}

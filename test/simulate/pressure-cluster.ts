// A cluster of one node that evicts below 1 GiB of memory or 10 GiB of disk, with a record of every status of its pods.
import type { CreateContainerRequest } from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { Event, NodeCondition, Pod, PodStatus } from '../../src/api/k8s/types.ts';
import { Duration } from '../../src/config/duration.ts';
import { aContainer, type PodOver } from '../builders/builders.ts';
import { type ClusterWorld, startCluster } from './cluster-world.ts';
import type { FakeNodeOptions } from './fake-node.ts';
import { NodePressure } from './pressure.ts';

export const gib = 1024 ** 3;
/** More than the node can spare. */
export const tooMuch = 7_200_000_000;
export const transitionMs = 60_000;
const evictionsFile = '/var/lib/kubelet/evictions';

const second = 1_000_000_000n;
const config: FakeNodeOptions['config'] = {
  evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10Gi' },
  evictionPressureTransitionPeriod: new Duration(BigInt(transitionMs / 1_000) * second),
};

export class PressureCluster {
  readonly world: ClusterWorld;
  readonly pressure: NodePressure;
  /** Every status that the API server had, by pod. */
  readonly statuses = new Map<string, PodStatus[]>();

  constructor(world: ClusterWorld, pressure: NodePressure) {
    this.world = world;
    this.pressure = pressure;
    world.api.store.subscribe(({ after, type }) => {
      if (type.plural !== 'pods' || after === undefined) return;
      const { metadata, status = {} } = after as Pod;
      const name = metadata?.name ?? '';
      this.statuses.set(name, [...(this.statuses.get(name) ?? []), status]);
    });
  }

  advance(ms: number): Promise<void> {
    return this.world.advance(ms);
  }

  /** Advances until it is so, in steps of 10 ms. */
  async until(is: () => boolean, what: string, withinMs = 60_000): Promise<void> {
    for (let ms = 0; ms < withinMs; ms += 10) {
      if (is()) return;
      await this.advance(10);
    }
    throw new Error(`not in time: ${what}\n${this.world.node.log.slice(-30).join('')}`);
  }

  /** A pod with a container of its own name, which requests some memory. */
  run(name: string, over: PodOver = {}): void {
    const resources = { requests: { memory: '100Mi' } };
    this.world.run(name, { containers: [aContainer({ name, resources })], ...over });
  }

  status(name: string): PodStatus {
    return this.world.pod(name)?.status ?? {};
  }

  isEvicted(name: string): boolean {
    const { phase, reason } = this.status(name);
    return phase === 'Failed' && reason === 'Evicted';
  }

  events(reason: string): readonly Event[] {
    return this.world.api.objects.list('events').filter((event) => event.reason === reason);
  }

  nodeCondition(type: string): NodeCondition | undefined {
    return this.world.nodeObject()?.status?.conditions?.find((each) => each.type === type);
  }

  /** How often a container of this name was created. */
  creations(name: string): number {
    return this.world.node.cri.calls
      .filter(({ method }) => method === 'CreateContainer')
      .filter(({ request }) => (request as CreateContainerRequest).config?.metadata?.name === name).length;
  }

  /** The UIDs of the evictions in progress on disk. */
  unfinished(): readonly string[] {
    const text = this.world.node.stateFiles.get(evictionsFile);
    return text === undefined ? [] : Object.keys(JSON.parse(text) as object);
  }
}

export async function startPressureCluster(options: FakeNodeOptions = {}): Promise<PressureCluster> {
  let cluster: PressureCluster | undefined;
  await startCluster({ ...options, config: { ...config, ...options.config } }, (world) => {
    const pressure = new NodePressure(world.node);
    pressure.setDisk(() => 60 * gib);
    cluster = new PressureCluster(world, pressure);
  });
  if (cluster === undefined) throw new Error('no cluster');
  return cluster;
}

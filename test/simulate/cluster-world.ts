// A cluster of one node in memory: the API server double, the real loops, FakeCri, the fake clock.
import { onTestFinished } from 'vitest';
import type { Node, Pod, PodStatus } from '../../src/api/k8s/types.ts';
import type { ApiServerDouble } from '../api-server/double.ts';
import { aPod, type PodOver } from '../builders/builders.ts';
import { FakeNode, type FakeNodeOptions } from './fake-node.ts';

export class ClusterWorld {
  readonly node: FakeNode;
  readonly api: ApiServerDouble;

  constructor(options: Omit<FakeNodeOptions, 'cluster'> = {}) {
    this.node = new FakeNode({ ...options, cluster: true });
    if (this.node.api === undefined) throw new Error('the node has no API server');
    this.api = this.node.api;
  }

  async close(): Promise<void> {
    await this.node.stop();
    this.api.close();
  }

  advance(ms: number): Promise<void> {
    return this.node.clock.advance(ms);
  }

  /** Creates a pod that is bound to the node. */
  run(name: string, over: PodOver & { readonly finalizers?: string[] } = {}): Pod {
    const { finalizers, ...rest } = over;
    const { metadata, spec } = aPod({ name, nodeName: 'n', ...rest });
    return this.api.objects.create('pods', {
      metadata: { ...metadata, ...(finalizers === undefined ? {} : { finalizers }) },
      ...(spec === undefined ? {} : { spec }),
    });
  }

  delete(name: string, gracePeriodSeconds?: number): void {
    this.api.objects.delete(
      'pods',
      'default',
      name,
      gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds },
    );
  }

  /** Changes a pod's object with an administrator's rights. */
  change(name: string, mutate: (pod: Pod) => Pod): void {
    const pod = this.pod(name);
    if (pod === undefined) throw new Error(`no pod ${name}`);
    this.api.objects.update('pods', mutate(pod));
  }

  pod(name: string): Pod | undefined {
    return this.api.objects.get('pods', 'default', name);
  }

  phase(name: string): string | undefined {
    return this.pod(name)?.status?.phase;
  }

  ready(name: string): string | undefined {
    return readyOf(this.pod(name)?.status);
  }

  nodeObject(): Node | undefined {
    return this.api.objects.get('nodes', '', 'n');
  }

  /** The number of such requests to the API server: `patch pods/status default/web`. */
  requestCount(line: string): number {
    return this.api.requestLines().filter((each) => each === line).length;
  }

  /** The number of such calls to the runtime. */
  callCount(method: string): number {
    return this.node.calls().filter((each) => each.toLowerCase() === method.toLowerCase()).length;
  }

  forbidden(): readonly object[] {
    return this.api.requests.filter(({ code }) => code === 403);
  }
}

/** A cluster whose node has been running for two seconds. It is closed when the test ends. */
export async function startCluster(
  options: ConstructorParameters<typeof ClusterWorld>[0] = {},
  prepare: (world: ClusterWorld) => void = () => undefined,
): Promise<ClusterWorld> {
  const world = new ClusterWorld(options);
  onTestFinished(() => world.close());
  prepare(world);
  await world.node.start();
  await world.advance(2_000);
  return world;
}

export function readyOf(status: PodStatus | Node['status']): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.status;
}

// The registration of CSI drivers against the API server double, as a node, with drivers in memory.
import { onTestFinished } from 'vitest';
import type { CSINode, Node } from '../../src/api/k8s/types.ts';
import { type Component, startComponent } from '../../src/base/component.ts';
import { describeError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import { AllocatableRefresh } from '../../src/csi/allocatable-refresh.ts';
import { CsiNodeStartup } from '../../src/csi/csi-node-startup.ts';
import { RegisteredDrivers } from '../../src/csi/csi-registry.ts';
import { NodeInfoWriter } from '../../src/csi/node-info-writer.ts';
import { nodeInfoApi, storageApi } from '../../src/edge/apiserver/resource-clients.ts';
import { OwnNode } from '../../src/node/own-node.ts';
import { ClusterStorage } from '../../src/objects/storage-objects.ts';
import { ApiServerDouble, nodeUser } from '../api-server/double.ts';
import { memoryClient } from '../api-server/memory-client.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { type FakeCsiDriver, FakeCsiDrivers } from '../fakes/fake-csi-drivers.ts';

export function clusterStorage({ client, follow }: ReturnType<typeof memoryClient>): ClusterStorage {
  return new ClusterStorage({ api: storageApi(client), follow });
}

export class CsiWorld {
  readonly clock = new FakeClock();
  readonly double = new ApiServerDouble({ clock: this.clock });
  readonly dialer = new FakeCsiDrivers();
  readonly own = new OwnNode();
  readonly errors: string[] = [];
  readonly announced: string[] = [];
  readonly #cluster = memoryClient(this.double, this.clock, nodeUser('n'));
  readonly #api = nodeInfoApi(this.#cluster.client, 'n');
  readonly #stop = new AbortController();
  readonly #stopped: Promise<void>[] = [];
  readonly #log = {
    ...silentLogger,
    error: (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
      void this.errors.push(`${message}: ${describeError(fields['err'])}`),
  };
  readonly writer = new NodeInfoWriter({
    api: this.#api,
    nodeName: 'n',
    clock: this.clock,
    log: this.#log,
    random: () => 0,
  });
  registry = this.#newRegistry();
  readonly storage = clusterStorage(this.#cluster);

  constructor() {
    onTestFinished(async () => {
      await this.stop();
      this.double.close();
    });
  }

  /** Creates the Node object, and delivers it as the watch does. */
  createNode(labels: Record<string, string> = {}): Node {
    const node = this.double.objects.create('nodes', { metadata: { name: 'n', labels } });
    this.own.upsert(node);
    return node;
  }

  async start(...components: readonly Component[]): Promise<void> {
    for (const each of components) {
      const { stopped } = await startComponent(each, this.#stop.signal);
      this.#stopped.push(stopped);
    }
    await this.clock.settle();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.clock.until(Promise.all(this.#stopped));
  }

  startup(): CsiNodeStartup {
    return new CsiNodeStartup({
      api: this.#api,
      nodeInfo: this.writer,
      drivers: this.registry,
      own: this.own,
      clock: this.clock,
      log: this.#log,
    });
  }

  refresh(): AllocatableRefresh {
    const { clock, registry, storage } = this;
    return new AllocatableRefresh({ drivers: registry, csiDrivers: storage, clock, log: this.#log });
  }

  /** As after a restart of the kubelet: nothing is registered, the objects stay. */
  restart(): void {
    this.registry = this.#newRegistry();
  }

  /** Resolves to `registered`, or to the error that the registrar is given. */
  register(
    driver: Pick<FakeCsiDriver, 'name' | 'endpoint'>,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<string> {
    const { endpoint, name } = driver;
    return this.registry.register({ name, endpoint, versions: ['1.0.0'] }, signal).then(
      () => 'registered',
      (err: unknown) => describeError(err),
    );
  }

  registerNow(driver: Pick<FakeCsiDriver, 'name' | 'endpoint'>): Promise<string> {
    return this.clock.until(this.register(driver));
  }

  csiNode(): CSINode | undefined {
    return this.double.objects.get('csinodes', '', 'n');
  }

  /** The entries of CSINode as `name nodeID [keys] count`. */
  entries(): readonly string[] {
    return (this.csiNode()?.spec.drivers ?? []).map(
      ({ allocatable, name, nodeID, topologyKeys }) =>
        `${name} ${nodeID} [${(topologyKeys ?? []).join(' ')}] ${allocatable?.count ?? '-'}`,
    );
  }

  nodeIds(): string | undefined {
    const node = this.double.objects.get('nodes', '', 'n');
    return node?.metadata?.annotations?.['csi.volume.kubernetes.io/nodeid'];
  }

  labels(): Readonly<Record<string, string>> {
    const node = this.double.objects.get('nodes', '', 'n');
    return node?.metadata?.labels ?? {};
  }

  /** The writes to the API server, as `patch nodes/status n`. */
  writes(): readonly string[] {
    return this.double.requestLines().filter((line) => !/^(get|list|watch) /.test(line));
  }

  #newRegistry(): RegisteredDrivers {
    const { clock, dialer, writer } = this;
    const registry = new RegisteredDrivers({ dialer, nodeInfo: writer, clock, log: this.#log });
    registry.changed.subscribe((name) => void this.announced.push(name));
    return registry;
  }
}

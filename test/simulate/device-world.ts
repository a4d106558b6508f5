// A device manager with fake plugins and files in memory. `kill` and `boot` replace the manager: files, plugins and running containers
// stay, as after a kill of the kubelet.
import type { Container, Pod } from '../../src/api/k8s/types.ts';
import { asPodUid, type PodUid, podUid } from '../../src/api/pod/pod-ref.ts';
import type { DeviceGrants } from '../../src/api/ports/exclusive-resources.ts';
import { startComponent } from '../../src/base/component.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import type { KeptFiles } from '../../src/resources/checkpoint/kept-checkpoint.ts';
import { DeviceManager } from '../../src/resources/devices/device-manager.ts';
import { NumaNodes } from '../../src/resources/topology/numa-nodes.ts';
import { aContainer, aPod, type PodOver } from '../builders/builders.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeDevicePlugins, hang } from '../fakes/fake-device-plugins.ts';

export const gpu = 'example.com/gpu';
export const checkpointPath = '/device-plugins/kubelet_internal_checkpoint';
const noPreference = { mask: undefined, preferred: true };

export function wanting(name: string, count: number, over: PodOver = {}, resource = gpu): Pod {
  return aPod({ name, containers: [requesting('c', count, resource)], ...over });
}

export function requesting(
  name: string,
  count: number,
  resource = gpu,
  over: Partial<Container> = {},
): Container {
  const amounts = { [resource]: String(count) };
  return aContainer({ name, resources: { requests: amounts, limits: amounts }, ...over });
}

export class DeviceWorld {
  readonly clock = new FakeClock();
  readonly plugins = new FakeDevicePlugins();
  readonly files = new Map<string, string>();
  readonly pods = new Map<PodUid, Pod>();
  /** Annotations of running containers by `uid container`. */
  readonly running = new Map<string, Readonly<Record<string, string>>>();
  readonly events: string[] = [];
  readonly changed: string[] = [];
  readonly woken: string[] = [];
  readonly counted: string[] = [];
  capacityChanges = 0;
  sourcesReady = true;
  /** No kubelet has used the directory of device plugins. */
  isUnused = true;
  /** The extended resources of the Node object. */
  readonly advertised = new Set<string>();
  /** Whether the runtime has been inspected since the start. */
  isInspected = true;
  /** Called when the running containers are listed; may throw. */
  onList: () => void = () => undefined;
  nodes = new NumaNodes([{ id: 0 }, { id: 1 }]);
  /** Called before every file operation; may throw or hang. */
  onFile: (what: string) => Promise<void> = async () => undefined;
  #generation = 0;
  manager: DeviceManager = this.#make();
  #abort = new AbortController();
  #stopped: Promise<void> | undefined;

  async boot(): Promise<void> {
    this.#abort = new AbortController();
    this.manager = this.#make();
    const { manager } = this;
    manager.changed.subscribe((uid) => void this.changed.push(uid));
    manager.wake.subscribe((uid) => void this.woken.push(uid));
    manager.capacityChanged.subscribe(() => {
      this.capacityChanges += 1;
    });
    const started = await startComponent(manager, this.#abort.signal);
    this.#stopped = started.stopped;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    if (this.#stopped !== undefined) await this.clock.until(this.#stopped);
  }

  async register(socket: string, resource = gpu): Promise<void> {
    await this.manager.register({ resource, socket, versions: ['v1beta1'] }, new AbortController().signal);
    await this.clock.settle();
  }

  /** As the topology manager: every container in order. Undefined, or the error. */
  reserve(pod: Pod): string | undefined {
    this.pods.set(podUid(pod), pod);
    try {
      for (const each of [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])])
        this.manager.allocate(pod, each, noPreference);
      return undefined;
    } catch (err) {
      this.release(pod);
      return (err as Error).message;
    }
  }

  /** Reserves and commits; a rejected pod is released. Undefined, or the message of the rejection. */
  async admit(pod: Pod): Promise<string | undefined> {
    const error = this.reserve(pod);
    if (error !== undefined) return error;
    const { manager } = this;
    const rejection = await manager.commit(pod, new AbortController().signal);
    if (manager !== this.manager) return hang();
    if (rejection === undefined) return undefined;
    this.release(pod);
    return rejection.message;
  }

  /** Creates and starts a container. */
  async run(pod: Pod, name = 'c'): Promise<DeviceGrants> {
    const container = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].find(
      (each) => each.name === name,
    );
    if (container === undefined) throw new Error(`no container ${name}`);
    const { manager } = this;
    const grants = await manager.grants(pod, container, new AbortController().signal);
    if (manager !== this.manager) return hang();
    this.running.set(`${podUid(pod)} ${name}`, Object.fromEntries(grants.annotations));
    return grants;
  }

  release(pod: Pod): void {
    this.pods.delete(podUid(pod));
    for (const key of this.running.keys()) if (key.startsWith(`${podUid(pod)} `)) this.running.delete(key);
    this.manager.release(podUid(pod));
  }

  idsOf(pod: Pod, name = 'c'): readonly string[] {
    return this.manager.devicesOf(podUid(pod), name).map(({ id }) => id);
  }

  #make(): DeviceManager {
    this.#generation += 1;
    const generation = this.#generation;
    /** A process that was killed does nothing any more. */
    const alive = (): Promise<void> => (generation === this.#generation ? Promise.resolve() : hang());
    const files: KeptFiles = {
      read: async (path) => this.files.get(path),
      replace: async (path, text) => {
        await alive();
        await this.onFile('replace');
        await alive();
        this.files.set(path, text);
      },
      keep: async (path, as) => {
        await alive();
        await this.onFile('keep');
        await alive();
        const text = this.files.get(path);
        if (text !== undefined) this.files.set(as, text);
      },
      flush: async () => undefined,
    };
    return new DeviceManager({
      clock: this.clock,
      log: silentLogger,
      files,
      directory: '/device-plugins',
      isUnusedDirectory: async () => this.isUnused,
      isAdvertised: (resource) => this.advertised.has(resource),
      dialer: this.plugins,
      nodes: () => this.nodes,
      pods: {
        all: () => this.pods.values(),
        sourcesReady: () => this.sourcesReady,
        isActive: (uid) => this.pods.has(uid),
        isRunning: (uid, name) => this.isInspected && this.running.has(`${uid} ${name}`),
        isInspected: () => this.isInspected,
      },
      runningContainers: async () => {
        this.onList();
        return [...this.running].map(([key, annotations]) => {
          const [uid = '', name = ''] = key.split(' ');
          return { uid: asPodUid(uid), container: name, annotations };
        });
      },
      events: { node: ({ message, reason, type }) => void this.events.push(`${type} ${reason}: ${message}`) },
      metrics: {
        registered: (resource) => void this.counted.push(`registered ${resource}`),
        allocated: (resource, seconds) => void this.counted.push(`allocated ${resource} ${seconds}`),
      },
    });
  }
}

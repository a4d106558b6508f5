// Gathers the facts for the Node object from the host, the runtime and other components. Keeps the runtime's last version.
// Invariant: every source has a deadline of responseTimeoutMs; on failure its last value is kept or its field is omitted.
// Upstream: the setters' inputs in pkg/kubelet/kubelet_node_status.go.
import type { CriImages, CriRuntime } from '../api/cri/runtime.ts';
import { isNodeReady } from '../api/k8s/node-ready.ts';
import type { Node } from '../api/k8s/types.ts';
import type { PressureCondition, PressureView } from '../api/ports/pressure.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { mergeChannels, type Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { isAbortOf } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type {
  NodeFacts,
  NodeIdentity,
  NodeImage,
  NodeNetwork,
  NodePressure,
  NodeResources,
} from './node-facts.ts';
import type { RuntimeState } from './runtime-state.ts';
import type { StartupProblems } from './startup-problems.ts';

export interface NodeHost {
  architecture(): string;
  identity(): Promise<NodeIdentity>;
  network(name: string): Promise<NodeNetwork>;
}

interface ShutdownView {
  problems(): readonly string[];
  readonly changed: Subscribable<void>;
  /** The node's status has these problems now. */
  problemsReported(problems: readonly string[]): void;
}

/** Contributed by other components. */
export interface NodeFeatureFacts {
  readonly resources: NodeResources;
  readonly pressure: PressureView;
  /** Undefined until the volumes that an earlier process mounted are known. */
  volumesInUse?(): readonly string[] | undefined;
  /** Announces that volumesInUse() may return something else. */
  readonly volumesInUseChanged?: Subscribable<void>;
  /** The node's status has these volumes now. `node`: the API server's response. */
  volumesInUseReported?(names: readonly string[], node: Node): void;
  /** Whether the machine shuts down, a reason for NotReady. */
  readonly shutdown?: ShutdownView;
  /** Reasons for NotReady that count only until the node was Ready once since it booted. */
  readonly startup?: StartupProblems;
}

interface GatherDeps {
  readonly host: NodeHost;
  readonly cri: Pick<CriRuntime, 'version'> & Pick<CriImages, 'listImages'>;
  readonly runtime: Pick<RuntimeState, 'handlers' | 'features' | 'problems' | 'changed'>;
  readonly features: NodeFeatureFacts;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly log: Logger;
}

const responseTimeoutMs = 5_000;
const noNetwork: NodeNetwork = { hostAddresses: [], nameAddresses: [], defaultAddresses: [] };

export class NodeFactsGatherer {
  readonly #deps: GatherDeps;
  #runtimeVersion: NodeFacts['runtime'];

  constructor(deps: GatherDeps) {
    this.#deps = deps;
  }

  /** Announced when the runtime turns ready or not ready, or a pressure condition, the devices or the volumes in use change. */
  get changed(): Subscribable<void> {
    const { features, runtime } = this.#deps;
    const { devicesChanged } = features.resources;
    const devices = devicesChanged === undefined ? [] : [devicesChanged];
    const volumes = features.volumesInUseChanged === undefined ? [] : [features.volumesInUseChanged];
    const startup = features.startup === undefined ? [] : [features.startup.changed];
    const shutdown = features.shutdown === undefined ? [] : [features.shutdown.changed];
    const pressure = features.pressure.changed;
    return mergeChannels(runtime.changed, pressure, ...devices, ...volumes, ...startup, ...shutdown);
  }

  /** The node's status with these facts was written. */
  reported({ problems, volumesInUse }: NodeFacts, node: Node): void {
    const { features } = this.#deps;
    features.shutdown?.problemsReported(problems);
    if (volumesInUse !== undefined) features.volumesInUseReported?.(volumesInUse, node);
    if (isNodeReady(node)) features.startup?.passed();
  }

  async gather(signal: AbortSignal): Promise<NodeFacts> {
    const { cri, features, host, nodeName, runtime } = this.#deps;
    const options = { signal, timeoutMs: responseTimeoutMs };
    const [identity, network, version, images] = await Promise.all([
      host.identity(),
      this.#orOmit("the node's addresses", signal, host.network(nodeName)),
      this.#orOmit("the runtime's version", signal, cri.version({}, options)),
      this.#orOmit('the list of images', signal, cri.listImages({}, options)),
    ]);
    if (version !== undefined)
      this.#runtimeVersion = { name: version.runtimeName, version: version.runtimeVersion };
    return {
      identity,
      network: network ?? noNetwork,
      resources: features.resources,
      runtime: this.#runtimeVersion,
      images: images?.images.map(toNodeImage),
      runtimeHandlers: runtime.handlers,
      features: runtime.features,
      problems: [...runtime.problems(), ...(features.shutdown?.problems() ?? [])],
      startupProblems: features.startup?.problems() ?? [],
      pressure: nodePressure(features.pressure.conditions()),
      volumesInUse: features.volumesInUse?.(),
    };
  }

  async #orOmit<T>(what: string, signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
    const { clock, log } = this.#deps;
    try {
      return await withDeadline({ clock, ms: responseTimeoutMs, signal, what }, () => work);
    } catch (err) {
      if (isAbortOf(err, signal)) throw err;
      log.v(2).info('Omitting a field from the node status', { what, err });
      return undefined;
    }
  }
}

function toNodeImage(image: {
  readonly repoDigests: readonly string[];
  readonly repoTags: readonly string[];
  readonly size: bigint;
}): NodeImage {
  return { digests: image.repoDigests, tags: image.repoTags, sizeBytes: Number(image.size) };
}

function nodePressure(conditions: readonly PressureCondition[]): NodePressure {
  return {
    memory: conditions.includes('MemoryPressure'),
    disk: conditions.includes('DiskPressure'),
    pid: conditions.includes('PIDPressure'),
  };
}

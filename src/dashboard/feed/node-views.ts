// Gathers what the strip of the node shows. Invariants: a view reads memory and a few kernel files only; file systems and the runtime
// are measured in the background, at most every 10 s, so that one that hangs delays nothing.
import type { Node } from '../../api/k8s/types.ts';
import type { NodeView } from '../../api/ports/node-page.ts';
import type { NodeLoadSource, NodeSignals } from '../../api/ports/node-usage.ts';
import type { Clock } from '../../base/clock.ts';
import type { ConfigurationState, NodeInput } from './node-view.ts';
import { nodeView } from './node-view.ts';

/** A health check of the kubelet. */
export interface Check {
  readonly name: string;
  check(): string | undefined;
  readonly advisory?: true;
}

interface NodeViewsDeps {
  readonly checks: readonly Check[];
  readonly own: { get(): Node | undefined };
  readonly capacity: {
    readonly cpuMillis: () => number;
    readonly allocatableCpuMillis: () => number;
    readonly memoryBytes: number;
    readonly maxPods: () => number;
  };
  readonly load: Pick<NodeLoadSource, 'signals' | 'memory'>;
  readonly eviction: {
    marks(signals: NodeSignals): NodeInput['marks'];
  };
  readonly pressure: { conditions(): readonly string[] };
  readonly runtime: {
    readonly health: () => { readonly everAnswered: boolean; readonly failure: string | undefined };
    readonly version: (
      request: { readonly version: string },
      options: { readonly signal: AbortSignal; readonly timeoutMs: number },
    ) => Promise<{ readonly runtimeName: string; readonly runtimeVersion: string }>;
  };
  readonly state: {
    readonly certificates: () => NodeInput['certificates'];
    /** Undefined without live configuration. */
    readonly configuration:
      | {
          current(): Pick<ConfigurationState, 'error' | 'pendingRestart'>;
          entries(): readonly { readonly outcome: string }[];
        }
      | undefined;
  };
  readonly clock: Pick<Clock, 'monotonic'>;
}

type SlowSignals = Pick<NodeSignals, 'nodeFs' | 'imageFs' | 'containerFs' | 'processes'>;

const measureMs = 10_000;
const versionTimeoutMs = 5_000;
const unknown = { nodeFs: undefined, imageFs: undefined, containerFs: undefined, processes: undefined };

export class NodeViews {
  readonly #deps: NodeViewsDeps;
  #measured: SlowSignals = unknown;
  #runtime = { name: '', version: '' };
  #measuredMs = Number.NEGATIVE_INFINITY;
  #isMeasuring = false;

  constructor(deps: NodeViewsDeps) {
    this.#deps = deps;
  }

  view(counts: { readonly running: number; readonly total: number }): NodeView {
    const { capacity, checks, eviction, load, own, pressure, runtime, state } = this.#deps;
    const signals = { ...this.#measured, ...load.memory() };
    const { everAnswered, failure } = runtime.health();
    return nodeView({
      checks: checks.map((each) => ({
        name: each.name,
        isAdvisory: each.advisory === true,
        problem: each.check(),
      })),
      node: own.get(),
      cpu: { capacityMillis: capacity.cpuMillis(), allocatableMillis: capacity.allocatableCpuMillis() },
      memoryCapacityBytes: capacity.memoryBytes,
      signals,
      marks: eviction.marks(signals),
      pressure: pressure.conditions(),
      pods: { ...counts, max: capacity.maxPods() },
      runtime: { ...this.#runtime, failure, hasAnswered: everAnswered },
      certificates: state.certificates(),
      configuration: this.#configuration(),
    });
  }

  /** Measures in the background what is due. Never rejects. */
  async measure(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    if (this.#isMeasuring || clock.monotonic() - this.#measuredMs < measureMs) return;
    this.#isMeasuring = true;
    this.#measuredMs = clock.monotonic();
    await Promise.allSettled([this.#measureSignals(signal), this.#readVersion(signal)]);
    this.#isMeasuring = false;
  }

  async #measureSignals(signal: AbortSignal): Promise<void> {
    const { containerFs, imageFs, nodeFs, processes } = await this.#deps.load.signals(signal);
    this.#measured = { containerFs, imageFs, nodeFs, processes };
  }

  async #readVersion(signal: AbortSignal): Promise<void> {
    const options = { signal, timeoutMs: versionTimeoutMs };
    const { runtimeName, runtimeVersion } = await this.#deps.runtime.version({ version: '' }, options);
    this.#runtime = { name: runtimeName, version: runtimeVersion };
  }

  #configuration(): ConfigurationState | undefined {
    const { configuration } = this.#deps.state;
    if (configuration === undefined) return undefined;
    const { error, pendingRestart } = configuration.current();
    return { error, pendingRestart, outcome: configuration.entries()[0]?.outcome };
  }
}

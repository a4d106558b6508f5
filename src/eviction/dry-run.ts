// Explains what eviction would do now, for GET /explain/eviction: the signals with their thresholds, the pods in the order in
// which they would be evicted, and why. Evicts nothing. differs from upstream: there is no counterpart.
// Invariant: it uses the deciders of the manager, so that it cannot disagree with it.
import type { Pod } from '../api/k8s/types.ts';
import { podRef, podUid } from '../api/pod/pod-ref.ts';
import type { ThresholdMark } from '../api/ports/node-page.ts';
import type { NodeLoadSource, NodeSignals, PodLoad } from '../api/ports/node-usage.ts';
import type { PressureView } from '../api/ports/pressure.ts';
import type { Clock } from '../base/clock.ts';
import { computeLayout, type DiskLayout } from './decide/layout.ts';
import { thresholdQuantity, thresholdsMet } from './decide/met.ts';
import { type Observations, observe } from './decide/observe.ts';
import { type RankedPod, rankPods } from './decide/rank.ts';
import { exceededStorageLimit } from './decide/storage-limits.ts';
import { resourceOf, type Signal, type Threshold, withContainerFs } from './decide/thresholds.ts';
import type { EvictionSettings } from './settings.ts';

interface DryRunDeps {
  readonly pods: { all(): readonly Pod[] };
  readonly load: NodeLoadSource;
  readonly pressure: PressureView;
  readonly settings: EvictionSettings;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** An explanation costs the runtime a measurement of all containers, and the read-only port has no authentication. */
const sharedMs = 2_000;

interface SignalEntry {
  readonly signal: Signal;
  /** Undefined if it could not be measured. */
  readonly available: number | undefined;
  readonly capacity: number | undefined;
  readonly thresholds: readonly {
    readonly quantity: string;
    readonly kind: 'hard' | 'soft';
    readonly graceSeconds: number;
    readonly met: boolean;
  }[];
}

interface OrderEntry {
  readonly resource: string;
  readonly signals: readonly Signal[];
  readonly pods: readonly {
    readonly pod: string;
    readonly uid: string;
    readonly evictable: boolean;
    readonly usage: number | undefined;
    readonly request: number;
    readonly priority: number;
    readonly why: string;
  }[];
}

interface EvictionExplanation {
  /** What happens now, in one sentence. */
  readonly explanation: string;
  readonly conditions: readonly string[];
  readonly memory: {
    /** The figure that memory.available uses. */
    readonly source: string;
    readonly workingSetAvailableBytes: number | undefined;
    readonly kernelAvailableBytes: number | undefined;
  };
  readonly signals: readonly SignalEntry[];
  readonly overStorageLimit: readonly { readonly pod: string; readonly uid: string; readonly why: string }[];
  readonly order: readonly OrderEntry[];
}

interface EvictionMarks {
  readonly availableMemoryBytes: number | undefined;
  readonly thresholds: readonly ThresholdMark[];
}

export class EvictionDryRun {
  readonly #deps: DryRunDeps;
  /** Shared by callers while it is measured and shortly after. */
  #latest: { readonly explanation: Promise<EvictionExplanation>; endedMs: number } | undefined;

  constructor(deps: DryRunDeps) {
    this.#deps = deps;
  }

  /** For /explain: reads the kernel only. */
  node(): Pick<EvictionExplanation, 'conditions' | 'memory'> {
    const { load, pressure, settings } = this.#deps;
    return { conditions: pressure.conditions(), memory: memoryFigures(load.memory(), settings) };
  }

  /** For the node's page: the thresholds in figures, and what memory.available is now. */
  marks(signals: NodeSignals): EvictionMarks {
    const { settings } = this.#deps;
    const layout = computeLayout(signals, settings.separateDiskGc) ?? 'one';
    const { thresholds } = withContainerFs(settings.thresholds, layout);
    const observations = observe(signals, settings);
    const thresholdMarks = thresholds.flatMap(({ graceMs, signal, value }): ThresholdMark[] => {
      const capacity = observations.get(signal)?.capacity;
      // A percentage of an unknown capacity is unknown.
      if (capacity === undefined && 'percentage' in value) return [];
      const available = Number(thresholdQuantity(value, capacity ?? 0).value());
      return [{ kind: graceMs === 0 ? 'hard' : 'soft', signal, available }];
    });
    return {
      availableMemoryBytes: observations.get('memory.available')?.available,
      thresholds: thresholdMarks,
    };
  }

  explain(): Promise<EvictionExplanation> {
    const { clock } = this.#deps;
    if (this.#latest !== undefined && clock.monotonic() - this.#latest.endedMs < sharedMs)
      return this.#latest.explanation;
    const explanation = this.#explain().finally(() => {
      latest.endedMs = clock.monotonic();
    });
    const latest = { explanation, endedMs: Number.POSITIVE_INFINITY };
    this.#latest = latest;
    return explanation;
  }

  async #explain(): Promise<EvictionExplanation> {
    const { load, pods, pressure, settings } = this.#deps;
    // Every part of both calls has a deadline of its own.
    const { signal } = new AbortController();
    const [signals, loads] = await Promise.all([load.signals(signal), load.pods({ disk: true }, signal)]);
    const layout = computeLayout(signals, settings.separateDiskGc) ?? 'one';
    const { thresholds } = withContainerFs(settings.thresholds, layout);
    const observations = observe(signals, settings);
    const met = thresholdsMet(thresholds, observations, false);
    const all = pods.all();
    const order = orders(thresholds, layout).map(({ of, resource, signals: names }): OrderEntry => {
      const ranked = rankPods(of, layout, all, loads, settings);
      return { resource, signals: names, pods: ranked.map(orderedPod) };
    });
    return {
      explanation: describe(met, order),
      conditions: pressure.conditions(),
      memory: memoryFigures(signals, settings),
      signals: signalEntries(thresholds, observations),
      overStorageLimit: settings.storageLimits ? overLimit(all, loads, layout) : [],
      order,
    };
  }
}

function memoryFigures(
  { kernelAvailableBytes, memory }: Pick<NodeSignals, 'kernelAvailableBytes' | 'memory'>,
  { memorySource }: EvictionSettings,
): EvictionExplanation['memory'] {
  return {
    source: memorySource,
    workingSetAvailableBytes: memory?.availableBytes,
    kernelAvailableBytes,
  };
}

function signalEntries(thresholds: readonly Threshold[], observations: Observations): readonly SignalEntry[] {
  return [...new Set(thresholds.map(({ signal }) => signal))].map((signal) => {
    const observed = observations.get(signal);
    const own = thresholds.filter((each) => each.signal === signal);
    const met = new Set(thresholdsMet(own, observations, false));
    return {
      signal,
      available: observed?.available,
      capacity: observed?.capacity,
      thresholds: own.map((each) => ({
        quantity: thresholdQuantity(each.value, observed?.capacity ?? 0).toString(),
        kind: each.graceMs === 0 ? 'hard' : 'soft',
        graceSeconds: each.graceMs / 1_000,
        met: met.has(each),
      })),
    };
  });
}

/** One order per resource; per file system where the pods' usage of each differs. */
function orders(
  thresholds: readonly Threshold[],
  layout: DiskLayout,
): readonly { readonly of: Signal; readonly resource: string; readonly signals: readonly Signal[] }[] {
  const groups = new Map<string, Signal[]>();
  for (const { signal } of thresholds) {
    const resource = resourceOf(signal);
    const isDisk = resource === 'ephemeral-storage' || resource === 'inodes';
    const key = isDisk && layout !== 'one' ? `${resource} of ${signal.split('.')[0] ?? ''}` : resource;
    const group = groups.get(key) ?? [];
    if (!group.includes(signal)) group.push(signal);
    groups.set(key, group);
  }
  return [...groups].flatMap(([resource, [of, ...rest]]) =>
    of === undefined ? [] : [{ of, resource, signals: [of, ...rest] }],
  );
}

function orderedPod({
  evictable,
  pod,
  priority,
  request,
  uid,
  usage,
  why,
}: RankedPod): OrderEntry['pods'][number] {
  return { pod: podRef(pod), uid, evictable, usage, request, priority, why };
}

function overLimit(
  pods: readonly Pod[],
  loads: ReadonlyMap<unknown, PodLoad>,
  layout: DiskLayout,
): EvictionExplanation['overStorageLimit'] {
  return pods.flatMap((pod) => {
    const load = loads.get(podUid(pod));
    const exceeded = load && exceededStorageLimit(pod, load, { layout });
    return exceeded === undefined
      ? []
      : [{ pod: podRef(pod), uid: podUid(pod), why: exceeded.message.trim() }];
  });
}

function describe(met: readonly Threshold[], order: readonly OrderEntry[]): string {
  const [first] = met.toSorted(
    (a, b) => Number(resourceOf(b.signal) === 'memory') - Number(resourceOf(a.signal) === 'memory'),
  );
  if (first === undefined) return 'No eviction threshold is met, so no pod would be evicted for pressure.';
  const victim = order
    .find(({ signals }) => signals.includes(first.signal))
    ?.pods.find(({ evictable }) => evictable);
  const when = first.graceMs === 0 ? 'now' : `if this lasts for ${first.graceMs / 1_000} s`;
  return victim === undefined
    ? `The threshold of ${first.signal} is met, but no pod on the node may be evicted.`
    : `The threshold of ${first.signal} is met: the pod ${victim.pod} would be evicted ${when}.`;
}

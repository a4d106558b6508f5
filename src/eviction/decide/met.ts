// Which thresholds are met, since when, and which of them to act on. Pure; the state is a plain value that the caller keeps.
// Invariants: a threshold to act on is met by a figure that was not acted on before; times are monotonic, so a step of the wall
// clock neither ends nor extends a period. Upstream: thresholdsMet to thresholdsUpdatedStats in pkg/kubelet/eviction/helpers.go
// and the first half of synchronize in eviction_manager.go.
import type { PressureCondition } from '../../api/ports/pressure.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import type { Observation, Observations } from './observe.ts';
import { conditionOf, type Signal, type Threshold, type ThresholdValue } from './thresholds.ts';

/** A percentage prints in binary units, also of inodes and processes. */
export function thresholdQuantity(value: ThresholdValue, capacity: number): Quantity {
  if ('quantity' in value) return value.quantity;
  return Quantity.of(BigInt(Math.floor(capacity * value.percentage)), 'BinarySI');
}

/** The thresholds with less available than their value, or than value and minimum reclaim. Grace periods are ignored. */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  withMinReclaim: boolean,
): readonly Threshold[] {
  return thresholds.filter((threshold) => {
    const observed = observations.get(threshold.signal);
    return observed !== undefined && isMet(threshold, observed, withMinReclaim);
  });
}

function isMet(threshold: Threshold, observed: Observation, withMinReclaim: boolean): boolean {
  const { value, minReclaim } = threshold;
  let goal = thresholdQuantity(value, observed.capacity);
  if (withMinReclaim && minReclaim !== undefined)
    goal = goal.add(thresholdQuantity(minReclaim, observed.capacity));
  return goal.cmp(Quantity.of(BigInt(observed.available))) > 0;
}

export interface TrackerState {
  /** By threshold: since when it is met. */
  readonly metSinceMs: ReadonlyMap<string, number>;
  /** Thresholds met for their grace period, until their minimum reclaim is reached. */
  readonly unresolved: ReadonlySet<string>;
  readonly conditionSeenMs: ReadonlyMap<PressureCondition, number>;
  /** Wall-clock times of the last figures. */
  readonly figuresAtMs: ReadonlyMap<Signal, number>;
}

export const emptyTracker: TrackerState = {
  metSinceMs: new Map(),
  unresolved: new Set(),
  conditionSeenMs: new Map(),
  figuresAtMs: new Map(),
};

interface TrackInput {
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** Monotonic. */
  readonly nowMs: number;
  /** How long a condition is reported after its last threshold was met. */
  readonly transitionMs: number;
}

export interface Tracked {
  readonly state: TrackerState;
  /** Memory first, then in the order of the configuration. The first one decides what is reclaimed. */
  readonly acting: readonly Threshold[];
  /** In the order in which the Node reports them. */
  readonly conditions: readonly PressureCondition[];
  /** When the next grace or transition period ends; monotonic. */
  readonly nextCheckMs?: number;
}

const reportOrder: readonly PressureCondition[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

export function trackThresholds(state: TrackerState, input: TrackInput): Tracked {
  const { nowMs, observations, transitionMs } = input;
  const present = presentThresholds(state, input);
  const metSinceMs = new Map(
    [...present.keys()].map((key) => [key, state.metSinceMs.get(key) ?? nowMs] as const),
  );
  const since = (key: string): number => metSinceMs.get(key) ?? nowMs;
  const afterGrace = [...present].filter(([key, { graceMs }]) => nowMs - since(key) >= graceMs);

  const seenNow = new Set([...present.values()].map(({ signal }) => conditionOf(signal)));
  const seen = new Map([...state.conditionSeenMs, ...[...seenNow].map((each) => [each, nowMs] as const)]);
  const conditions = reportOrder.filter((each) => nowMs - (seen.get(each) ?? -Infinity) < transitionMs);

  const nextCheckMs = Math.min(
    ...[...present].map(([key, { graceMs }]) => since(key) + graceMs).filter((atMs) => atMs > nowMs),
    ...conditions.filter((each) => !seenNow.has(each)).map((each) => (seen.get(each) ?? 0) + transitionMs),
  );
  return {
    state: {
      metSinceMs,
      unresolved: new Set(afterGrace.map(([key]) => key)),
      conditionSeenMs: new Map([...seen].filter(([each]) => conditions.includes(each))),
      figuresAtMs: new Map([
        ...state.figuresAtMs,
        ...[...observations].map(([signal, { atMs }]) => [signal, atMs] as const),
      ]),
    },
    acting: afterGrace
      .map(([, threshold]) => threshold)
      .filter(({ signal }) => isNew(observations.get(signal), state.figuresAtMs.get(signal)))
      .toSorted((a, b) => urgency(a) - urgency(b)),
    conditions,
    ...(Number.isFinite(nextCheckMs) ? { nextCheckMs } : {}),
  };
}

/**
 * The thresholds that count as met, in the order of the configuration: those met now and those acted on before whose minimum
 * reclaim is not reached. A threshold without a figure stays as it was, like upstream's when the statistics fail as a whole.
 */
function presentThresholds(state: TrackerState, input: TrackInput): ReadonlyMap<string, Threshold> {
  const present = new Map<string, Threshold>();
  for (const threshold of input.thresholds) {
    const key = keyOf(threshold);
    if (present.has(key)) continue;
    const observed = input.observations.get(threshold.signal);
    const counts =
      observed === undefined
        ? state.metSinceMs.has(key)
        : isMet(threshold, observed, state.unresolved.has(key));
    if (counts) present.set(key, threshold);
  }
  return present;
}

/** A figure that was already acted on does not evict a second pod. After a step of the wall clock a new figure may look older. */
function isNew(observed: Observation | undefined, lastMs: number | undefined): boolean {
  if (observed === undefined) return false;
  return lastMs === undefined || observed.atMs === 0 || observed.atMs !== lastMs;
}

/** differs from upstream: disk signals keep the order of the configuration, where upstream's is random. */
function urgency({ signal }: Threshold): number {
  if (signal === 'memory.available') return 0;
  return signal === 'allocatableMemory.available' ? 1 : 2;
}

/** Equal for thresholds with the same signal, value and grace period. */
function keyOf({ signal, value, graceMs }: Threshold): string {
  const amount = 'quantity' in value ? value.quantity.nanos : `${value.percentage} of capacity`;
  return `${signal} ${amount} ${graceMs}`;
}

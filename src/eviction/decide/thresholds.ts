// The eviction thresholds of the configuration. Pure.
// Invariant: the order is that of the configuration: hard, soft, then the copies for other signals, so that the choice of the
// threshold to act on is deterministic.
// Upstream: ParseThresholdConfig and UpdateContainerFsThresholds in pkg/kubelet/eviction/helpers.go.
import { durationMs, parseDuration } from '../../api/k8s/duration.ts';
import type { PressureCondition } from '../../api/ports/pressure.ts';
import {
  type EvictionSignal,
  isDisabledThreshold,
  isEvictionSignal,
  parsePercentage,
} from '../../api/quantity/eviction-threshold.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { KubeletError } from '../../base/errors.ts';
import type { DiskLayout } from './layout.ts';

export type Signal = EvictionSignal;

/** `percentage`: a fraction of the capacity, from 0 to 1, in single precision. */
export type ThresholdValue = { readonly quantity: Quantity } | { readonly percentage: number };

export interface Threshold {
  readonly signal: Signal;
  /** The threshold is met while less than this is available. */
  readonly value: ThresholdValue;
  /** How long it must be met before pods are evicted. 0: a hard threshold. */
  readonly graceMs: number;
  /** Once the threshold has been acted on, it counts as met until this much more is available. */
  readonly minReclaim?: ThresholdValue;
}

interface ThresholdConfig {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  readonly enforceNodeAllocatable: readonly string[];
  /** The flag experimentalAllocatableIgnoreEviction. */
  readonly ignoreAllocatable: boolean;
}

/** The resource that a signal measures, as messages and events name it. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export function resourceOf(signal: Signal): StarvedResource {
  if (signal === 'pid.available') return 'pids';
  if (signal === 'memory.available' || signal === 'allocatableMemory.available') return 'memory';
  return signal.endsWith('.inodesFree') ? 'inodes' : 'ephemeral-storage';
}

export function conditionOf(signal: Signal): PressureCondition {
  const resource = resourceOf(signal);
  if (resource === 'memory') return 'MemoryPressure';
  return resource === 'pids' ? 'PIDPressure' : 'DiskPressure';
}

export function isHard(threshold: Threshold): boolean {
  return threshold.graceMs === 0;
}

/** Throws `invalid`; a validated configuration never does. */
export function parseThresholds(config: ThresholdConfig): readonly Threshold[] {
  const reclaims = new Map(parseEach(config.evictionMinimumReclaim, parseReclaim));
  const graces = new Map(parseEach(config.evictionSoftGracePeriod, parseGraceMs));
  const make = (signal: Signal, value: ThresholdValue, graceMs: number): Threshold => {
    const minReclaim = reclaims.get(signal);
    return { signal, value, graceMs, ...(minReclaim === undefined ? {} : { minReclaim }) };
  };
  const hard = parseEach(config.evictionHard, parseValue).map(([signal, value]) => make(signal, value, 0));
  const soft = parseEach(config.evictionSoft, parseValue).map(([signal, value]) => {
    const graceMs = graces.get(signal);
    if (graceMs === undefined) throw invalid(signal, 'has no grace period');
    return make(signal, value, graceMs);
  });
  const all = [...hard, ...soft];
  const copies = config.enforceNodeAllocatable.includes('pods') && !config.ignoreAllocatable;
  return copies ? [...all, ...allocatableCopies(all)] : all;
}

/** All pods together may not use more memory than is allocatable to them: the hard thresholds apply to their cgroup too. */
function allocatableCopies(thresholds: readonly Threshold[]): readonly Threshold[] {
  return thresholds
    .filter((threshold) => threshold.signal === 'memory.available' && isHard(threshold))
    .map((threshold) => ({ ...threshold, signal: 'allocatableMemory.available' }));
}

function invalid(signal: string, why: string): KubeletError {
  const name = JSON.stringify(signal.slice(0, 64));
  return new KubeletError('invalid', 'InvalidThreshold', `eviction threshold of ${name} ${why}`);
}

/** Entries whose value is undefined are disabled. */
function parseEach<T>(
  texts: Readonly<Record<string, string>>,
  parse: (signal: Signal, text: string) => T | undefined,
): readonly (readonly [Signal, T])[] {
  return Object.entries(texts).flatMap(([signal, text]) => {
    if (!isEvictionSignal(signal)) throw invalid(signal, 'is for an unknown signal');
    const value = parse(signal, text);
    return value === undefined ? [] : [[signal, value] as const];
  });
}

function parseValue(signal: Signal, text: string): ThresholdValue | undefined {
  if (isDisabledThreshold(text)) return undefined;
  if (!text.endsWith('%')) {
    const quantity = Quantity.parse(text);
    if (quantity.sign() <= 0) throw invalid(signal, 'is not positive');
    return { quantity };
  }
  const percentage = parseFraction(signal, text);
  if (percentage < 0 || percentage > 1) throw invalid(signal, 'is not from 0% to 100%');
  return { percentage };
}

function parseReclaim(signal: Signal, text: string): ThresholdValue {
  if (!text.endsWith('%')) {
    const quantity = Quantity.parse(text);
    if (quantity.sign() < 0) throw invalid(signal, 'has a negative minimum reclaim');
    return { quantity };
  }
  const percentage = parseFraction(signal, text);
  if (percentage <= 0) throw invalid(signal, 'has a minimum reclaim that is not positive');
  return { percentage };
}

function parseFraction(signal: Signal, text: string): number {
  const fraction = parsePercentage(text);
  if (fraction === undefined) throw invalid(signal, 'is not a percentage');
  return fraction;
}

function parseGraceMs(signal: Signal, text: string): number {
  const grace = parseDuration(text);
  if (grace < 0n) throw invalid(signal, 'has a negative grace period');
  return durationMs(grace);
}

const containerFsSignals = ['containerfs.available', 'containerfs.inodesFree'] as const;

/**
 * Derives the thresholds of containerfs from the file system that holds the writable layers. `replaced`: signals that the
 * configuration sets itself, which has no effect.
 * differs from upstream: where the source has no threshold, containerfs gets none, instead of an inert entry.
 */
export function withContainerFs(
  thresholds: readonly Threshold[],
  layout: DiskLayout,
): { readonly thresholds: readonly Threshold[]; readonly replaced: readonly Signal[] } {
  const source = layout === 'imagefs' ? 'imagefs' : 'nodefs';
  const result: (Threshold | undefined)[] = [...thresholds];
  const replaced: Signal[] = [];
  for (const signal of containerFsSignals) {
    const from = signal.replace('containerfs', source);
    for (const hard of [true, false]) {
      const original = thresholds.findLast((each) => each.signal === from && isHard(each) === hard);
      const derived = original === undefined ? undefined : { ...original, signal };
      const own = [...thresholds.entries()].filter(
        ([, each]) => each.signal === signal && isHard(each) === hard,
      );
      for (const [at] of own) result[at] = undefined;
      result[own[0]?.[0] ?? result.length] = derived;
      if (own.length > 0 && !replaced.includes(signal)) replaced.push(signal);
    }
  }
  return { thresholds: result.filter((threshold) => threshold !== undefined), replaced };
}

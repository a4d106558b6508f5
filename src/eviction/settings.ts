// The settings of eviction, read from the configuration whenever they are used, so that they may change. Pure.
// Invariant: a threshold that a change of the configuration does not touch keeps its identity.
import { isDeepStrictEqual } from 'node:util';
import { cachedBy } from '../base/cached-by.ts';
import { parseThresholds, type Threshold } from './decide/thresholds.ts';

export interface EvictionSettings {
  readonly thresholds: readonly Threshold[];
  /** How long a condition is reported after its threshold was last met. */
  readonly transitionMs: number;
  /** Longest grace period of a soft eviction, in seconds. */
  readonly maxPodGraceSeconds: number;
  readonly memorySource: 'WorkingSet' | 'MemAvailable';
  /** Whether local storage limits are enforced. */
  readonly storageLimits: boolean;
  /** Gate KubeletSeparateDiskGC. */
  readonly separateDiskGc: boolean;
  /** Without the gate PodLevelResources. */
  readonly skipPodLevelResources: boolean;
}

interface EvictionConfig {
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  readonly evictionSoftGracePeriod: Readonly<Record<string, string>>;
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  readonly evictionPressureTransitionPeriod: { readonly ms: number };
  readonly evictionMaxPodGracePeriod: number;
  readonly enforceNodeAllocatable: readonly string[];
  readonly localStorageCapacityIsolation: boolean;
}

interface EvictionFlags {
  readonly experimentalAllocatableIgnoreEviction: boolean;
  readonly evictionMemorySource: string;
}

interface EvictionGates {
  readonly KubeletSeparateDiskGC: boolean;
  readonly PodLevelResources: boolean;
}

export function evictionSettings(
  config: EvictionConfig,
  flags: EvictionFlags,
  gates: EvictionGates,
): EvictionSettings {
  const thresholds = configuredThresholds(config, flags);
  return {
    get thresholds() {
      return thresholds();
    },
    get transitionMs() {
      return config.evictionPressureTransitionPeriod.ms;
    },
    get maxPodGraceSeconds() {
      return config.evictionMaxPodGracePeriod;
    },
    memorySource: flags.evictionMemorySource === 'MemAvailable' ? 'MemAvailable' : 'WorkingSet',
    storageLimits: config.localStorageCapacityIsolation,
    separateDiskGc: gates.KubeletSeparateDiskGC,
    skipPodLevelResources: !gates.PodLevelResources,
  };
}

function configuredThresholds(config: EvictionConfig, flags: EvictionFlags): () => readonly Threshold[] {
  const ignoreAllocatable = flags.experimentalAllocatableIgnoreEviction;
  let known: readonly Threshold[] = [];
  return cachedBy(
    () => [
      config.evictionHard,
      config.evictionSoft,
      config.evictionSoftGracePeriod,
      config.evictionMinimumReclaim,
      config.enforceNodeAllocatable,
    ],
    (evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim, enforceNodeAllocatable) => {
      const parsed = parseThresholds({
        evictionHard,
        evictionSoft,
        evictionSoftGracePeriod,
        evictionMinimumReclaim,
        enforceNodeAllocatable,
        ignoreAllocatable,
      });
      known = parsed.map((each) => known.find((old) => isDeepStrictEqual(old, each)) ?? each);
      return known;
    },
  );
}

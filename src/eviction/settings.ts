// The settings of eviction, from the configuration. Pure.
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
  return {
    thresholds: parseThresholds({
      ...config,
      ignoreAllocatable: flags.experimentalAllocatableIgnoreEviction,
    }),
    transitionMs: config.evictionPressureTransitionPeriod.ms,
    maxPodGraceSeconds: config.evictionMaxPodGracePeriod,
    memorySource: flags.evictionMemorySource === 'MemAvailable' ? 'MemAvailable' : 'WorkingSet',
    storageLimits: config.localStorageCapacityIsolation,
    separateDiskGc: gates.KubeletSeparateDiskGC,
    skipPodLevelResources: !gates.PodLevelResources,
  };
}

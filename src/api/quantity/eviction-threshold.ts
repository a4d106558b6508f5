// The text forms of eviction settings, for their validation and for eviction itself. Pure.
// Upstream: parseThresholdStatement and parsePercentage in pkg/kubelet/eviction/helpers.go.

export const evictionSignals = [
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
] as const;

export type EvictionSignal = (typeof evictionSignals)[number];

export function isEvictionSignal(text: string): text is EvictionSignal {
  return evictionSignals.some((signal) => signal === text);
}

/** Only these two texts disable a threshold: `0.0%` is a threshold that is never crossed. */
export function isDisabledThreshold(text: string): boolean {
  return text === '0%' || text === '100%';
}

/**
 * A percentage as a fraction of 1; undefined if it is not a finite number. Both roundings to single precision are upstream's:
 * thresholds must agree to the byte.
 */
export function parsePercentage(text: string): number | undefined {
  let end = text.length;
  while (text[end - 1] === '%') end -= 1;
  const number = text.slice(0, end);
  if (!/^[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(number)) return undefined;
  const fraction = Math.fround(Math.fround(Number(number)) / 100);
  return Number.isFinite(fraction) ? fraction : undefined;
}

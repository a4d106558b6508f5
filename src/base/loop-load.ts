// How busy the loops of the components are, for the health of the kubelet. Computed only when it is read.
// No counterpart upstream, where a work queue publishes metrics only.
import type { Component, LoopLoad } from './component.ts';

/** Characters of a key that are reported. */
const maxKeyLength = 100;

/** A key as text; most are UIDs, names or paths. */
export function keyText(key: unknown): string | undefined {
  if (typeof key !== 'string' && typeof key !== 'number' && typeof key !== 'bigint') return undefined;
  return String(key).slice(0, maxKeyLength);
}

/** The load of a component that owns several queues. */
export function sumLoads(loads: readonly LoopLoad[]): LoopLoad {
  let sum: LoopLoad = {
    running: 0,
    queued: 0,
    backingOff: 0,
    oldestRunMs: undefined,
    oldestKey: undefined,
  };
  for (const load of loads) {
    const isOlder = (load.oldestRunMs ?? -1) > (sum.oldestRunMs ?? -1);
    const { oldestKey, oldestRunMs } = isOlder ? load : sum;
    sum = {
      running: sum.running + load.running,
      queued: sum.queued + load.queued,
      backingOff: sum.backingOff + load.backingOff,
      oldestRunMs,
      oldestKey,
    };
  }
  return sum;
}

/** One row per component that has a queue, in the order in which the components start. */
export function loopViews(
  components: readonly Component[],
): readonly (LoopLoad & { readonly name: string })[] {
  return components.flatMap((component) => {
    const load = component.loopLoad?.();
    return load === undefined ? [] : [{ name: component.name, ...load }];
  });
}

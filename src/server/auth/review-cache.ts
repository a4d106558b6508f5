// A cache of review results with a TTL per entry. Upstream: k8s.io/apimachinery/pkg/util/cache.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';

export function reviewCache<V extends object>(clock: Clock, max: number): LRUCache<string, V> {
  // LRUCache treats a time of 0 as unset.
  const perf = { now: () => clock.monotonic() + 1 };
  return new LRUCache({ max, ttlResolution: 0, perf });
}

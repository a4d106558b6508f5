// Answers that are kept for a time each, the least used dropped first. Upstream: k8s.io/apimachinery/pkg/util/cache.
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';

export function keptAnswers<V extends object>(clock: Clock, max: number): LRUCache<string, V> {
  // The cache takes 0 for "no time known".
  const perf = { now: () => clock.monotonic() + 1 };
  return new LRUCache({ max, ttlResolution: 0, perf });
}

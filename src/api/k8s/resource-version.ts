// Which of two states of one object is the later one. Pure. A kubelet that has just written knows the answer before its watch
// does, and must not take the watch's older state for somebody else's change.
import type { ObjectMeta } from './types.ts';

interface Versioned {
  readonly metadata?: Pick<ObjectMeta, 'uid' | 'resourceVersion'>;
}

/** The later of what the watch has and what our own last write was answered with; the watch's when that cannot be told. */
export function laterObject<T extends Versioned>(watched: T, written: T | undefined): T {
  if (written === undefined || written.metadata?.uid !== watched.metadata?.uid) return watched;
  const [ours, theirs] = [versionOf(written), versionOf(watched)];
  return ours !== undefined && theirs !== undefined && ours > theirs ? written : watched;
}

function versionOf(object: Versioned): bigint | undefined {
  const text = object.metadata?.resourceVersion ?? '';
  return /^\d{1,30}$/.test(text) ? BigInt(text) : undefined;
}

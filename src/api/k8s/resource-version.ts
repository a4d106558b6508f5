// Picks the later of two states of an object. Pure. After a write, the kubelet has the new state before its watch delivers it,
// and must not mistake the older state of the watch for a change by another client.
import type { ObjectMeta } from './types.ts';

interface Versioned {
  readonly metadata?: Pick<ObjectMeta, 'uid' | 'resourceVersion'>;
}

/** The later of the watched state and the response to the last write; the watched one if they cannot be compared. */
export function laterObject<T extends Versioned>(watched: T, written: T | undefined): T {
  if (written === undefined || written.metadata?.uid !== watched.metadata?.uid) return watched;
  const [ours, theirs] = [versionOf(written), versionOf(watched)];
  return ours !== undefined && theirs !== undefined && ours > theirs ? written : watched;
}

function versionOf(object: Versioned): bigint | undefined {
  const text = object.metadata?.resourceVersion ?? '';
  return /^\d{1,30}$/.test(text) ? BigInt(text) : undefined;
}

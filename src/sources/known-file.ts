// What the file source knows of one manifest file, and what it knows after another look at it. Pure.
// Invariants: a file that is there keeps its pods whatever becomes of its content; equal content is parsed once.
import type { Pod } from '../api/k8s/types.ts';
import { podRef } from '../api/pod/pod-ref.ts';
import type { ManifestPods } from './manifest-pods.ts';

export interface ManifestContent {
  readonly bytes: Uint8Array;
  /** Changes whenever the content may have changed. */
  readonly stamp: string;
  /** When the file last changed, by the wall clock. */
  readonly changedAtMs: number;
}

export interface KnownFile {
  /** Empty: read it again at the next look, whatever its stamp is then. */
  readonly stamp: string;
  readonly pods: readonly Pod[];
  readonly reasons: readonly string[];
  /** Pods that go on though the file does not give them in a usable form any more. */
  readonly kept: readonly string[];
  readonly unknownFields: readonly string[];
  /** It was read so soon after a change that it may not be complete: look again when it has settled. */
  readonly unsettled: boolean;
  /** Kept only while the file has to be read again, to see whether it is still the same. */
  readonly last?: { readonly bytes: Uint8Array; readonly read: ManifestPods };
  /** By the monotonic clock: read it again then, though it is the same. */
  readonly againAtMs?: number;
}

/** A file that changed this recently may still be being written: faults wait, and no pod is dropped. */
export const settleMs = 200;

/** Within one tick of the kernel's clock a second change can leave the same times behind. */
const tickMs = 12;

export const unknownFile: KnownFile = {
  stamp: '',
  pods: [],
  reasons: [],
  kept: [],
  unknownFields: [],
  unsettled: false,
};

/** What these bytes gave when they were last read; undefined when they were not, or too long ago. */
export function alreadyRead({ last }: KnownFile, bytes: Uint8Array): ManifestPods | undefined {
  return last !== undefined && Buffer.compare(last.bytes, bytes) === 0 ? last.read : undefined;
}

/** `readAtMs` is when the bytes were read, by the wall clock. */
export function afterRead(
  before: KnownFile,
  content: ManifestContent,
  read: ManifestPods,
  readAtMs: number,
): KnownFile {
  const { bytes, stamp, changedAtMs } = content;
  const ageMs = Math.abs(readAtMs - changedAtMs);
  const dropped = before.pods.filter((pod) => !read.pods.some((now) => podRef(now) === podRef(pod)));
  if (ageMs < settleMs && (read.reasons.length > 0 || dropped.length > 0)) {
    const pods = [...read.pods, ...dropped];
    return { ...unknownFile, pods, unsettled: true, last: { bytes, read } };
  }
  const known = { ...read, unsettled: false };
  return ageMs < tickMs ? { ...known, stamp: '', last: { bytes, read } } : { ...known, stamp };
}

/** The file is there but cannot be read. With a stamp, it is not tried again before its time, unless it changes. */
export function afterFailure(
  before: KnownFile,
  reason: string,
  again: { readonly stamp: string; readonly againAtMs?: number } = { stamp: '' },
): KnownFile {
  return { ...unknownFile, ...again, pods: before.pods, reasons: [reason], kept: before.pods.map(podRef) };
}

/** Whether there is nothing to read: the content is what it was, and it need not be tried once more. */
export function isUpToDate(known: KnownFile, stamp: string, nowMs: number): boolean {
  return known.stamp !== '' && known.stamp === stamp && nowMs < (known.againAtMs ?? Number.POSITIVE_INFINITY);
}

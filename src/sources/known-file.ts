// The state of one manifest file between scans, and its transitions. Pure.
// Invariants: an existing file keeps its pods even if its content becomes unusable; equal content is parsed once.
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
  /** Empty: read the file in the next scan, whatever its stamp is then. */
  readonly stamp: string;
  readonly pods: readonly Pod[];
  readonly reasons: readonly string[];
  /** Pods that are kept although the file no longer defines them in a usable form. */
  readonly kept: readonly string[];
  readonly unknownFields: readonly string[];
  /** Read so soon after a change that it may be incomplete: scan again after settleMs. */
  readonly unsettled: boolean;
  /** Kept only until the next read, to detect unchanged content. */
  readonly last?: { readonly bytes: Uint8Array; readonly read: ManifestPods };
  /** By the monotonic clock: when to decode it again although it is unchanged. */
  readonly retryAtMs?: number;
}

/** A file that changed this recently may still be written: faults are not reported yet, and no pod is dropped. */
export const settleMs = 200;

/** A second change within one tick of the kernel's clock can have the same timestamps. */
const tickMs = 12;

export const unknownFile: KnownFile = {
  stamp: '',
  pods: [],
  reasons: [],
  kept: [],
  unknownFields: [],
  unsettled: false,
};

/** The result for the same bytes from the last read, if it was kept. */
export function alreadyRead({ last }: KnownFile, bytes: Uint8Array): ManifestPods | undefined {
  return last !== undefined && Buffer.compare(last.bytes, bytes) === 0 ? last.read : undefined;
}

/** `readAtMs`: when the bytes were read, by the wall clock. */
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

/** The file exists but cannot be used. With a stamp it is not retried before retryAtMs, unless it changes. */
export function afterFailure(
  before: KnownFile,
  reason: string,
  retry: { readonly stamp: string; readonly retryAtMs?: number } = { stamp: '' },
): KnownFile {
  return { ...unknownFile, ...retry, pods: before.pods, reasons: [reason], kept: before.pods.map(podRef) };
}

/** Whether the file need not be read: its content is unchanged and no retry is due. */
export function isUpToDate(known: KnownFile, stamp: string, nowMs: number): boolean {
  return known.stamp !== '' && known.stamp === stamp && nowMs < (known.retryAtMs ?? Number.POSITIVE_INFINITY);
}

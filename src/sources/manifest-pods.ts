// One manifest's bytes → its pods, made ready for this node; then, with the pods it gave last time, the pods it gives
// now. Pure. The first step costs much where the manifest is large, and what goes in and comes out can be sent to
// another thread; the second is cheap and has to be where the pods are.
// Invariants: a pod whose document cannot be used any more stays as it was while the manifest is there; a pod that reads
// the same as before is the same object as before. Upstream: pkg/kubelet/config (extractFromFile).
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod } from '../api/k8s/types.ts';
import { podRef } from '../api/pod/pod-ref.ts';
import { type DecodedManifest, decodeManifest, type ManifestFault } from './decode/decode-manifest.ts';
import { makeStaticPod, type StaticPodOptions } from './static-pod.ts';

export interface ManifestPods {
  readonly pods: readonly Pod[];
  /** What is wrong with the manifest, each in one sentence. */
  readonly reasons: readonly string[];
  /** Pods that the manifest no longer gives in a usable form and that go on as they were. */
  readonly kept: readonly string[];
  readonly unknownFields: readonly string[];
}

/** Where a manifest was found, when and by whom. */
export type ManifestOrigin = Omit<StaticPodOptions, 'computeHash'>;

/** The pods of a manifest that can be used, and what is wrong with the others. */
export type MadeManifest = DecodedManifest;

/** At once where that is quick, otherwise in its own time; rejects as `timeout` or `invalid` when it takes too much. */
export type MakePods = (
  bytes: Uint8Array,
  origin: ManifestOrigin,
  signal: AbortSignal,
) => MadeManifest | Promise<MadeManifest>;

/** As many reasons and unknown fields are told of one manifest. */
const shown = 20;

/** Never throws. */
export function makeManifest(bytes: Uint8Array, options: StaticPodOptions): MadeManifest {
  const decoded = decodeManifest(bytes);
  const faults: ManifestFault[] = [...decoded.faults];
  const pods: Pod[] = [];
  for (const manifest of decoded.pods) {
    const made = makeStaticPod(manifest, options);
    const ref = `${manifest.metadata?.namespace || 'default'}/${manifest.metadata?.name ?? ''}`;
    if (made.ok) pods.push(made.pod);
    else faults.push({ pod: ref, reason: `pod ${ref} is invalid: ${made.violations.join('; ')}` });
  }
  return { pods, faults, unknownFields: atMost(shown, decoded.unknownFields) };
}

export function readManifest(made: MadeManifest, previous: readonly Pod[], nodeName: string): ManifestPods {
  const before = new Map(previous.map((pod) => [pod.metadata?.uid, pod]));
  const pods = made.pods.map((pod) => sameAsBefore(pod, before.get(pod.metadata?.uid)));
  const given = new Set(pods.map(podRef));
  const mayBe = faultsByPod(made.faults, nodeName);
  // differs from upstream: there a bad edit of a manifest ends the pod that runs from it.
  const kept = previous.filter((pod) => !given.has(podRef(pod)) && mayBe(pod));
  const reasons = made.faults.map((fault) => fault.reason);
  return {
    pods: [...pods, ...kept],
    reasons: atMost(shown, reasons),
    kept: kept.map(podRef),
    unknownFields: made.unknownFields,
  };
}

function atMost(count: number, lines: readonly string[]): readonly string[] {
  return lines.length <= count ? lines : [...lines.slice(0, count), `and ${lines.length - count} more`];
}

/** Keeps the time when this pod was first seen, and the very object when nothing in it changed. */
function sameAsBefore(pod: Pod, before: Pod | undefined): Pod {
  const seen = before?.metadata?.annotations?.[seenAnnotation];
  if (before === undefined || seen === undefined) return pod;
  const annotations = { ...pod.metadata?.annotations, [seenAnnotation]: seen };
  const now = { ...pod, metadata: { ...pod.metadata, annotations } };
  return isSameJson(now, before) ? before : now;
}

/** Whether one of the faults could be about a pod: it names the pod, or it does not know which pod it is about. */
function faultsByPod(faults: readonly ManifestFault[], nodeName: string): (pod: Pod) => boolean {
  const about = faults.filter((fault) => fault.notAPod !== true);
  const ofAnyPod = about.some((fault) => fault.pod === undefined);
  const refs = new Set(about.map((fault) => `${fault.pod ?? ''}-${nodeName.toLowerCase()}`));
  return (pod) => ofAnyPod || refs.has(podRef(pod));
}

/** Without building texts of both, which would hold the event loop where they are large. */
function isSameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return keys.every((key) => Object.hasOwn(right, key) && isSameJson(left[key], right[key]));
}

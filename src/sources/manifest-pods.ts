// Decodes a manifest into static pods of this node (buildManifest), and merges them with the manifest's previous pods
// (mergeManifest). Pure. The first step is expensive for large manifests, and its input and output can be sent to a worker
// thread; the second is cheap and runs where the pods are.
// Invariants: a pod whose document becomes unusable is kept unchanged while the manifest exists; an unchanged pod stays the
// same object. Upstream: pkg/kubelet/config (extractFromFile).
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod } from '../api/k8s/types.ts';
import { podRef } from '../api/pod/pod-ref.ts';
import type { Logger } from '../base/log/log.ts';
import { type DecodedManifest, decodeManifest, type ManifestFault } from './decode/decode-manifest.ts';
import { priorityWarning } from './priority-warning.ts';
import { buildStaticPod, type StaticPodHashes, type StaticPodOptions } from './static-pod.ts';

export interface ManifestPods {
  readonly pods: readonly Pod[];
  /** The problems of the manifest, one sentence each. */
  readonly reasons: readonly string[];
  /** Pods that are kept although the manifest no longer defines them in a usable form. */
  readonly kept: readonly string[];
  readonly unknownFields: readonly string[];
}

/** Source, location and time of a manifest. */
export type ManifestOrigin = Omit<StaticPodOptions, keyof StaticPodHashes>;

/** The usable pods of a manifest, and the problems of the others. */
export interface BuiltManifest extends DecodedManifest {
  /** The pods that keep the UID of an earlier release, for the log. */
  readonly adopted: readonly string[];
}

/** Synchronous for small manifests. Rejects as `timeout` or `invalid` if it takes too much time or memory. */
export type BuildPods = (
  bytes: Uint8Array,
  origin: ManifestOrigin,
  signal: AbortSignal,
) => BuiltManifest | Promise<BuiltManifest>;

/** Limit of reported problems and unknown fields per manifest. */
const maxReported = 20;

/** Never throws. */
export function buildManifest(bytes: Uint8Array, options: StaticPodOptions): BuiltManifest {
  const decoded = decodeManifest(bytes);
  const faults: ManifestFault[] = [...decoded.faults];
  const pods: Pod[] = [];
  const adopted: string[] = [];
  for (const manifest of decoded.pods) {
    const built = buildStaticPod(manifest, options);
    const ref = `${manifest.metadata?.namespace || 'default'}/${manifest.metadata?.name ?? ''}`;
    if (built.ok) {
      pods.push(built.pod);
      if (built.adopted) adopted.push(podRef(built.pod));
    } else faults.push({ pod: ref, reason: `pod ${ref} is invalid: ${built.violations.join('; ')}` });
  }
  return { pods, adopted, faults, unknownFields: atMost(maxReported, decoded.unknownFields) };
}

/** Logs what is special about the pods that are new: an adopted UID, an odd priority. */
export function reportNewPods(log: Logger, { adopted, pods }: BuiltManifest, previous: readonly Pod[]): void {
  const before = new Set(previous.map((pod) => pod.metadata?.uid));
  for (const pod of pods.filter(({ metadata }) => !before.has(metadata?.uid))) {
    const fields = { pod: podRef(pod), podUID: pod.metadata?.uid };
    if (adopted.includes(podRef(pod)))
      log.info('Adopted static pod under the UID of an earlier kubelet', fields);
    const warning = priorityWarning(pod);
    if (warning !== undefined) log.info(warning, fields);
  }
}

export function mergeManifest(
  built: BuiltManifest,
  previous: readonly Pod[],
  nodeName: string,
): ManifestPods {
  const before = new Map(previous.map((pod) => [pod.metadata?.uid, pod]));
  const pods = built.pods.map((pod) => sameAsBefore(pod, before.get(pod.metadata?.uid)));
  const given = new Set(pods.map(podRef));
  const mayConcern = faultsByPod(built.faults, nodeName);
  // differs from upstream: a bad edit of a manifest terminates its running pod there.
  const kept = previous.filter((pod) => !given.has(podRef(pod)) && mayConcern(pod));
  const reasons = built.faults.map((fault) => fault.reason);
  return {
    pods: [...pods, ...kept],
    reasons: atMost(maxReported, reasons),
    kept: kept.map(podRef),
    unknownFields: built.unknownFields,
  };
}

function atMost(count: number, lines: readonly string[]): readonly string[] {
  return lines.length <= count ? lines : [...lines.slice(0, count), `and ${lines.length - count} more`];
}

/** Keeps the first-seen time of a pod, and the object itself if nothing changed. */
function sameAsBefore(pod: Pod, before: Pod | undefined): Pod {
  const seen = before?.metadata?.annotations?.[seenAnnotation];
  if (before === undefined || seen === undefined) return pod;
  const annotations = { ...pod.metadata?.annotations, [seenAnnotation]: seen };
  const now = { ...pod, metadata: { ...pod.metadata, annotations } };
  return isSameJson(now, before) ? before : now;
}

/** Whether a fault may concern a pod: it names the pod, or it names none. */
function faultsByPod(faults: readonly ManifestFault[], nodeName: string): (pod: Pod) => boolean {
  const about = faults.filter((fault) => fault.notAPod !== true);
  const ofAnyPod = about.some((fault) => fault.pod === undefined);
  const refs = new Set(about.map((fault) => `${fault.pod ?? ''}-${nodeName.toLowerCase()}`));
  return (pod) => ofAnyPod || refs.has(podRef(pod));
}

/** Compares without serializing, which would block the event loop for large pods. */
function isSameJson(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  const [left, right] = [a as Record<string, unknown>, b as Record<string, unknown>];
  return keys.every((key) => Object.hasOwn(right, key) && isSameJson(left[key], right[key]));
}

// One manifest's bytes and the pods it gave last time → the pods it gives now. Pure.
// Invariants: a pod whose document cannot be used any more stays as it was while the manifest is there; a pod that reads
// the same as before is the same object as before. Upstream: pkg/kubelet/config (extractFromFile).
import type { Pod } from '../api/k8s.ts';
import { podRef } from '../api/pod-ref.ts';
import { type DecodedManifest, decodeManifest, type ManifestFault } from './decode-manifest.ts';
import { configSeenAnnotation, makeStaticPod, type StaticPodOptions } from './static-pod.ts';

export interface ManifestPods {
  readonly pods: readonly Pod[];
  /** What is wrong with the manifest, each in one sentence. */
  readonly reasons: readonly string[];
  /** Pods that the manifest no longer gives in a usable form and that go on as they were. */
  readonly kept: readonly string[];
  readonly unknownFields: readonly string[];
}

export function readManifest(
  bytes: Uint8Array,
  previous: readonly Pod[],
  options: StaticPodOptions,
): ManifestPods {
  const decoded = decodeManifest(bytes);
  const faults: ManifestFault[] = [...decoded.faults];
  const pods = usablePods(decoded, previous, options, faults);
  // differs from upstream: there a bad edit of a manifest ends the pod that runs from it.
  const kept = previous.filter(
    (pod) => !pods.some((now) => podRef(now) === podRef(pod)) && mayBe(pod, faults, options),
  );
  return {
    pods: [...pods, ...kept],
    reasons: faults.map((fault) => fault.reason),
    kept: kept.map(podRef),
    unknownFields: decoded.unknownFields,
  };
}

function usablePods(
  decoded: DecodedManifest,
  previous: readonly Pod[],
  options: StaticPodOptions,
  faults: ManifestFault[],
): Pod[] {
  const pods: Pod[] = [];
  for (const manifest of decoded.pods) {
    const made = makeStaticPod(manifest, options);
    const ref = `${manifest.metadata?.namespace || 'default'}/${manifest.metadata?.name ?? ''}`;
    if (made.ok) pods.push(sameAsBefore(made.pod, previous));
    else faults.push({ pod: ref, reason: `pod ${ref} is invalid: ${made.violations.join('; ')}` });
  }
  return pods;
}

/** Keeps the time when this pod was first seen, and the very object when nothing in it changed. */
function sameAsBefore(pod: Pod, previous: readonly Pod[]): Pod {
  const before = previous.find((each) => each.metadata?.uid === pod.metadata?.uid);
  const seen = before?.metadata?.annotations?.[configSeenAnnotation];
  if (before === undefined || seen === undefined) return pod;
  const annotations = { ...pod.metadata?.annotations, [configSeenAnnotation]: seen };
  const now = { ...pod, metadata: { ...pod.metadata, annotations } };
  return JSON.stringify(now) === JSON.stringify(before) ? before : now;
}

/** Whether one of the faults could be about this pod: it names the pod, or it does not know which pod it is about. */
function mayBe(pod: Pod, faults: readonly ManifestFault[], { nodeName }: StaticPodOptions): boolean {
  const ref = podRef(pod);
  return faults.some((fault) => {
    if (fault.notAPod === true) return false;
    return fault.pod === undefined || `${fault.pod}-${nodeName.toLowerCase()}` === ref;
  });
}

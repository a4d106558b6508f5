// Turns the pod of a manifest into a static pod of this node: defaults, UID, name suffix, annotations, validation. Pure.
// Invariant: the same manifest at the same location on the same node has the same UID, unless it runs under an earlier one.
// Upstream: pkg/kubelet/config/common.go (applyDefaults) and config.go (the source and first-seen annotations).
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod, Toleration } from '../api/k8s/types.ts';
import { configHashAnnotation, configSourceAnnotation } from '../api/ports/pod-source.ts';
import { referenceFault } from './api-references.ts';
import { chooseUid, type PodsOnNode } from './choose-uid.ts';
import { canonicalQuantities } from './decode/canonical-quantities.ts';
import { defaultPod } from './defaults/pod-defaults.ts';
import { defaultPodValidation, validatePod } from './validation/validate-pod.ts';
import { violationText } from './validation/violation.ts';

interface HashOrigin {
  readonly nodeName: string;
  /** The path or URL of the manifest. */
  readonly source: string;
  readonly isFile: boolean;
  /** The pod before defaulting. */
  readonly written: Pod;
}

/** The UID of a pod whose manifest has none: a hash of the defaulted pod and its source. */
export type ComputeHash = (pod: Pod, origin: HashOrigin) => string;

export interface StaticPodHashes {
  readonly computeHash: ComputeHash;
  /** The UIDs that kubelets of earlier releases gave the pod, newest release first. */
  readonly computeEarlierHashes?: (pod: Pod, origin: HashOrigin) => Iterable<string>;
}

export interface StaticPodOptions extends StaticPodHashes {
  readonly nodeName: string;
  /** The gate StrictIPCIDRValidation. Default: true. */
  readonly strictIps?: boolean;
  readonly source: 'file' | 'http';
  /** The path or URL of the manifest, which the UID depends on. */
  readonly origin: string;
  readonly nowMs: number;
  /** What is on the node already; undefined: nothing. */
  readonly onNode?: PodsOnNode;
}

export type StaticPodResult =
  /** `adopted`: it is on the node under the UID of an earlier release, and keeps it. */
  | { readonly ok: true; readonly pod: Pod; readonly adopted: boolean }
  /** In the form `field: reason`. */
  | { readonly ok: false; readonly violations: readonly string[] };

/** Defaults, then identity, then validation: the UID covers the defaults, and validation sees both. */
export function buildStaticPod(manifest: Pod, options: StaticPodOptions): StaticPodResult {
  const { pod: identified, adopted } = identify(manifest, options);
  const pod = canonicalQuantities(identified);
  const { strictIps = true } = options;
  const violations = validatePod(pod, { ...defaultPodValidation, strictIps }).map(violationText);
  const fault = referenceFault(pod);
  if (fault !== undefined) violations.push(fault);
  return violations.length > 0 ? { ok: false, violations } : { ok: true, pod, adopted };
}

function identify(written: Pod, options: StaticPodOptions): { readonly pod: Pod; readonly adopted: boolean } {
  const { nodeName, origin, source } = options;
  const pod = defaultPod(written);
  const isFile = source === 'file';
  const { uid, adopted } = uidOf(pod, { nodeName, source: origin, isFile, written }, options);
  const annotations = {
    ...pod.metadata?.annotations,
    [configHashAnnotation]: uid,
    [configSourceAnnotation]: source,
    [seenAnnotation]: new Date(options.nowMs).toISOString(),
  };
  const metadata = {
    ...pod.metadata,
    uid,
    name: `${pod.metadata?.name ?? ''}-${nodeName.toLowerCase()}`,
    namespace: pod.metadata?.namespace || 'default',
    annotations,
  };
  const spec = { ...(pod.spec ?? { containers: [] }), nodeName };
  // A NotReady node must not evict its own control plane.
  if (isFile)
    spec.tolerations = withToleration(spec.tolerations ?? [], { operator: 'Exists', effect: 'NoExecute' });
  return { pod: { ...pod, metadata, spec, status: { ...pod.status, phase: 'Pending' } }, adopted };
}

/** The UID of the manifest, or the one that chooseUid selects. */
function uidOf(
  pod: Pod,
  origin: HashOrigin,
  { computeEarlierHashes, computeHash, onNode }: StaticPodOptions,
): { readonly uid: string; readonly adopted: boolean } {
  if (pod.metadata?.uid) return { uid: pod.metadata.uid, adopted: false };
  const current = computeHash(pod, origin);
  const uid = chooseUid(current, () => computeEarlierHashes?.(pod, origin) ?? [], onNode);
  return { uid, adopted: uid !== current };
}

/** Replaces a toleration of the same key, effect, operator and value, or adds it at the end. */
function withToleration(tolerations: readonly Toleration[], wanted: Toleration): Toleration[] {
  const matches = (each: Toleration): boolean =>
    (each.key ?? '') === (wanted.key ?? '') &&
    (each.value ?? '') === (wanted.value ?? '') &&
    each.operator === wanted.operator &&
    each.effect === wanted.effect;
  if (!tolerations.some(matches)) return [...tolerations, wanted];
  return tolerations.map((each) => (matches(each) ? { ...wanted } : each));
}

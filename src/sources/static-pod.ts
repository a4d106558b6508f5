// Turns the pod of a manifest into a static pod of this node: defaults, UID, name suffix, annotations, validation. Pure.
// Invariant: the same manifest at the same location on the same node always has the same UID.
// Upstream: pkg/kubelet/config/common.go (applyDefaults) and config.go (the source and first-seen annotations).
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod, Toleration } from '../api/k8s/types.ts';
import { configHashAnnotation, configSourceAnnotation } from '../api/ports/pod-source.ts';
import { referenceFault } from './api-references.ts';
import { canonicalQuantities } from './decode/canonical-quantities.ts';
import { defaultPod } from './defaults/pod-defaults.ts';
import { validatePod } from './validation/validate-pod.ts';
import { violationText } from './validation/violation.ts';

/** The UID of a pod whose manifest has none: a hash of the defaulted pod and its source. */
export type ComputeHash = (
  pod: Pod,
  origin: {
    readonly nodeName: string;
    /** The path or URL of the manifest. */
    readonly source: string;
    readonly isFile: boolean;
    /** The pod before defaulting. */
    readonly written: Pod;
  },
) => string;

export interface StaticPodOptions {
  readonly nodeName: string;
  readonly source: 'file' | 'http';
  /** The path or URL of the manifest, which the UID depends on. */
  readonly origin: string;
  readonly nowMs: number;
  readonly computeHash: ComputeHash;
  /** The gate PreventStaticPodAPIReferences: reject references to API objects. */
  readonly forbidApiReferences: boolean;
}

export type StaticPodResult =
  | { readonly ok: true; readonly pod: Pod }
  /** In the form `field: reason`. */
  | { readonly ok: false; readonly violations: readonly string[] };

/** Defaults, then identity, then validation: the UID covers the defaults, and validation sees both. */
export function buildStaticPod(manifest: Pod, options: StaticPodOptions): StaticPodResult {
  const pod = canonicalQuantities(identify(manifest, options));
  const violations = validatePod(pod).map(violationText);
  const fault = referenceFault(pod, options.forbidApiReferences);
  if (fault !== undefined) violations.push(fault);
  return violations.length > 0 ? { ok: false, violations } : { ok: true, pod };
}

function identify(written: Pod, options: StaticPodOptions): Pod {
  const { nodeName, origin, source } = options;
  const pod = defaultPod(written);
  const isFile = source === 'file';
  const uid = pod.metadata?.uid || options.computeHash(pod, { nodeName, source: origin, isFile, written });
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
  return { ...pod, metadata, spec, status: { ...pod.status, phase: 'Pending' } };
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

// A pod from a manifest → the pod this node runs: its identity, its place and the marks by which others know it.
// Pure. Invariant: the same manifest at the same place on the same node gives the same UID, in every process.
// Upstream: pkg/kubelet/config/common.go (applyDefaults) and config.go (the source and first-seen annotations).
import { seenAnnotation } from '../api/cri/labels.ts';
import type { Pod, Toleration } from '../api/k8s/types.ts';
import { configHashAnnotation, configSourceAnnotation } from '../api/ports/pod-source.ts';
import { referenceFault } from './api-references.ts';
import { canonicalQuantities } from './decode/canonical-quantities.ts';
import { defaultPod } from './defaults/pod-defaults.ts';
import { validatePod } from './validation/validate-pod.ts';
import { violationText } from './validation/violation.ts';

/** The UID of a pod whose manifest gives none, made from the pod with its defaults and from where it was found. */
export type ComputeHash = (
  pod: Pod,
  origin: {
    readonly nodeName: string;
    /** The file's path or the URL. */
    readonly source: string;
    readonly isFile: boolean;
    /** The pod before defaults. */
    readonly written: Pod;
  },
) => string;

export interface StaticPodOptions {
  readonly nodeName: string;
  readonly source: 'file' | 'http';
  /** The file's path or the URL: a part of the pod's identity. */
  readonly origin: string;
  readonly nowMs: number;
  readonly computeHash: ComputeHash;
  /** The gate PreventStaticPodAPIReferences: refuse what only an API server could serve. */
  readonly forbidApiReferences: boolean;
}

export type StaticPodResult =
  | { readonly ok: true; readonly pod: Pod }
  /** Each as `field: reason`. */
  | { readonly ok: false; readonly violations: readonly string[] };

/** Defaults, then identity, then validation: the order decides what the UID covers and what the checks see. */
export function makeStaticPod(manifest: Pod, options: StaticPodOptions): StaticPodResult {
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
  // A node in trouble must not evict what keeps it running.
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

// The UID of a static pod: a hash of its manifest and its source. It equals that of the Go kubelet bit for bit, so that a node
// can switch kubelets while its control plane keeps running.
// Upstream: pkg/kubelet/config/common.go (applyDefaults), pkg/util/hash (DeepHashObject).
import { createHash } from 'node:crypto';
import type { Pod } from '../../k8s/types.ts';
import { toInternalPod } from './internal-pod.ts';
import { podLevelResources } from './pod-level-defaults.ts';
import { GoPrinter } from './print-go.ts';
import { readTypes } from './read-types.ts';
import { podTypes } from './types-pod.ts';
import { metaAndStatusTypes } from './types-status.ts';
import { volumeTypes } from './types-volumes.ts';

interface StaticPodOrigin {
  /** The registered name of the node. */
  readonly nodeName: string;
  /** The path of the manifest as the kubelet opened it, or its URL. */
  readonly source: string;
  readonly isFile: boolean;
  /** The pod before defaulting. Only needed if defaulting completes its pod-level resources. */
  readonly written?: Pod | undefined;
}

const podType = readTypes('Pod', [podTypes, volumeTypes, metaAndStatusTypes]);

/**
 * The UID for a pod without one. `pod` has the API's defaults but none of the additions for static pods, such as the name's
 * suffix. Quantities must have the spelling of the manifest.
 */
export function staticPodUid(pod: Pod, origin: StaticPodOrigin): string {
  const { nodeName, source, isFile, written } = origin;
  const where = isFile ? `host:${nodeName}file:${source}` : `url:${source}`;
  return createHash('md5').update(dumpPod(pod, written)).update(where).digest('hex');
}

/** The text that is hashed. */
export function dumpPod(pod: Pod, written?: Pod): string {
  const resources = written === undefined ? undefined : podLevelResources(pod, written);
  const internal = toInternalPod(pod, resources);
  return `(*core.Pod)${new GoPrinter().print(podType, internal, 0)}`;
}

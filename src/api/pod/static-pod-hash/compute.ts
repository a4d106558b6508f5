// The UID of a static pod: a fingerprint of what its manifest says and where it came from. It is bit for bit the one
// the Go kubelet computes, so that a node can change kubelets and its control plane keeps running.
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
  /** The node's name as it is registered. */
  readonly nodeName: string;
  /** The path of the manifest's file as the kubelet opened it, or its URL. */
  readonly source: string;
  readonly isFile: boolean;
  /** The pod before defaults. Only needed where pod-level resources are partly left to the defaults. */
  readonly written?: Pod | undefined;
}

const podType = readTypes('Pod', [podTypes, volumeTypes, metaAndStatusTypes]);

/**
 * Which UID a pod without one gets. `pod` has the API's defaults, but neither the name's suffix nor anything else that
 * being a static pod adds. Quantities have to be spelled as in the manifest.
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

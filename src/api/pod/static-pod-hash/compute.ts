// The UID of a static pod: a hash of its manifest and its source. It equals that of the Go kubelet bit for bit, so that a node
// can switch kubelets while its control plane keeps running. The hash covers the layout of Go's types, so every release that
// adds a field has another UID for the same manifest; the UIDs of earlier releases are computed as well, to recognize a pod
// that one of them started.
// Upstream: pkg/kubelet/config/common.go (applyDefaults), pkg/util/hash (DeepHashObject).
import { createHash } from 'node:crypto';
import { isPresent } from '../../../base/guards.ts';
import type { Pod } from '../../k8s/types.ts';
import { fnv1a128 } from '../fnv.ts';
import { toInternalPod } from './internal-pod.ts';
import type { JsonObject } from './json-value.ts';
import { podLevelResources } from './pod-level-defaults.ts';
import { GoPrinter } from './print-go.ts';
import { type GoType, readTypes } from './read-types.ts';
import { olderTypes } from './types-older.ts';
import { podTypes } from './types-pod.ts';
import { metaAndStatusTypes } from './types-status.ts';
import { volumeTypes } from './types-volumes.ts';

interface StaticPodOrigin {
  /** The registered name of the node. */
  readonly nodeName: string;
  /** The path of the manifest as the kubelet opened it, or its URL. */
  readonly source: string;
  readonly isFile: boolean;
  /** The pod before defaulting. Only needed if the pod has pod-level resources. */
  readonly written?: Pod | undefined;
}

/** How the kubelet of a release computes UIDs. */
interface Release {
  /** The release `1.minor`. */
  readonly minor: number;
  readonly podType: GoType;
  readonly hash: (dump: string, where: string) => string;
}

const currentMinor = 37;
/** Earlier releases used MD5. */
const firstFnvMinor = 35;
/** The releases whose defaults complete pod-level resources: later the API server does when it creates the pod. */
const firstCompletingMinor = 34;
const lastCompletingMinor = 36;
const tables = [podTypes, volumeTypes, metaAndStatusTypes];

const current: Release = { minor: currentMinor, podType: readTypes('Pod', tables), hash: fnv128 };

/** From the newest to the oldest, built when first needed: only a node that ran an earlier kubelet does. */
const olderReleases = once(readOlder);

/**
 * The UID for a pod without one. `pod` has the API's defaults but none of the additions for static pods, such as the name's
 * suffix. Quantities must have the spelling of the manifest.
 */
export function staticPodUid(pod: Pod, origin: StaticPodOrigin): string {
  return uidOf(current, pod, origin);
}

/** The UIDs that the kubelets of earlier releases gave this pod, from the newest release to the oldest. */
function* earlierStaticPodUids(pod: Pod, origin: StaticPodOrigin): Generator<string> {
  for (const release of olderReleases()) yield uidOf(release, pod, origin);
}

/** Both, in the form that the sources expect. */
export const staticPodHashes = { computeHash: staticPodUid, computeEarlierHashes: earlierStaticPodUids };

function uidOf(release: Release, pod: Pod, { nodeName, source, isFile, written }: StaticPodOrigin): string {
  const where = isFile ? `host:${nodeName}file:${source}` : `url:${source}`;
  return release.hash(dump(release, pod, written), where);
}

/** The text that is hashed. */
export function dumpPod(pod: Pod, written?: Pod): string {
  return dump(current, pod, written);
}

function dump({ minor, podType }: Release, pod: Pod, written: Pod | undefined): string {
  const completes = minor >= firstCompletingMinor && minor <= lastCompletingMinor;
  const asked = completes ? written && podLevelResources(pod, written) : written?.spec?.resources;
  const resources = isPresent(asked) ? (asked as JsonObject) : undefined;
  const internal = toInternalPod(pod, { resources, dropsInitAnnotations: minor < currentMinor });
  return `(*core.Pod)${new GoPrinter().print(podType, internal, 0)}`;
}

function once<T>(compute: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= compute();
    return value;
  };
}

function readOlder(): readonly Release[] {
  return olderTypes.map(({ minor }, at) => {
    const changes = olderTypes.slice(0, at + 1).map((each) => each.changes);
    return {
      minor,
      podType: readTypes('Pod', [...tables, ...changes]),
      hash: minor < firstFnvMinor ? md5 : fnv128,
    };
  });
}

function fnv128(text: string, where: string): string {
  return fnv1a128(text + where);
}

function md5(text: string, where: string): string {
  return createHash('md5').update(text).update(where).digest('hex');
}

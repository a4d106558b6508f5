// The hash by which the kubelet detects that a running container no longer matches its spec. It is written to the annotation
// io.kubernetes.container.hash and must equal upstream's bit for bit: a difference restarts every container of a node.
// Upstream: pkg/kubelet/container/helpers.go (HashContainer).

import { goJsonString } from '../k8s/go-json.ts';
import { fnv1a32 } from './fnv.ts';

interface HashedContainer {
  readonly name: string;
  readonly image?: string | undefined;
}

/** Covers name and image only: no other change restarts a container. */
export function containerHash(container: HashedContainer): number {
  // An empty image is "", not omitted: the hash always covers both fields.
  const json = `{"image":${goJsonString(container.image ?? '')},"name":${goJsonString(container.name)}}`;
  // Upstream hashes not the JSON but Go's print of a byte slice that holds it.
  return fnv1a32(`([]uint8)[${new TextEncoder().encode(json).join(' ')}]`);
}

/** The value of the annotation: lower-case hexadecimal without leading zeros. */
export function containerHashText(container: HashedContainer): string {
  return containerHash(container).toString(16);
}

// The hash that tells whether a running container still is the one the spec asks for. It is written to the
// annotation io.kubernetes.container.hash, so it must be bit for bit what every other kubelet of this API computes:
// a difference restarts every container of a node. Upstream: pkg/kubelet/container/helpers.go (HashContainer).

import { goJsonString } from '../k8s/go-json.ts';
import { fnv1a32 } from './fnv.ts';

interface HashedContainer {
  readonly name: string;
  readonly image?: string | undefined;
}

/** Only name and image count; changing anything else does not restart a container. */
export function containerHash(container: HashedContainer): number {
  // An empty image is kept as "", not left out: the hash covers the two fields always.
  const json = `{"image":${goJsonString(container.image ?? '')},"name":${goJsonString(container.name)}}`;
  // What is hashed is not the JSON itself but how Go's printer shows a byte slice that holds it.
  return fnv1a32(`([]uint8)[${new TextEncoder().encode(json).join(' ')}]`);
}

/** The hash as the annotation has it: lower-case hexadecimal without leading zeros. */
export function containerHashText(container: HashedContainer): string {
  return containerHash(container).toString(16);
}

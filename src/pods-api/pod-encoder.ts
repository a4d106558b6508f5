// Serializes pods for the Pods API. Invariant: while any response or event in flight still holds the bytes of a pod, they are
// used again, so that clients that read slowly do not multiply them; otherwise nothing is kept.
import { KubernetesProtobuf } from '../api/k8s/protobuf.ts';
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import { RpcFailure } from '../api/kubelet/rpc-service.ts';
import { describeError } from '../base/errors.ts';
import { shownStatus } from './shown-status.ts';

interface Encoded {
  readonly status: PodStatus | undefined;
  readonly bytes: WeakRef<Uint8Array>;
}

export class PodEncoder {
  readonly #protobuf = new KubernetesProtobuf();
  readonly #encoded = new WeakMap<Pod, Encoded>();

  /** Throws an RpcFailure if the pod cannot be encoded. */
  encode(pod: Pod, status: PodStatus | undefined): Uint8Array {
    const known = this.#encoded.get(pod);
    const held = known?.status === status ? known?.bytes.deref() : undefined;
    if (held !== undefined) return held;
    const bytes = this.#marshal({ ...pod, status: shownStatus(pod.status, status) });
    this.#encoded.set(pod, { status, bytes: new WeakRef(bytes) });
    return bytes;
  }

  /** Only what identifies the pod, for events of removed pods. */
  encodeIdentity({ metadata }: Pod): Uint8Array {
    const { name, namespace, uid } = metadata ?? {};
    return this.#marshal({ metadata: { name, namespace, uid } });
  }

  #marshal(pod: object): Uint8Array {
    try {
      return this.#protobuf.encode('Pod', pod);
    } catch (err) {
      throw new RpcFailure('INTERNAL', `failed to marshal pod: ${describeError(err)}`);
    }
  }
}

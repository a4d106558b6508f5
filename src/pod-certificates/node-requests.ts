// The PodCertificateRequests of this node's pods, as the watch last reported them.
// Owns PodCertificateRequests (sole writer: the watch that pod-certificates.ts runs). Invariants: only requests of pods that
// wait for certificates are kept; the store is updated before a pod is announced. Upstream: the informer of pkg/kubelet/podcertificate.
import type { PodCertificateRequest } from '../api/k8s/types.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import type { WatchSink } from '../api/ports/api-client.ts';
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';

interface NodeRequestsDeps {
  readonly credentials: { ofPod(uid: PodUid): { readonly size: number } };
}

export class NodeRequests implements WatchSink<PodCertificateRequest>, Store {
  readonly storeName = 'PodCertificateRequests';
  readonly writer = 'pod-certificates';
  readonly changed = new Channel<PodUid>();
  readonly #deps: NodeRequestsDeps;
  readonly #requests = new Map<string, PodCertificateRequest>();

  constructor(deps: NodeRequestsDeps) {
    this.#deps = deps;
  }

  get(namespace: string, name: string): PodCertificateRequest | undefined {
    return this.#requests.get(`${namespace}/${name}`);
  }

  replace(requests: readonly PodCertificateRequest[]): void {
    const uids = new Set([...this.#requests.values(), ...requests].map(uidOf));
    this.#requests.clear();
    for (const request of requests) this.#keep(request);
    for (const uid of uids) this.changed.push(uid);
  }

  upsert(request: PodCertificateRequest): void {
    this.#keep(request);
    this.changed.push(uidOf(request));
  }

  remove(request: PodCertificateRequest): void {
    this.#requests.delete(keyOf(request));
    this.changed.push(uidOf(request));
  }

  forgetPod(uid: PodUid): void {
    for (const [key, request] of this.#requests) if (uidOf(request) === uid) this.#requests.delete(key);
  }

  /** Any other request is from before a restart, or of a pod that is gone: its key is lost. */
  #keep(request: PodCertificateRequest): void {
    if (this.#deps.credentials.ofPod(uidOf(request)).size > 0) this.#requests.set(keyOf(request), request);
  }
}

function uidOf({ spec }: PodCertificateRequest): PodUid {
  return asPodUid(spec.podUID);
}

function keyOf({ metadata }: PodCertificateRequest): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

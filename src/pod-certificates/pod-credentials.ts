// The keys and certificates of this node's pods, in memory only: a restarted kubelet requests new ones, as upstream's.
// Owns PodCredentials (sole writer: the loop of pod-certificates.ts). Invariant: a bundle is announced after it can be read.
// Upstream: credStore in pkg/kubelet/podcertificate.
import type { Pod } from '../api/k8s/types.ts';
import { type PodUid, podUid } from '../api/pod/pod-ref.ts';
import {
  type CredentialBundle,
  type PodCertificates,
  podCertificateObject,
} from '../api/ports/pod-certificates.ts';
import type { ChangedObject } from '../api/ports/pod-objects.ts';
import { Channel } from '../base/channel.ts';
import { KubeletError } from '../base/errors.ts';
import type { Store } from '../base/store.ts';
import { bundleOf, type CredentialState, initialState, isVisibleChange } from './credential-state.ts';
import { type ProjectionKey, projectionKey, uidOfKey } from './projections.ts';

export class PodCredentials implements PodCertificates, Store {
  readonly storeName = 'PodCredentials';
  readonly writer = 'pod-certificates';
  readonly changed = new Channel<ChangedObject>();
  readonly #byPod = new Map<PodUid, Map<ProjectionKey, CredentialState>>();

  get(key: ProjectionKey): CredentialState | undefined {
    return this.#byPod.get(uidOfKey(key))?.get(key);
  }

  ofPod(uid: PodUid): ReadonlyMap<ProjectionKey, CredentialState> {
    return this.#byPod.get(uid) ?? new Map();
  }

  bundle(pod: Pod, volume: string, sourceIndex: number): CredentialBundle {
    const uid = podUid(pod);
    const state = this.get(projectionKey(uid, volume, sourceIndex));
    if (state !== undefined) return bundleOf(state);
    const { name = '', namespace = '' } = pod.metadata ?? {};
    const key = [namespace, name, uid, volume, sourceIndex].join(' ');
    throw new KubeletError('unavailable', 'FailedMount', `no credentials yet for key={${key}}`);
  }

  set(key: ProjectionKey, state: CredentialState): void {
    const uid = uidOfKey(key);
    const states = this.#byPod.get(uid) ?? new Map<ProjectionKey, CredentialState>();
    const before = states.get(key) ?? initialState;
    this.#byPod.set(uid, states.set(key, state));
    if (isVisibleChange(before, state)) this.changed.push(podCertificateObject(uid));
  }

  delete(uid: PodUid): void {
    this.#byPod.delete(uid);
  }
}

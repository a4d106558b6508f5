// The certificates of pods (podCertificate sources of projected volumes), shared by pod-certificates/, volumes/ and the edge
// that generates keys. Invariant: a private key is a Secret except where it is written to a file.
// Upstream: the Manager interface of pkg/kubelet/podcertificate.
import type { Subscribable } from '../../base/channel.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Secret } from '../../base/log/secret.ts';
import type { Pod } from '../k8s/types.ts';
import type { ChangedObject } from './pod-objects.ts';

export interface CredentialBundle {
  /** PKCS #8, in PEM. */
  readonly key: Secret;
  /** The leaf certificate, followed by its intermediates. */
  readonly chainPem: string;
}

export interface PodCertificates {
  /** Throws a KubeletError: `unavailable` until the certificate is issued, another kind if it never will be. */
  bundle(pod: Pod, volume: string, sourceIndex: number): CredentialBundle;
  /** Announces a pod whose bundle was issued, renewed or refused. */
  readonly changed: Subscribable<ChangedObject>;
}

/** A new private key and the proof of its possession. */
export interface PodKey {
  /** PKCS #8, in PEM. */
  readonly key: Secret;
  /** An empty PKCS #10 request that the key has signed, in DER. */
  readonly request: Uint8Array;
}

/** Rejects a key type that is unknown. */
export type GeneratePodKey = (keyType: string, signal: AbortSignal) => Promise<PodKey>;

/** Announces the certificates of this pod. */
export function podCertificateObject(uid: string): ChangedObject {
  return { kind: 'PodCertificate', namespace: '', name: uid };
}

/** Without an API server, or with the gate PodCertificateRequest off. Upstream: NoOpManager. */
export const noPodCertificates: PodCertificates = {
  bundle: () => {
    throw new KubeletError('invalid', 'FailedMount', 'unimplemented');
  },
  changed: { subscribe: () => () => undefined },
};

// The files of the kubelet's identity: kubeconfigs, the client certificate's store and the key of a pending request.
import { join } from 'node:path';
import type { CertificatePair } from '../../api/ports/certificates.ts';
import type { ClusterAccess } from '../../api/ports/cluster-access.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { Secret } from '../../base/log/secret.ts';
import { readKubeconfig } from '../apiserver/open-api-server.ts';
import { bootstrapReason, readMaterial, writeJoinedKubeconfig } from './bootstrap-kubeconfig.ts';
import { newKey } from './make-x509.ts';
import { PairStore, type PairStoreOptions, PendingKeyFile } from './pair-store.ts';
import { isKey, readPair } from './read-x509.ts';

export function identityFiles(clock: Clock) {
  return {
    readKubeconfig,
    bootstrapReason,
    writeJoinedKubeconfig,
    embeddedPair,
    store: (place: Omit<PairStoreOptions, 'now'>) =>
      new PairStore({ ...place, now: () => new Date(clock.now()) }),
    pendingKey: (directory: string) =>
      new PendingKeyFile(join(directory, 'kubelet-client.key.tmp'), newKey, isKey),
  };
}

async function embeddedPair({ clientCertificate }: ClusterAccess): Promise<CertificatePair | undefined> {
  const { cert, key } = clientCertificate ?? {};
  if (cert === undefined || key === undefined || !('pem' in cert && 'pem' in key)) return undefined;
  try {
    return readPair(await readMaterial(cert), new Secret(await readMaterial(key)));
  } catch (cause) {
    const message = 'the client certificate in the kubeconfig cannot be used';
    throw new KubeletError('invalid', 'InvalidKubeconfig', message, { cause });
  }
}

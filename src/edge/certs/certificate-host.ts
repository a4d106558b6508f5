// Keys, certificate requests and pairs on this machine, as src/certs uses them.
import { createPublicKey } from 'node:crypto';
import type { CertificatePair } from '../../api/ports/certificates.ts';
import type { Clock } from '../../base/clock.ts';
import type { Secret } from '../../base/log/secret.ts';
import { makeRequest, makeSelfSigned, newKey, type SelfSigned } from './make-x509.ts';
import { PairStore, type PairStoreOptions } from './pair-store.ts';
import { keyKind, readPair } from './read-x509.ts';
import { ServingPairFiles, type ServingPairPaths } from './serving-pair-files.ts';

type StorePlace = Omit<PairStoreOptions, 'now'>;

export function certificateHost(clock: Clock) {
  return {
    servingFiles: (paths: ServingPairPaths) => new ServingPairFiles(paths, clock),
    selfSigned: async (options: SelfSigned): Promise<CertificatePair> => {
      const { certPem, key } = await makeSelfSigned(options);
      return readPair(certPem, key);
    },
    store: (place: StorePlace) => new PairStore({ ...place, now: () => new Date(clock.now()) }),
    maker: certificateMaker,
  };
}

export const certificateMaker = {
  newKey,
  keyKind,
  request: makeRequest,
  publicKeyDer: (key: Secret): Uint8Array =>
    createPublicKey(key.reveal()).export({ type: 'spki', format: 'der' }),
};

// What certificates need of the outside: keys and requests made, pairs read and kept on disk.
import type { CertificatePair } from '../../api/certificates.ts';
import type { Clock } from '../../base/clock.ts';
import { makeSelfSigned, type SelfSigned } from './make-x509.ts';
import { readPair } from './read-x509.ts';
import { ServingPairFiles, type ServingPairPaths } from './serving-pair-files.ts';

export function certificateHost(clock: Clock) {
  return {
    servingFiles: (paths: ServingPairPaths) => new ServingPairFiles(paths, clock),
    selfSigned: async (options: SelfSigned): Promise<CertificatePair> => {
      const { certPem, key } = await makeSelfSigned(options);
      return readPair(certPem, key);
    },
  };
}

// The certificates API as the certificate manager uses it, over a connection to the API server.
import type { CertificateSigningRequest } from '../api/k8s/types.ts';
import { type ApiClient, apiPath, type Follow } from '../api/ports/api-client.ts';

export interface CsrApi {
  create(csr: CertificateSigningRequest, signal: AbortSignal): Promise<CertificateSigningRequest>;
  get(name: string, signal: AbortSignal): Promise<CertificateSigningRequest>;
  /**
   * Reports every state of the object until the signal is aborted, undefined when a list or watch shows that it is gone.
   * Never rejects.
   */
  follow(
    name: string,
    report: (csr: CertificateSigningRequest | undefined) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** A connection to the API server with one identity. */
export interface CsrConnection {
  readonly client: Pick<ApiClient, 'create' | 'get'>;
  readonly follow: Follow;
}

const path = apiPath('apis', 'certificates.k8s.io', 'v1', 'certificatesigningrequests');

export function csrApi({ client, follow }: CsrConnection): CsrApi {
  return {
    create: (csr, signal) => client.create(path, csr, { signal }),
    get: (name, signal) => client.get(path + apiPath(name), { signal }),
    follow: (name, report, signal) =>
      follow<CertificateSigningRequest>(
        { path, fieldSelector: `metadata.name=${name}` },
        { replace: ([csr]) => report(csr), upsert: report, remove: () => report(undefined) },
        signal,
      ),
  };
}

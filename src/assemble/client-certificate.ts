// Who this kubelet is to the API server: as its kubeconfig says, or by a certificate that it asks for and replaces itself.
// Upstream: buildKubeletClientConfig in cmd/kubelet/app/server.go, pkg/kubelet/certificate/bootstrap.
import type { CertificatePair } from '../api/ports/certificates.ts';
import type { Clock } from '../base/clock.ts';
import { isKind, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { Secret } from '../base/log/secret.ts';
import { CertificateManager, type PairStore } from '../certs/certificate-manager.ts';
import { clientSigner, clientTemplate } from '../certs/certificate-request.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import type { ClusterAccess } from '../edge/apiserver/kubeconfig.ts';
import { type ApiServer, readKubeconfig } from '../edge/apiserver/open-api-server.ts';
import { textOf, whyBootstrap, writeJoinedKubeconfig } from '../edge/certs/bootstrap-kubeconfig.ts';
import { certificateHost } from '../edge/certs/certificate-host.ts';
import { readPair } from '../edge/certs/read-x509.ts';
import { requestApi } from './cluster-api.ts';

interface IdentityInput {
  readonly config: Pick<KubeletConfiguration, 'rotateCertificates'>;
  readonly flags: Pick<KubeletFlags, 'bootstrapKubeconfig' | 'certDir' | 'kubeconfig'>;
  readonly nodeName: string;
  /** For what is asked with other credentials than the kubelet's own. */
  readonly open: (access: ClusterAccess) => ApiServer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

interface Identity {
  readonly access: ClusterAccess;
  /** Undefined: the kubeconfig is all there is. */
  readonly manager: CertificateManager | undefined;
  /** What was opened with this access: certificates are asked for through it while there is one. */
  use(server: ApiServer): void;
  close(): void;
}

/** So long without a certificate, and the server answers: then the next life may find better credentials. */
const exitAfterMs = 5 * 60_000;

/** Rejects when a kubeconfig cannot be used. Waits for no server: that is done beside everything else. */
export async function clientIdentity(input: IdentityInput): Promise<Identity> {
  const { clock, config, flags, log, random } = input;
  const { bootstrapKubeconfig, kubeconfig } = flags;
  const why = bootstrapKubeconfig === '' ? undefined : await whyBootstrap(kubeconfig, clock.now());
  if (why === undefined && !config.rotateCertificates) {
    const nothing = (): undefined => undefined;
    return { access: await readKubeconfig(kubeconfig), manager: undefined, use: nothing, close: nothing };
  }
  if (why !== undefined) log.info('Joining the cluster with the bootstrap kubeconfig', { why });
  const given = await readKubeconfig(why === undefined ? kubeconfig : bootstrapKubeconfig);
  const joins = why !== undefined;
  const host = certificateHost(clock);
  const files = joins ? {} : certificateFiles(given);
  const store = host.store({ directory: flags.certDir, prefix: 'kubelet-client', ...files });
  const writeKubeconfig = (): Promise<void> => writeJoinedKubeconfig(kubeconfig, given, store.currentPath);
  let own: ApiServer | undefined;
  const asking = otherCredentials(input, given);
  const manager = new CertificateManager({
    name: 'client',
    signerName: clientSigner,
    template: () => clientTemplate(input.nodeName),
    store: joins ? thenKubeconfig(store, writeKubeconfig) : store,
    maker: host.maker,
    pendingKey: host.pendingKey(flags.certDir),
    api: async (hasCertificate) => {
      return requestApi(hasCertificate && own !== undefined ? own : await asking.open());
    },
    rotate: config.rotateCertificates,
    exitAfterMs: config.rotateCertificates ? exitAfterMs : undefined,
    random,
    clock,
    log,
  });
  const access = { ...anonymous(given), live: manager };
  await manager.load(joins ? undefined : await inlinePair(given));
  if (joins && manager.pair() !== undefined) await writeKubeconfig();
  manager.changed.subscribe(() => asking.close());
  const use = (server: ApiServer): void => {
    own = server;
  };
  return { access, manager, use, close: () => asking.close() };
}

/**
 * With the bootstrap kubeconfig where there is one, as it is then: a token may have been replaced. Else with what is given: whoever
 * sets nodes up takes that file away once they have joined.
 */
function otherCredentials(
  { flags, open }: IdentityInput,
  given: ClusterAccess,
): { open(): Promise<ApiServer>; close(): void } {
  let server: ApiServer | undefined;
  const close = (): void => {
    server?.close();
    server = undefined;
  };
  return {
    open: async () => {
      close();
      server = open((await ifAny(flags.bootstrapKubeconfig)) ?? given);
      return server;
    },
    close,
  };
}

async function ifAny(path: string): Promise<ClusterAccess | undefined> {
  try {
    return path === '' ? undefined : await readKubeconfig(path);
  } catch (err) {
    if (isKind(err, 'not-found')) return undefined;
    throw err;
  }
}

/**
 * differs from upstream, which writes the kubeconfig before there is a certificate: whoever waits for the file, as kubeadm does,
 * can use it as soon as it is there.
 */
function thenKubeconfig(store: PairStore, write: () => Promise<void>): PairStore {
  return {
    current: () => store.current(),
    update: async (certPem, key) => {
      const pair = await store.update(certPem, key);
      await write();
      return pair;
    },
  };
}

function anonymous({
  ca,
  insecureSkipTlsVerify,
  proxyUrl,
  server,
  tlsServerName,
}: ClusterAccess): ClusterAccess {
  const nobody = {
    clientCertificate: undefined,
    token: undefined,
    tokenFile: undefined,
    basic: undefined,
    exec: undefined,
    impersonate: undefined,
  };
  return { ca, insecureSkipTlsVerify, proxyUrl, server, tlsServerName, ...nobody };
}

function certificateFiles({ clientCertificate }: ClusterAccess): { certFile?: string; keyFile?: string } {
  const { cert, key } = clientCertificate ?? {};
  if (cert === undefined || key === undefined || 'pem' in cert || 'pem' in key) return {};
  return { certFile: cert.file, keyFile: key.file };
}

/** A certificate that the kubeconfig itself holds, as kubeadm gives it to the first node of a control plane. */
async function inlinePair({ clientCertificate }: ClusterAccess): Promise<CertificatePair | undefined> {
  const { cert, key } = clientCertificate ?? {};
  if (cert === undefined || key === undefined || !('pem' in cert && 'pem' in key)) return undefined;
  try {
    return readPair(await textOf(cert), new Secret(await textOf(key)));
  } catch (cause) {
    const message = 'the client certificate in the kubeconfig cannot be used';
    throw new KubeletError('invalid', 'InvalidKubeconfig', message, { cause });
  }
}

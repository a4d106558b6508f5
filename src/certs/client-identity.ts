// The identity with which the kubelet authenticates to the API server: that of its kubeconfig, or a client certificate that
// the kubelet requests and rotates itself. Owns the decision between the two and the connections for signing requests.
// Invariant: the kubeconfig is written only after the certificate it names is on disk.
// Upstream: buildKubeletClientConfig in cmd/kubelet/app/server.go, pkg/kubelet/certificate/bootstrap.
import type { CertificatePair } from '../api/ports/certificates.ts';
import type { ClusterAccess } from '../api/ports/cluster-access.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, on, reaction } from '../base/component.ts';
import { isKind } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { Metrics } from '../base/metrics.ts';
import {
  type CertificateMaker,
  CertificateManager,
  type PairStore,
  type PendingKey,
} from './certificate-manager.ts';
import { measureClientCertificate } from './certificate-metrics.ts';
import { clientSigner, clientTemplate } from './certificate-request.ts';
import { type CsrApi, type CsrConnection, csrApi } from './csr-api.ts';

interface ClosableConnection extends CsrConnection {
  close(): void;
}

/** The files of a kubelet's identity. */
interface IdentityFiles {
  /** Rejects with `not-found` when the file does not exist, with `invalid` when it cannot be used. */
  readKubeconfig(path: string): Promise<ClusterAccess>;
  /** Why the kubeconfig cannot be used and the kubelet has to bootstrap; undefined when it can be used. */
  bootstrapReason(kubeconfig: string, nowMs: number): Promise<string | undefined>;
  /** Writes a kubeconfig for the bootstrap kubeconfig's cluster with the certificate at `pemPath`. */
  writeJoinedKubeconfig(path: string, bootstrap: ClusterAccess, pemPath: string): Promise<void>;
  /** The certificate embedded in a kubeconfig, as kubeadm writes it on the first control-plane node. */
  embeddedPair(access: ClusterAccess): Promise<CertificatePair | undefined>;
  store(place: {
    readonly directory: string;
    readonly prefix: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  }): PairStore & { readonly currentPath: string };
  /** The private key of a pending bootstrap request. */
  pendingKey(directory: string): PendingKey;
}

export interface ClientIdentityDeps {
  readonly settings: {
    readonly nodeName: string;
    readonly kubeconfig: string;
    /** Empty when there is none. */
    readonly bootstrapKubeconfig: string;
    readonly certDir: string;
    readonly rotate: boolean;
  };
  readonly files: IdentityFiles;
  readonly maker: CertificateMaker;
  /** Opens a connection with other credentials than the kubelet's own. */
  readonly open: (access: ClusterAccess) => ClosableConnection;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

interface ClientIdentity {
  readonly access: ClusterAccess;
  /** Empty when the kubeconfig is used as it is. */
  readonly components: readonly Component[];
  /** Hands over the kubelet's own connection; renewals go through it. */
  connect(connection: CsrConnection): void;
  /** The components that measure the certificate. */
  measure(metrics: Metrics): readonly Component[];
  /** Closes the connections that were opened here. */
  close(): void;
}

/** Without a certificate for this long, while the API server answers, the kubelet exits: a restart may find better credentials. */
const exitAfterMs = 5 * 60_000;

/** Rejects when a kubeconfig cannot be used. Does not wait for the API server. */
export async function loadClientIdentity(deps: ClientIdentityDeps): Promise<ClientIdentity> {
  const { clock, files, log, settings } = deps;
  const { bootstrapKubeconfig, kubeconfig, rotate } = settings;
  const reason =
    bootstrapKubeconfig === '' ? undefined : await files.bootstrapReason(kubeconfig, clock.now());
  if (reason !== undefined) {
    log.info('Joining the cluster with the bootstrap kubeconfig', { reason });
    return await bootstrapIdentity(deps, await files.readKubeconfig(bootstrapKubeconfig));
  }
  const access = await files.readKubeconfig(kubeconfig);
  return rotate ? await rotatingIdentity(deps, access) : staticIdentity(access);
}

function staticIdentity(access: ClusterAccess): ClientIdentity {
  const none = (): undefined => undefined;
  return { access, components: [], connect: none, measure: () => [], close: none };
}

/** Requests the first certificate with the bootstrap kubeconfig's credentials. */
async function bootstrapIdentity(
  deps: ClientIdentityDeps,
  bootstrap: ClusterAccess,
): Promise<ClientIdentity> {
  const { files, settings } = deps;
  const { certDir: directory, kubeconfig } = settings;
  const store = files.store({ directory, prefix });
  const writeKubeconfig = (): Promise<void> =>
    files.writeJoinedKubeconfig(kubeconfig, bootstrap, store.currentPath);
  const connections = new CsrConnections(deps, bootstrap);
  const manager = managerOf(deps, withKubeconfig(store, writeKubeconfig), connections);
  await manager.load();
  if (manager.pair() !== undefined) await writeKubeconfig();
  return managedIdentity(deps, bootstrap, manager, connections);
}

/** Rotates the certificate that the kubeconfig names or embeds. */
async function rotatingIdentity(deps: ClientIdentityDeps, access: ClusterAccess): Promise<ClientIdentity> {
  const { files, settings } = deps;
  const store = files.store({ directory: settings.certDir, prefix, ...certificateFiles(access) });
  const connections = new CsrConnections(deps, access);
  const manager = managerOf(deps, store, connections);
  await manager.load(await files.embeddedPair(access));
  return managedIdentity(deps, access, manager, connections);
}

const prefix = 'kubelet-client';

function managerOf(
  { clock, files, log, maker, random, settings }: ClientIdentityDeps,
  store: PairStore,
  connections: CsrConnections,
): CertificateManager {
  const { certDir, nodeName, rotate } = settings;
  return new CertificateManager({
    request: { name: 'client', signerName: clientSigner, template: () => clientTemplate(nodeName) },
    keys: { store, maker, pendingKey: files.pendingKey(certDir) },
    api: (hasCertificate) => connections.api(hasCertificate),
    policy: { rotate, exitAfterMs: rotate ? exitAfterMs : undefined },
    random,
    clock,
    log,
  });
}

function managedIdentity(
  { settings }: ClientIdentityDeps,
  cluster: ClusterAccess,
  manager: CertificateManager,
  connections: CsrConnections,
): ClientIdentity {
  return {
    access: { ...withoutCredentials(cluster), live: manager },
    components: [reaction('bootstrap-connection', [on(manager.changed, () => connections.close())]), manager],
    connect: (connection) => connections.use(connection),
    measure: (metrics) => (settings.rotate ? [measureClientCertificate(metrics, manager)] : []),
    close: () => connections.close(),
  };
}

/** The connections for signing requests: the kubelet's own once it has a certificate, another one before that. */
class CsrConnections {
  readonly #deps: ClientIdentityDeps;
  readonly #given: ClusterAccess;
  #own: CsrConnection | undefined;
  #other: ClosableConnection | undefined;

  constructor(deps: ClientIdentityDeps, given: ClusterAccess) {
    this.#deps = deps;
    this.#given = given;
  }

  use(connection: CsrConnection): void {
    this.#own = connection;
  }

  async api(hasCertificate: boolean): Promise<CsrApi> {
    return csrApi(hasCertificate && this.#own !== undefined ? this.#own : await this.#openOther());
  }

  close(): void {
    this.#other?.close();
    this.#other = undefined;
  }

  /**
   * With the bootstrap kubeconfig as it is now, since its token may have been replaced. Without that file, with the access the
   * kubelet was started with: provisioning tools remove the file once the node has joined.
   */
  async #openOther(): Promise<CsrConnection> {
    this.close();
    this.#other = this.#deps.open((await this.#readBootstrap()) ?? this.#given);
    return this.#other;
  }

  async #readBootstrap(): Promise<ClusterAccess | undefined> {
    const { files, settings } = this.#deps;
    if (settings.bootstrapKubeconfig === '') return undefined;
    try {
      return await files.readKubeconfig(settings.bootstrapKubeconfig);
    } catch (err) {
      if (isKind(err, 'not-found')) return undefined;
      throw err;
    }
  }
}

// differs from upstream, which writes the kubeconfig before there is a certificate: tools that wait for the file, as kubeadm
// does, can use it as soon as it exists.
function withKubeconfig(store: PairStore, write: () => Promise<void>): PairStore {
  return {
    current: () => store.current(),
    update: async (certPem, key) => {
      const pair = await store.update(certPem, key);
      await write();
      return pair;
    },
  };
}

function withoutCredentials(access: ClusterAccess): ClusterAccess {
  const { ca, insecureSkipTlsVerify, proxyUrl, server, tlsServerName } = access;
  const credentials = {
    clientCertificate: undefined,
    token: undefined,
    tokenFile: undefined,
    basic: undefined,
    exec: undefined,
    impersonate: undefined,
  };
  return { ca, insecureSkipTlsVerify, proxyUrl, server, tlsServerName, ...credentials };
}

function certificateFiles({ clientCertificate }: ClusterAccess): { certFile?: string; keyFile?: string } {
  const { cert, key } = clientCertificate ?? {};
  if (cert === undefined || key === undefined || 'pem' in cert || 'pem' in key) return {};
  return { certFile: cert.file, keyFile: key.file };
}

// A control plane for one node of the rig: the API server double on a loopback port, with the Node authorizer enabled,
// and kubeconfigs for the kubelet and for kubectl.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Node, Pod, PodStatus } from '../../src/api/k8s/types.ts';
import { realClock } from '../../src/base/clock.ts';
import { ApiServerDouble, bootstrapUser } from '../../test/api-server/double.ts';
import { type HttpFront, serveDouble } from '../../test/api-server/http-front.ts';
import {
  adminCertificate,
  type KubeconfigOptions,
  kubeconfigText,
  nodeCertificate,
} from '../../test/api-server/kubeconfig-text.ts';
import { KubeletProxy } from '../../test/api-server/kubelet-proxy.ts';
import { type KeyPair, TestAuthority } from '../../test/api-server/pki.ts';
import type { User } from '../../test/api-server/request.ts';
import type { CertificateOptions } from '../../test/api-server/rules/certificate-controllers.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import type { Rig } from '../rig/rig.ts';
import { waitFor } from '../rig/wait.ts';

const kubectlPath = ['/usr/bin/kubectl', '/usr/local/bin/kubectl'].find((path) => existsSync(path));
export const kubectlProgram = kubectlPath ?? 'kubectl';
const deadlineMs = 90_000;

/** Undefined if kubectl is available. */
export const kubectlUnavailableReason = kubectlPath === undefined ? 'kubectl not found' : undefined;

export class Cluster {
  readonly double: ApiServerDouble;
  readonly nodeName: string;
  readonly kubeconfig: string;
  /** Has a bootstrap token instead of a certificate. */
  readonly bootstrapKubeconfig: string;
  readonly authority: TestAuthority;
  /** The CA certificate of the API server and its clients. */
  readonly caFile: string;
  /** An administrator's certificate. */
  readonly admin: KeyPair;
  readonly #front: HttpFront;
  readonly #adminConfig: string;

  constructor(
    double: ApiServerDouble,
    front: HttpFront,
    nodeName: string,
    files: { node: string; admin: string; bootstrap: string; ca: string },
    authority: TestAuthority,
    admin: KeyPair,
  ) {
    this.authority = authority;
    this.bootstrapKubeconfig = files.bootstrap;
    this.double = double;
    this.#front = front;
    this.nodeName = nodeName;
    this.kubeconfig = files.node;
    this.caFile = files.ca;
    this.#adminConfig = files.admin;
    this.admin = admin;
  }

  /** The port of the API server. */
  get port(): number {
    return this.#front.port;
  }

  async stop(): Promise<void> {
    this.double.close();
    await this.#front.close();
  }

  pod(name: string): Pod | undefined {
    return this.double.objects.get('pods', 'default', name);
  }

  /** Creates a pod that is bound to the node. */
  createPod({ metadata, spec }: Pod): Pod {
    return this.double.objects.create('pods', {
      metadata: { ...metadata },
      ...(spec && { spec: { ...spec, nodeName: this.nodeName } }),
    });
  }

  node(): Node | undefined {
    return this.double.objects.get('nodes', '', this.nodeName);
  }

  async untilPod(name: string, what: string, is: (status: PodStatus, pod: Pod) => boolean): Promise<Pod> {
    return waitFor(
      () => {
        const pod = this.pod(name);
        return pod !== undefined && is(pod.status ?? {}, pod) && pod;
      },
      `pod ${name} ${what}`,
      deadlineMs,
    );
  }

  untilReady(name: string): Promise<Pod> {
    return this.untilPod(name, 'to be ready', isReady);
  }

  async untilGone(name: string): Promise<void> {
    await waitFor(() => this.pod(name) === undefined, `pod ${name} to be deleted`, deadlineMs);
  }

  async untilNodeReady(): Promise<Node> {
    return waitFor(
      () => {
        const node = this.node();
        return node !== undefined && isReady(node.status) && node;
      },
      'the node to be ready',
      deadlineMs,
    );
  }

  /** Configuration of a kubelet that delegates authentication and authorization to this API server. */
  get kubeletConfig(): Readonly<Record<string, unknown>> {
    return {
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile: this.caFile },
      },
      authorization: { mode: 'Webhook' },
    };
  }

  get kubectlEnv(): NodeJS.ProcessEnv {
    return { ...process.env, KUBECONFIG: this.#adminConfig, HOME: '/nonexistent' };
  }

  /** Starts kubectl in the background; its stderr goes to the test's. */
  startKubectl(...args: readonly string[]): ChildProcess {
    return spawn(kubectlProgram, [...args], { env: this.kubectlEnv, stdio: ['ignore', 'pipe', 'inherit'] });
  }

  /** Returns the output. Rejects with the error output if it fails. */
  async kubectl(...args: readonly string[]): Promise<string> {
    const options = { env: this.kubectlEnv, timeout: deadlineMs, maxBuffer: 64 * 1024 * 1024 };
    const { stdout } = await promisify(execFile)(kubectlProgram, [...args], options);
    return stdout;
  }

  /** The state of node and pods and the end of the kubelet's log, for failed tests. */
  describeState(kubelet: Kubelet): string {
    const pods = this.double.objects
      .list('pods')
      .map(({ metadata, status }) => ({ name: metadata?.name, status }));
    return (
      JSON.stringify({ node: this.node()?.status?.conditions, pods }, null, 1) +
      kubelet.log.lines().slice(-60).join('\n')
    );
  }
}

export function isReady(status: PodStatus | Node['status']): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}

/** A bootstrap token, as of kubeadm. */
export const bootstrapToken = 'abcdef.0123456789abcdef';

interface ClusterSettings {
  readonly certificates?: CertificateOptions;
  /** By bearer token. */
  readonly users?: Readonly<Record<string, User>>;
}

export async function startCluster(
  rig: Rig,
  nodeName: string,
  { certificates, users }: ClusterSettings = {},
): Promise<Cluster> {
  const authority = new TestAuthority({ backdateSeconds: 0 });
  const double = new ApiServerDouble({
    clock: realClock,
    sign: authority.sign,
    caPem: authority.cert,
    users: { [bootstrapToken]: bootstrapUser('abcdef'), ...users },
    ...(certificates === undefined ? {} : { certificates }),
    podSigner: { sign: authority.sign },
  });
  const admin = adminCertificate(authority);
  // The rig's kubelets listen on loopback only.
  const proxy = new KubeletProxy(admin, { host: '127.0.0.1' });
  const front = await serveDouble(double, { authority, proxy });
  const write = (name: string, who: Pick<KubeconfigOptions, 'client' | 'token'>): string => {
    const path = join(rig.workspace.dir, `${name}.kubeconfig`);
    writeFileSync(path, kubeconfigText({ front, authority, ...who }), { mode: 0o600 });
    return path;
  };
  const ca = join(rig.workspace.dir, 'ca.crt');
  writeFileSync(ca, authority.cert);
  const files = {
    ca,
    node: write('node', { client: nodeCertificate(authority, nodeName) }),
    admin: write('admin', { client: admin }),
    bootstrap: write('bootstrap', { token: bootstrapToken }),
  };
  return new Cluster(double, front, nodeName, files, authority, admin);
}

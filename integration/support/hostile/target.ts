// The node under attack: a real containerd, the built kubelet, the API server double, and a neighbour pod that is
// probed every second. Helpers for attacks to create pods, to query the kubelet as an administrator, and to wait.
// Invariant: recover() restores the state after start(), whatever an attack did to the kubelet.
import { Agent, request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import type { Container, Event as CoreEvent, Pod, PodStatus } from '../../../src/api/k8s/types.ts';
import type { Kubelet } from '../../rig/kubelet.ts';
import { unmountBelow } from '../../rig/mounts.ts';
import { mustRun } from '../../rig/process.ts';
import { type Rig, startRig } from '../../rig/rig.ts';
import { slowness, waitFor } from '../../rig/wait.ts';
import { type Cluster, startCluster } from '../cluster.ts';
import { addGrpcImage, grpcImage } from '../grpc-image.ts';
import { container, type ManifestOver, manifest } from '../manifest.ts';
import { podTraces } from '../pod-traces.ts';
import { Canary } from './canary.ts';
import { leaseSeconds, NodeWatch, neighbourName } from './node-watch.ts';

const nodeName = 'node1';
export const pidsLimit = 100;
const waitMs = 45_000;

/** Limits of a hostile container, so that an attack targets the kubelet and not the machine's two CPUs. */
const limits = { cpu: '500m', memory: '256Mi' } as const;

interface Answer {
  readonly status: number;
  /** The number of received bytes; `text` has at most the first MiB. */
  readonly bytes: number;
  readonly text: string;
  /** False if the kubelet cut the connection, or after the timeout. */
  readonly complete: boolean;
}

interface AskOptions {
  readonly method?: string;
  /** Closes the connection after this time. */
  readonly forMs?: number;
  /** Does not read the body of the response. */
  readonly readsNothing?: boolean;
  /** The loopback address of the client. */
  readonly from?: string;
  /** Reuses a connection. */
  readonly agent?: Agent;
}

interface TargetOptions {
  /** Whether to build the image for hostileNode(), which takes seconds. */
  readonly hasNodeImage?: boolean;
}

export function hostilePod(name: string, over: ManifestOver = {}): Pod {
  return manifest(name, { nodeName, automountServiceAccountToken: false, ...over });
}

export function hostile(name: string, script?: string, over: Partial<Container> = {}): Container {
  return container(name, script, { resources: { limits, requests: { cpu: '10m' } }, ...over });
}

/** A container that runs a Node program; arguments follow the program's text. */
export function hostileNode(name: string, program: string, over: Partial<Container> = {}): Container {
  return hostile(name, '', { image: grpcImage, command: ['/node/node', '-e', program], ...over });
}

export class Target {
  readonly rig: Rig;
  readonly cluster: Cluster;
  readonly kubelet: Kubelet;
  readonly canary: Canary;
  watch: NodeWatch;
  /** Kept alive, so that measuring costs the kubelet no handshakes and cannot be crowded out by other clients. */
  readonly #watchAgent = new Agent({ keepAlive: true, maxSockets: 1 });

  private constructor(rig: Rig, cluster: Cluster, kubelet: Kubelet) {
    this.rig = rig;
    this.cluster = cluster;
    this.kubelet = kubelet;
    this.canary = new Canary(join(rig.workspace.dir, 'canary'));
    this.watch = this.#newWatch();
  }

  static async start({ hasNodeImage = true }: TargetOptions = {}): Promise<Target> {
    const rig = await startRig();
    const cluster = await startCluster(rig, nodeName);
    if (hasNodeImage) await addGrpcImage(rig);
    const config = {
      ...cluster.kubeletConfig,
      podPidsLimit: pidsLimit,
      nodeLeaseDurationSeconds: leaseSeconds,
      containerLogMaxSize: '10Mi',
      containerLogMaxFiles: 2,
      containerLogMonitorInterval: '3s',
      volumeStatsAggPeriod: '2s',
      evictionHard: {},
    };
    const kubelet = rig.newKubelet({ nodeName, flags: [`--kubeconfig=${cluster.kubeconfig}`], config });
    const target = new Target(rig, cluster, kubelet);
    target.canary.make();
    await target.#begin();
    return target;
  }

  async stop(): Promise<void> {
    await this.watch.stop();
    this.#watchAgent.destroy();
    await this.rig.stop();
    await this.cluster.stop();
  }

  #newWatch(): NodeWatch {
    return new NodeWatch(this.cluster, this.kubelet, this.canary, async (withinMs) => {
      const answer = await this.request('/metrics', { forMs: withinMs, agent: this.#watchAgent });
      if (answer.status !== 200 || !answer.complete)
        throw new Error(`GET /metrics returned ${answer.status}`);
      return answer.text;
    });
  }

  async #begin(): Promise<void> {
    await this.kubelet.start();
    await this.cluster.untilNodeReady();
    const neighbour = manifest(neighbourName, {
      nodeName,
      containers: [
        container('main', 'mkdir /www; echo fine | tee /www/index.html; exec httpd -f -p 8080 -h /www', {
          resources: { requests: { cpu: '500m' } },
          startupProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, failureThreshold: 60 },
          readinessProbe: { httpGet: { path: '/', port: 8080 }, periodSeconds: 1, timeoutSeconds: 1 },
          livenessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, timeoutSeconds: 1 },
        }),
      ],
    });
    this.create(neighbour);
    await this.cluster.untilReady(neighbourName);
    await waitFor(() => this.cluster.double.objects.list('leases').length > 0, 'the lease');
    this.watch = this.#newWatch();
    this.watch.start();
  }

  create(pod: Pod): Pod {
    const { metadata, spec } = pod;
    return this.cluster.double.objects.create('pods', { metadata: { ...metadata }, ...(spec && { spec }) });
  }

  /** Deletes the pods one by one, and waits for the removal of all of their resources. */
  async remove(pods: readonly Pod[]): Promise<void> {
    for (const pod of pods) {
      const name = pod.metadata?.name ?? '';
      if (this.cluster.pod(name) !== undefined) this.cluster.double.objects.delete('pods', 'default', name);
      await waitFor(() => this.cluster.pod(name) === undefined, `pod ${name} to be deleted`, waitMs);
      await this.untilNoTraces(pod);
    }
  }

  async untilNoTraces(pod: Pod): Promise<void> {
    await waitFor(
      async () => {
        const left = await podTraces(this.rig, this.kubelet, pod);
        if (left.length > 0) throw new Error(`left: ${left.join(', ')}`);
        return true;
      },
      `all resources of pod ${pod.metadata?.name} to be removed`,
      { timeoutMs: waitMs, everyMs: 100 },
    );
  }

  async untilPod(name: string, what: string, is: (status: PodStatus, pod: Pod) => boolean): Promise<Pod> {
    return waitFor(
      () => {
        const pod = this.cluster.pod(name);
        if (pod !== undefined && is(pod.status ?? {}, pod)) return pod;
        throw new Error(JSON.stringify(pod?.status ?? 'no such pod').slice(0, 4_000));
      },
      `pod ${name} ${what}`,
      waitMs,
    );
  }

  untilRunning(name: string): Promise<Pod> {
    return this.untilPod(name, 'to run', ({ containerStatuses = [] }, pod) => {
      const running = containerStatuses.filter(({ state }) => state?.running !== undefined);
      return running.length === pod.spec?.containers.length;
    });
  }

  /** Waits until all containers of the pod have terminated for good. */
  untilEnded(name: string): Promise<Pod> {
    return this.untilPod(name, 'to end', ({ phase }) => phase === 'Failed' || phase === 'Succeeded');
  }

  events(pod: string, reason?: string): readonly CoreEvent[] {
    return this.cluster.double.objects
      .list('events')
      .filter(
        (event) => event.involvedObject?.name === pod && (reason === undefined || event.reason === reason),
      );
  }

  async untilEvent(pod: string, reason: string): Promise<CoreEvent> {
    return waitFor(() => this.events(pod, reason)[0], `an event ${reason} of pod ${pod}`, waitMs);
  }

  /** Sends a request to the secure port with an administrator's certificate. */
  request(path: string, options: AskOptions = {}): Promise<Answer> {
    const { method = 'GET', forMs = waitMs, readsNothing = false, from = '127.0.0.1', agent } = options;
    const kept = 1024 * 1024;
    const tls = {
      host: '127.0.0.1',
      localAddress: from,
      port: this.kubelet.securePort,
      path,
      method,
      rejectUnauthorized: false,
      agent: agent ?? false,
      cert: this.cluster.admin.cert,
      key: this.cluster.admin.key,
      signal: AbortSignal.timeout(forMs * slowness),
    } as const;
    return new Promise((resolve, reject) => {
      let status = 0;
      let bytes = 0;
      const chunks: Buffer[] = [];
      const done = (complete: boolean): void =>
        resolve({ status, bytes, text: Buffer.concat(chunks).toString(), complete });
      const request = httpsRequest(tls, (response) => {
        status = response.statusCode ?? 0;
        response.on('error', () => done(false));
        if (readsNothing) return;
        response.on('data', (chunk: Buffer) => {
          if (bytes < kept) chunks.push(chunk);
          bytes += chunk.length;
        });
        response.on('end', () => done(true));
      });
      request.on('error', (err) => (status === 0 ? reject(err) : done(false)));
      request.end();
    });
  }

  /** Runs a command in a container through the runtime, without the kubelet. Throws if it fails. */
  async exec(pod: Pod, name: string, script: string): Promise<string> {
    const status = this.cluster.pod(pod.metadata?.name ?? '')?.status?.containerStatuses;
    const containerId = status?.find((each) => each.name === name)?.containerID?.replace(/^.*\/\//, '') ?? '';
    const answer = await this.rig.cri.execSync({ containerId, cmd: ['sh', '-c', script], timeout: 30n });
    if (answer.exitCode !== 0) throw new Error(`${script}: ${new TextDecoder().decode(answer.stderr)}`);
    return new TextDecoder().decode(answer.stdout);
  }

  /**
   * After a successful attack: starts a new kubelet on an empty node, so that the next attack is measured on its own.
   */
  async recover(): Promise<void> {
    await this.watch.stop();
    await this.kubelet.kill9();
    const { objects } = this.cluster.double;
    for (const { metadata } of objects.list('pods'))
      objects.delete('pods', 'default', metadata?.name ?? '', { gracePeriodSeconds: 0 });
    await this.rig.removeAllPods();
    await unmountBelow(this.kubelet.dir);
    // Trees may be too deep for Node's own removal.
    await mustRun('rm', ['-rf', this.kubelet.rootDir, this.kubelet.podLogsDir]);
    this.canary.make();
    await this.#begin();
  }
}

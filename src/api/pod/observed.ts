// What the runtime was seen to hold for one pod: sandboxes and containers, newest first. Pure data.
// Upstream: pkg/kubelet/container (PodStatus, Status). Written by pleg only; everyone else reads.
import type { LifecycleHandler } from '../k8s/types.ts';
import type { ContainerId, PodUid, SandboxId } from './pod-ref.ts';

export interface ObservedSandbox {
  readonly id: SandboxId;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAtMs: number;
  /** When the kubelet that made it had first seen the pod; absent on sandboxes that do not carry it. */
  readonly seenAtMs?: number;
  /** The pod's own addresses, primary first; empty for host network and while the network is being made. */
  readonly ips: readonly string[];
  readonly hostNetwork: boolean;
  readonly runtimeHandler: string;
}

/** What the runtime has set for a container; absent where it does not say or has set nothing. */
export interface ObservedResources {
  readonly cpuLimitMilli?: bigint;
  readonly cpuRequestMilli?: bigint;
  readonly memoryLimitBytes?: bigint;
}

interface ObservedUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups: readonly number[];
}

export type ObservedContainerState = 'created' | 'running' | 'exited' | 'unknown';

export interface ObservedContainer {
  readonly id: ContainerId;
  readonly name: string;
  readonly sandboxId: SandboxId;
  readonly state: ObservedContainerState;
  readonly createdAtMs: number;
  /** 0 when it never started. */
  readonly startedAtMs: number;
  /** 0 while it has not ended. */
  readonly finishedAtMs: number;
  readonly exitCode: number;
  /** The runtime's word: Completed, Error, OOMKilled, StartError, ContainerCannotRun … */
  readonly reason: string;
  /** The runtime's own message. */
  readonly message: string;
  /** Image as the runtime names it, and the reference it resolves to. */
  readonly image: string;
  readonly imageRef: string;
  readonly imageId: string;
  /** From annotations: the container hash, the restart count. */
  readonly hash: string;
  readonly restartCount: number;
  /** As the runtime counts: no two containers of a pod share name and attempt. The restart count as a rule. */
  readonly attempt: number;
  readonly logPath: string;
  /** Seconds, from annotations written at creation; undefined when absent. */
  readonly terminationGraceSeconds: number | undefined;
  readonly deletionGraceSeconds: number | undefined;
  /** Only from runtimes that tell it. */
  readonly resources?: ObservedResources;
  readonly user?: ObservedUser;
  /** Paths in the container at which the runtime mounted read-only with everything below. */
  readonly recursiveReadOnly?: readonly string[];
  /** SIGTERM, SIGUSR1 …: what ends it. */
  readonly stopSignal?: string;
  /** From an annotation: what is to be run before it ends, when nobody has its spec any more. */
  readonly preStop?: LifecycleHandler;
}

export interface ObservedPod {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  /** Newest attempt first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** Newest first; several per name while dead ones are kept. */
  readonly containers: readonly ObservedContainer[];
  /** Clock.now() just before the runtime was asked. */
  readonly observedAtMs: number;
}

/** The newest container of that name, as the pod's current one. */
export function latestContainer(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  return pod?.containers.find((container) => container.name === name);
}

/** When a kubelet first took this pod up, as far as its sandboxes remember; undefined without any. */
export function firstTakenUpMs(pod: ObservedPod | undefined): number | undefined {
  const times = (pod?.sandboxes ?? [])
    .map((sandbox) => sandbox.seenAtMs ?? sandbox.createdAtMs)
    .filter((ms) => ms > 0);
  return times.length === 0 ? undefined : Math.min(...times);
}

export function readySandbox(pod: ObservedPod | undefined): ObservedSandbox | undefined {
  return pod?.sandboxes.find((sandbox) => sandbox.ready);
}

/** Nothing of this pod runs: every container ended and no sandbox is ready. */
export function isDown(pod: ObservedPod | undefined): boolean {
  return (
    pod === undefined ||
    (pod.containers.every((c) => c.state !== 'running' && c.state !== 'unknown') &&
      pod.sandboxes.every((s) => !s.ready))
  );
}

/**
 * What runtimes report of a start that was not allowed to run its course: its caller went away in the middle of it, or the
 * sandbox had died before it.
 */
const cutMessage =
  /context canceled|context deadline exceeded|signal: killed|^sandbox container "[^"]*" is not running|^sandbox "[^"]*" not found/;

/**
 * Whether this container's start was cut off by the end of the kubelet that asked for it, by its giving up or by the end of
 * the sandbox: it never ran, so its end is no end of the workload's.
 */
export function startWasCut(container: ObservedContainer): boolean {
  return (
    container.state === 'exited' &&
    container.reason === 'StartError' &&
    container.startedAtMs === 0 &&
    cutMessage.test(container.message)
  );
}

/** Made, but nothing of it has ever run: its restart count and name can be used again. */
export function neverRan(container: ObservedContainer): boolean {
  return container.state === 'created' || startWasCut(container);
}

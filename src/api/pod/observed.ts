// The observed state of one pod on the runtime: sandboxes and containers, newest first. Pure data; pleg is the only writer.
// Upstream: pkg/kubelet/container (PodStatus, Status).
import type { LifecycleHandler } from '../k8s/types.ts';
import type { ContainerId, PodUid, SandboxId } from './pod-ref.ts';

export interface ObservedSandbox {
  readonly id: SandboxId;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAtMs: number;
  /** When the kubelet that created it first saw the pod; absent on sandboxes without the annotation. */
  readonly seenAtMs?: number;
  /** The pod's own addresses, primary first; empty with host network and until the network is set up. */
  readonly ips: readonly string[];
  readonly hostNetwork: boolean;
  readonly runtimeHandler: string;
}

/** The resources that the runtime reports for a container; absent where unset or not reported. */
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
  /** 0 if it never started. */
  readonly startedAtMs: number;
  /** 0 until it has exited. */
  readonly finishedAtMs: number;
  readonly exitCode: number;
  /** The runtime's reason: Completed, Error, OOMKilled, StartError, ContainerCannotRun … */
  readonly reason: string;
  /** The runtime's message. */
  readonly message: string;
  /** The runtime's name of the image, and the reference it resolves to. */
  readonly image: string;
  readonly imageRef: string;
  readonly imageId: string;
  /** From annotations: the container hash, the restart count. */
  readonly hash: string;
  readonly restartCount: number;
  /** The CRI attempt, unique per container name of a pod. Usually equal to the restart count. */
  readonly attempt: number;
  readonly logPath: string;
  /** In seconds, from annotations written at creation; undefined if absent. */
  readonly terminationGraceSeconds: number | undefined;
  readonly deletionGraceSeconds: number | undefined;
  /** Only from runtimes that report it. */
  readonly resources?: ObservedResources;
  readonly user?: ObservedUser;
  /** Paths in the container of recursive read-only mounts. */
  readonly recursiveReadOnly?: readonly string[];
  /** References of the images that it mounts as volumes. */
  readonly imageMounts?: readonly string[];
  /** SIGTERM, SIGUSR1 … */
  readonly stopSignal?: string;
  /** The preStop hook from an annotation, for a container whose spec is gone. */
  readonly preStop?: LifecycleHandler;
}

export interface ObservedPod {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  /** Newest attempt first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** Newest first; several per name until dead ones are garbage-collected. */
  readonly containers: readonly ObservedContainer[];
  /** Clock.now() just before the inspection. */
  readonly observedAtMs: number;
}

/** The newest container of this name. */
export function latestContainer(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  return pod?.containers.find((container) => container.name === name);
}

/** When a kubelet first saw this pod, according to its sandboxes; undefined without any. */
export function firstSeenMs(pod: ObservedPod | undefined): number | undefined {
  const times = (pod?.sandboxes ?? [])
    .map((sandbox) => sandbox.seenAtMs ?? sandbox.createdAtMs)
    .filter((ms) => ms > 0);
  return times.length === 0 ? undefined : Math.min(...times);
}

export function readySandbox(pod: ObservedPod | undefined): ObservedSandbox | undefined {
  return pod?.sandboxes.find((sandbox) => sandbox.ready);
}

/** Whether nothing of this pod runs: every container has exited and no sandbox is ready. */
export function isDown(pod: ObservedPod | undefined): boolean {
  return (
    pod === undefined ||
    (pod.containers.every((c) => c.state !== 'running' && c.state !== 'unknown') &&
      pod.sandboxes.every((s) => !s.ready))
  );
}

/**
 * The messages of runtimes for a start that was interrupted: its caller disconnected, or the sandbox had died before it.
 */
const cutMessage =
  /context canceled|context deadline exceeded|signal: killed|^sandbox container "[^"]*" is not running|^sandbox "[^"]*" not found/;

/**
 * Whether the start of this container was interrupted: the kubelet stopped or gave up, or the sandbox died. The container
 * never ran, so its exit is not an exit of the workload.
 */
export function startWasInterrupted(container: ObservedContainer): boolean {
  return (
    container.state === 'exited' &&
    container.reason === 'StartError' &&
    container.startedAtMs === 0 &&
    cutMessage.test(container.message)
  );
}

/** Whether it was created but never ran, so that its restart count and name can be reused. */
export function neverRan(container: ObservedContainer): boolean {
  return container.state === 'created' || startWasInterrupted(container);
}

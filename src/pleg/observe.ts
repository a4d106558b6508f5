// Converts the runtime's answers to ObservedPod. Pure. Upstream: kuberuntime helpers (toKubeContainerStatus, determinePodSandboxIPs).

import {
  type Container,
  ContainerState,
  type ContainerStatus,
  NamespaceMode,
  type PodSandbox,
  PodSandboxState,
  type PodSandboxStatus,
} from '../api/cri/generated/runtime/v1/api.ts';
import { criAnnotations, criLabels, seenAnnotation } from '../api/cri/labels.ts';
import { signalName } from '../api/cri/stop-signals.ts';
import type {
  ObservedContainer,
  ObservedContainerState,
  ObservedPod,
  ObservedResources,
  ObservedSandbox,
} from '../api/pod/observed.ts';
import { asContainerId, asPodUid, asSandboxId, type PodUid } from '../api/pod/pod-ref.ts';

/** The entries of one pod in the runtime's lists: enough to see that something changed, not what. */
export interface ListedPod {
  readonly sandboxes: PodSandbox[];
  readonly containers: Container[];
}

/** Groups the full lists by pod. An entry without a pod UID label was not created by a kubelet and is ignored. */
export function groupByPod(
  sandboxes: readonly PodSandbox[],
  containers: readonly Container[],
): Map<PodUid, ListedPod> {
  const pods = new Map<PodUid, ListedPod>();
  const at = (uid: string): ListedPod => {
    const key = asPodUid(uid);
    let pod = pods.get(key);
    if (pod === undefined) {
      pod = { sandboxes: [], containers: [] };
      pods.set(key, pod);
    }
    return pod;
  };
  for (const sandbox of sandboxes) {
    const uid = sandbox.labels[criLabels.podUid] ?? '';
    if (uid !== '') at(uid).sandboxes.push(sandbox);
  }
  for (const container of containers) {
    const uid = container.labels[criLabels.podUid] ?? '';
    if (uid !== '') at(uid).containers.push(container);
  }
  return pods;
}

/** Whether the list agrees with the stored pod: the same sandboxes and containers in the same states. */
export function matchesList(seen: ObservedPod, listed: ListedPod): boolean {
  if (
    seen.sandboxes.length !== listed.sandboxes.length ||
    seen.containers.length !== listed.containers.length
  ) {
    return false;
  }
  return (
    listed.sandboxes.every((sandbox) =>
      seen.sandboxes.some((s) => s.id === sandbox.id && s.ready === isReady(sandbox.state)),
    ) &&
    listed.containers.every((container) =>
      seen.containers.some((c) => c.id === container.id && c.state === containerState(container.state)),
    )
  );
}

export function isReady(state: PodSandboxState): boolean {
  return state === PodSandboxState.SANDBOX_READY;
}

const containerStates: Readonly<Record<number, ObservedContainerState>> = {
  [ContainerState.CONTAINER_CREATED]: 'created',
  [ContainerState.CONTAINER_RUNNING]: 'running',
  [ContainerState.CONTAINER_EXITED]: 'exited',
};

export function containerState(state: ContainerState): ObservedContainerState {
  return containerStates[state] ?? 'unknown';
}

export function observedSandbox(status: PodSandboxStatus): ObservedSandbox {
  const hostNetwork = status.linux?.namespaces?.options?.network === NamespaceMode.NODE;
  const seenAtMs = Date.parse(status.annotations[seenAnnotation] ?? '');
  const ips = [status.network?.ip ?? '', ...(status.network?.additionalIps.map((each) => each.ip) ?? [])];
  return {
    id: asSandboxId(status.id),
    attempt: status.metadata?.attempt ?? 0,
    ready: isReady(status.state),
    createdAtMs: nsToMs(status.createdAt),
    ...(Number.isNaN(seenAtMs) ? {} : { seenAtMs }),
    ips: hostNetwork ? [] : ips.filter((ip) => ip !== ''),
    hostNetwork,
    runtimeHandler: status.runtimeHandler,
  };
}

export function observedContainer(status: ContainerStatus, sandboxId: string): ObservedContainer {
  const annotations = status.annotations;
  return {
    id: asContainerId(status.id),
    name: status.labels[criLabels.containerName] ?? status.metadata?.name ?? '',
    sandboxId: asSandboxId(sandboxId),
    state: containerState(status.state),
    createdAtMs: nsToMs(status.createdAt),
    startedAtMs: nsToMs(status.startedAt),
    finishedAtMs: nsToMs(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason,
    message: status.message,
    image: status.image?.image ?? '',
    imageRef: status.imageRef,
    imageId: status.imageId,
    hash: annotations[criAnnotations.hash] ?? '',
    restartCount: wholeNumber(annotations[criAnnotations.restartCount]) ?? status.metadata?.attempt ?? 0,
    attempt: status.metadata?.attempt ?? 0,
    logPath: status.logPath,
    terminationGraceSeconds: wholeNumber(annotations[criAnnotations.terminationGracePeriod]),
    deletionGraceSeconds: wholeNumber(annotations[criAnnotations.deletionGracePeriod]),
    ...preStopOf(annotations[criAnnotations.preStopHandler]),
    ...optionalFields(status),
  };
}

/** Recorded by the kubelet that created the container; an unreadable annotation counts as no hook. */
function preStopOf(text: string | undefined): Pick<ObservedContainer, 'preStop'> {
  if (text === undefined) return {};
  try {
    const preStop: unknown = JSON.parse(text);
    return typeof preStop === 'object' && preStop !== null ? { preStop } : {};
  } catch {
    return {};
  }
}

/** Fields that only some runtimes report. */
function optionalFields(
  status: ContainerStatus,
): Pick<ObservedContainer, 'imageMounts' | 'recursiveReadOnly' | 'resources' | 'user' | 'stopSignal'> {
  const resources = observedResources(status);
  const user = status.user?.linux;
  const stopSignal = signalName(status.stopSignal);
  const recursive = status.mounts.filter((mount) => mount.recursiveReadOnly);
  const imageMounts = status.mounts.flatMap(({ image }) => image?.image || []);
  return {
    ...(imageMounts.length === 0 ? {} : { imageMounts }),
    ...(recursive.length === 0
      ? {}
      : { recursiveReadOnly: recursive.map(({ containerPath }) => containerPath) }),
    ...(resources === undefined ? {} : { resources }),
    ...(user === undefined
      ? {}
      : {
          user: {
            uid: Number(user.uid),
            gid: Number(user.gid),
            supplementalGroups: user.supplementalGroups.map(Number),
          },
        }),
    ...(stopSignal === undefined ? {} : { stopSignal }),
  };
}

const milliPerCpu = 1000n;
const sharesPerCpu = 1024n;
/** The kernel's minimum; fewer shares mean that nothing was requested. */
const minShares = 2n;

function observedResources({ resources }: ContainerStatus): ObservedResources | undefined {
  const linux = resources?.linux;
  if (linux === undefined) return undefined;
  const { cpuPeriod, cpuQuota, cpuShares, memoryLimitInBytes } = linux;
  const cpuLimitMilli = cpuPeriod > 0n && cpuQuota > 0n ? (cpuQuota * milliPerCpu) / cpuPeriod : 0n;
  const cpuRequestMilli =
    cpuShares < minShares ? 0n : (cpuShares * milliPerCpu + sharesPerCpu - 1n) / sharesPerCpu;
  const reported: ObservedResources = {
    ...(cpuLimitMilli > 0n ? { cpuLimitMilli } : {}),
    ...(cpuRequestMilli > 0n ? { cpuRequestMilli } : {}),
    ...(memoryLimitInBytes > 0n ? { memoryLimitBytes: memoryLimitInBytes } : {}),
  };
  return Object.keys(reported).length === 0 ? undefined : reported;
}

/** The entries that carry the pod's name. */
interface NamedPod {
  readonly sandboxes: readonly Pick<PodSandbox, 'metadata'>[];
  readonly containers: readonly Pick<Container, 'labels'>[];
}

/** Combines sandboxes and containers to a pod, newest first; undefined when there are none. */
export function observedPod(
  uid: PodUid,
  listed: NamedPod,
  sandboxes: readonly ObservedSandbox[],
  containers: readonly ObservedContainer[],
  observedAtMs: number,
): ObservedPod | undefined {
  if (sandboxes.length === 0 && containers.length === 0) return undefined;
  const labels = listed.containers[0]?.labels;
  const meta = listed.sandboxes[0]?.metadata;
  return {
    uid,
    name: meta?.name ?? labels?.[criLabels.podName] ?? '',
    namespace: meta?.namespace ?? labels?.[criLabels.podNamespace] ?? '',
    // differs from upstream: attempts and restart counts rank before times, so that an old one never becomes the newest when the
    // clock is set back.
    sandboxes: sandboxes.toSorted((a, b) => b.attempt - a.attempt || b.createdAtMs - a.createdAtMs),
    containers: containers.toSorted(
      (a, b) => b.restartCount - a.restartCount || b.attempt - a.attempt || b.createdAtMs - a.createdAtMs,
    ),
    observedAtMs,
  };
}

/** Nanoseconds to milliseconds with the fraction: a double preserves the order below a microsecond. */
function nsToMs(ns: bigint): number {
  return ns <= 0n ? 0 : Number(ns / 1_000_000n) + Number(ns % 1_000_000n) / 1_000_000;
}

function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined || !/^-?\d+$/.test(text)) return undefined;
  return Number(text);
}

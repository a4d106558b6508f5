// Computes the phase of a pod from the statuses of its containers. Pure. Upstream: getPhase in pkg/kubelet/kubelet_pods.go.
import type { Container, ContainerStateTerminated, ContainerStatus, Pod } from '../api/k8s/types.ts';
import { isSidecar, restartsAfter } from '../api/pod/restart-policy.ts';
import { isStaticPod } from '../api/ports/pod-source.ts';
import { findContainerStatus } from './find-container-status.ts';
import { wasRestart } from './restart-all.ts';

type Ended = Pick<ContainerStateTerminated, 'exitCode' | 'reason'>;
type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

interface PhaseView {
  readonly pod: Pod;
  /** App, init and sidecar containers. */
  readonly statuses: readonly ContainerStatus[];
  /** No container will start again, regardless of the restart policy. */
  readonly podIsTerminal: boolean;
  /** A regular container exists in the current sandbox, so initialization has completed. */
  readonly hasInitialized: boolean;
  /** The gate ContainerRestartRules. */
  readonly restartRules: boolean;
  /** The gate RestartAllContainersOnContainerExits. */
  readonly restartAll?: boolean | undefined;
}

interface Tally {
  unknown: number;
  running: number;
  waiting: number;
  stopped: number;
  /** Stopped containers that will not restart. */
  stoppedForGood: number;
  succeeded: number;
}

export function computePhase(view: PhaseView): PodPhase {
  const spec = view.pod.spec;
  const initContainers = spec?.initContainers ?? [];
  const policy = { podPolicy: spec?.restartPolicy, rules: view.restartRules, all: view.restartAll };
  const restarts = (container: Container, ended: Ended): boolean =>
    restartsAfter(policy, container, ended.exitCode) || (view.restartAll === true && wasRestart(ended));
  const init = tallyInit(view, restarts);
  const tally: Tally = { unknown: 0, running: 0, waiting: 0, stopped: 0, stoppedForGood: 0, succeeded: 0 };
  let pendingSidecars = 0;
  for (const sidecar of initContainers.filter(isSidecar)) {
    if (countSidecar(tally, findContainerStatus(view.statuses, sidecar.name))) pendingSidecars += 1;
  }
  for (const container of spec?.containers ?? [])
    countApp(tally, findContainerStatus(view.statuses, container.name), (ended) =>
      restarts(container, ended),
    );

  if (init.failed > 0) return 'Failed';
  if (init.pending > 0 || (pendingSidecars > 0 && !view.hasInitialized) || tally.waiting > 0)
    return 'Pending';
  if (tally.unknown > 0) return 'Pending';
  if (tally.running > 0) return 'Running';
  return tally.stopped > 0 ? phaseOfStopped(view, tally) : 'Pending';
}

function phaseOfStopped(view: PhaseView, tally: Tally): PodPhase {
  const ended = tally.stopped === tally.succeeded ? 'Succeeded' : 'Failed';
  if (view.podIsTerminal && !isStaticPod(view.pod)) return ended;
  // A container that is waiting after exit code 0 does not count as succeeded. Upstream reports such a pod as Failed with
  // ContainerRestartRules, and as Running without.
  if (!view.restartRules && view.pod.spec?.restartPolicy === 'OnFailure' && ended === 'Failed')
    return 'Running';
  return tally.stoppedForGood === tally.stopped ? ended : 'Running';
}

/** Counts init containers that are pending or running, and those that failed and will not restart. */
function tallyInit(
  view: PhaseView,
  restarts: (container: Container, ended: Ended) => boolean,
): { pending: number; failed: number } {
  let pending = 0;
  let failed = 0;
  for (const container of (view.pod.spec?.initContainers ?? []).filter((each) => !isSidecar(each))) {
    const status = findContainerStatus(view.statuses, container.name);
    const ended = status?.state?.terminated ?? (status?.state?.waiting && status.lastState?.terminated);
    if (ended === undefined) pending += 1;
    else if (ended.exitCode !== 0 && !restarts(container, ended)) failed += 1;
  }
  return { pending, failed };
}

/** Returns whether initialization still waits for the sidecar. A terminated one counts neither as running nor as stopped. */
function countSidecar(tally: Tally, status: ContainerStatus | undefined): boolean {
  if (status === undefined) {
    tally.unknown += 1;
    return false;
  }
  if (status.state?.running !== undefined) {
    tally.running += 1;
    // Whether its startup probe has passed does not matter here: only a regular container ends initialization.
    return true;
  }
  if (status.state?.terminated !== undefined) return false;
  if (status.state?.waiting === undefined) {
    tally.unknown += 1;
    return true;
  }
  if (status.lastState?.terminated !== undefined) return false;
  tally.waiting += 1;
  return true;
}

function countApp(
  tally: Tally,
  status: ContainerStatus | undefined,
  restarts: (ended: Ended) => boolean,
): void {
  const ended = status?.state?.terminated ?? (status?.state?.waiting && status.lastState?.terminated);
  if (status?.state?.running !== undefined) tally.running += 1;
  else if (ended !== undefined) {
    tally.stopped += 1;
    if (!restarts(ended)) tally.stoppedForGood += 1;
    if (status?.state?.terminated?.exitCode === 0) tally.succeeded += 1;
  } else if (status?.state?.waiting === undefined) tally.unknown += 1;
  else tally.waiting += 1;
}

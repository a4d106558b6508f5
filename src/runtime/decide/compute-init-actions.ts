// Decides about a pod's init containers: which one runs next, which sidecars are restarted, whether the pod is initialized.
// Pure. Upstream: computeInitContainerActions in kuberuntime_container.go.
// Invariants: only containers of the newest sandbox count, because a new sandbox runs all of them again; a plain init container
// never runs again once a later one was created or a regular container of this sandbox has run.
import type { Container, Pod } from '../../api/k8s/types.ts';
import {
  latestContainer,
  neverRan,
  type ObservedContainer,
  type ObservedPod,
} from '../../api/pod/observed.ts';
import { isSidecar, restartsAfterKill } from '../../api/pod/restart-policy.ts';
import { computeResize, type ResizeDecision } from './compute-resize.ts';
import {
  containerChanged,
  finishAction,
  restartView,
  shouldStart,
  startAction,
  stopForResize,
} from './container-actions.ts';
import type { DecideOptions, StartAction, StopCause, StopContainer } from './pod-action.ts';

interface InitActions {
  readonly stops: readonly StopContainer[];
  readonly starts: readonly StartAction[];
  /** Resizes of running init containers. */
  readonly resizes: readonly ResizeDecision[];
  /** Whether regular containers may start. */
  readonly initialized: boolean;
  /** An init container failed and must not be restarted, so the pod has failed. */
  readonly failed: boolean;
}

/** The consequences of one init container's state. */
interface InitDecision {
  readonly start?: boolean;
  /** The container runs, but its postStart hook is not finished. */
  readonly finish?: StartAction;
  readonly stop?: StopContainer;
  readonly resize?: ResizeDecision;
  /** The next init container may start. */
  readonly passed?: boolean;
  readonly failed?: boolean;
}

export function computeInitActions(
  pod: Pod,
  seen: ObservedPod | undefined,
  options: DecideOptions,
): InitActions {
  const containers = pod.spec?.initContainers ?? [];
  const stops: StopContainer[] = [];
  const resizes: ResizeDecision[] = [];
  const starts: StartAction[] = [];
  const start = (index: number): void =>
    void starts.push(startAction('init', containers[index] as Container, seen));
  const apps = appsInSandbox(pod, seen);
  let initialized = containers.length === 0 || apps.some(isUp);
  // Backwards: a later container that was created shows that all earlier ones have completed, even if they were removed.
  let laterCreated = initialized;
  for (let index = containers.length - 1; index >= 0; index--) {
    const container = containers[index] as Container;
    const decision = decide(pod, container, inSandbox(seen, container.name), apps.length > 0, options);
    if (decision === undefined) {
      if (laterCreated && isSidecar(container)) start(index);
      continue;
    }
    if (laterCreated && !isSidecar(container)) continue;
    if (decision.failed === true)
      return { stops: [], starts: [], resizes: [], initialized: false, failed: true };
    if (decision.passed === true) {
      if (index === containers.length - 1) initialized = true;
      else if (!laterCreated) start(index + 1);
    }
    if (decision.stop !== undefined) stops.push(decision.stop);
    if (decision.resize !== undefined) resizes.push(decision.resize);
    if (decision.start === true) start(index);
    if (decision.finish !== undefined) starts.push(decision.finish);
    laterCreated = true;
  }
  if (!laterCreated) start(0);
  return {
    stops: stops.reverse(),
    starts: starts.reverse(),
    resizes: resizes.reverse(),
    initialized,
    failed: false,
  };
}

function inSandbox(seen: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  const current = latestContainer(seen, name);
  return current?.sandboxId === seen?.sandboxes[0]?.id ? current : undefined;
}

/** Regular containers of the newest sandbox. */
function appsInSandbox(pod: Pod, seen: ObservedPod | undefined): readonly ObservedContainer[] {
  return (pod.spec?.containers ?? []).flatMap(({ name }) => inSandbox(seen, name) ?? []);
}

function isUp({ state }: ObservedContainer): boolean {
  return state === 'created' || state === 'running';
}

/** Undefined: the container does not exist, and nothing shows that it existed. */
function decide(
  pod: Pod,
  container: Container,
  current: ObservedContainer | undefined,
  appsCreated: boolean,
  options: DecideOptions,
): InitDecision | undefined {
  const sidecar = isSidecar(container);
  if (current === undefined) {
    // differs from upstream: a plain init container that was removed by another client is not run again after a regular
    // container of the same sandbox has run and exited.
    return appsCreated && !sidecar ? { passed: true } : undefined;
  }
  if (neverRan(current)) return { start: true };
  if (current.state === 'running') {
    if (sidecar) return decideSidecar(pod, container, current, options);
    const resize = computeResize(pod, container, current, options.resize);
    return resize === undefined ? {} : { resize };
  }
  if (current.state === 'exited') {
    if (sidecar) return { start: true };
    if (!hasFailed(current)) return { passed: true };
    const again = current.exitCode === 0 ? restarts(pod, container, options) : undefined;
    return (again ?? shouldStart(pod, container, current, options)) ? { start: true } : { failed: true };
  }
  if (!sidecar && !restarts(pod, container, options)) return { failed: true };
  const why = 'Init container is in "unknown" state, try killing it before restart';
  return { start: true, stop: stopInit(container, current, why, 'other') };
}

function restarts(pod: Pod, container: Container, options: DecideOptions): boolean {
  return restartsAfterKill(restartView(pod, options), container);
}

/** An OOM-killed container has failed, whatever the exit code of its main process. */
function hasFailed({ exitCode, reason }: ObservedContainer): boolean {
  return exitCode !== 0 || reason === 'OOMKilled';
}

/** A sidecar lets the next container start once it has started, whatever its state afterwards. */
function decideSidecar(
  pod: Pod,
  container: Container,
  current: ObservedContainer,
  options: DecideOptions,
): InitDecision {
  const { probes } = options;
  const { name } = container;
  const restart = (why: string, cause: StopCause): InitDecision => ({
    start: true,
    stop: stopInit(container, current, why, cause),
  });
  const finish = containerChanged(container, current)
    ? undefined
    : finishAction('init', container, current, options);
  if (finish !== undefined) return { finish };
  if (container.startupProbe !== undefined) {
    const startup = probes?.get(current.id, 'startup');
    if (startup === 'failure') return restart(`Init container ${name} failed startup probe`, 'startup');
    if (startup !== 'success') return {};
  }
  if (containerChanged(container, current)) {
    return { passed: true, ...restart(`Init container ${name} definition changed`, 'other') };
  }
  if (container.livenessProbe !== undefined && probes?.get(current.id, 'liveness') === 'failure') {
    return { passed: true, ...restart(`Init container ${name} failed liveness probe`, 'liveness') };
  }
  const resize = computeResize(pod, container, current, options.resize);
  if (resize === undefined) return { passed: true };
  if (!resize.restart) return { passed: true, resize };
  return { passed: true, start: true, stop: stopForResize(container, current), resize };
}

function stopInit(
  { name }: Container,
  { id }: ObservedContainer,
  why: string,
  cause: StopCause,
): StopContainer {
  return { do: 'stop-container', id, name, why, cause };
}

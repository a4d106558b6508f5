// Decides what becomes of a pod's init containers: which one runs next, which sidecars are brought back, whether the pod is
// initialized. Pure. Upstream: computeInitContainerActions in kuberuntime_container.go.
// Invariants: only containers of the newest sandbox count, since a new sandbox begins anew; a plain init container never runs
// again once a later one was made or a regular container of this sandbox has run.
import type { Container, Pod } from '../../api/k8s/types.ts';
import {
  latestContainer,
  neverRan,
  type ObservedContainer,
  type ObservedPod,
} from '../../api/pod/observed.ts';
import { isSidecar, restartsAfterKill } from '../../api/pod/restart-policy.ts';
import { judgeResize, type ResizeVerdict } from './compute-resize.ts';
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
  /** Of sidecars that run. */
  readonly resizes: readonly ResizeVerdict[];
  /** Regular containers may run. */
  readonly initialized: boolean;
  /** One failed and may not be tried again: so has the pod. */
  readonly failed: boolean;
}

/** What one init container's state means. */
interface Verdict {
  readonly begin?: boolean;
  /** It runs, but its start is not complete. */
  readonly finish?: StartAction;
  readonly stop?: StopContainer;
  readonly resize?: ResizeVerdict;
  /** The next one may go. */
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
  const resizes: ResizeVerdict[] = [];
  const starts: StartAction[] = [];
  const begin = (index: number): void =>
    void starts.push(startAction('init', containers[index] as Container, seen));
  const apps = appsInSandbox(pod, seen);
  let initialized = containers.length === 0 || apps.some(isUp);
  // Backwards: a later container that was made shows that all earlier ones are done, even where they were cleared away.
  let laterMade = initialized;
  for (let index = containers.length - 1; index >= 0; index--) {
    const container = containers[index] as Container;
    const verdict = judge(pod, container, inSandbox(seen, container.name), apps.length > 0, options);
    if (verdict === undefined) {
      if (laterMade && isSidecar(container)) begin(index);
      continue;
    }
    if (laterMade && !isSidecar(container)) continue;
    if (verdict.failed === true)
      return { stops: [], starts: [], resizes: [], initialized: false, failed: true };
    if (verdict.passed === true) {
      if (index === containers.length - 1) initialized = true;
      else if (!laterMade) begin(index + 1);
    }
    if (verdict.stop !== undefined) stops.push(verdict.stop);
    if (verdict.resize !== undefined) resizes.push(verdict.resize);
    if (verdict.begin === true) begin(index);
    if (verdict.finish !== undefined) starts.push(verdict.finish);
    laterMade = true;
  }
  if (!laterMade) begin(0);
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

/** Regular containers that were made in the newest sandbox. */
function appsInSandbox(pod: Pod, seen: ObservedPod | undefined): readonly ObservedContainer[] {
  return (pod.spec?.containers ?? []).flatMap(({ name }) => inSandbox(seen, name) ?? []);
}

function isUp({ state }: ObservedContainer): boolean {
  return state === 'created' || state === 'running';
}

/** Undefined: there is none, and nothing shows that there was. */
function judge(
  pod: Pod,
  container: Container,
  current: ObservedContainer | undefined,
  appsMade: boolean,
  options: DecideOptions,
): Verdict | undefined {
  const sidecar = isSidecar(container);
  if (current === undefined) {
    // differs from upstream: a plain init container that was removed from outside is not run a second time after a regular
    // container of the same sandbox has run and ended.
    return appsMade && !sidecar ? { passed: true } : undefined;
  }
  if (neverRan(current)) return { begin: true };
  if (current.state === 'running') return sidecar ? judgeSidecar(container, current, options) : {};
  if (current.state === 'exited') {
    if (sidecar) return { begin: true };
    if (!hasFailed(current)) return { passed: true };
    const again = current.exitCode === 0 ? restarts(pod, container, options) : undefined;
    return (again ?? shouldStart(pod, container, current, options)) ? { begin: true } : { failed: true };
  }
  if (!sidecar && !restarts(pod, container, options)) return { failed: true };
  const why = 'Init container is in "unknown" state, try killing it before restart';
  return { begin: true, stop: stopInit(container, current, why, 'other') };
}

function restarts(pod: Pod, container: Container, options: DecideOptions): boolean {
  return restartsAfterKill(restartView(pod, options), container);
}

/** A container that ran out of memory has failed, whatever its first process said. */
function hasFailed({ exitCode, reason }: ObservedContainer): boolean {
  return exitCode !== 0 || reason === 'OOMKilled';
}

/** It lets the next one go once it has started, however well it does afterwards. */
function judgeSidecar(container: Container, current: ObservedContainer, options: DecideOptions): Verdict {
  const { probes } = options;
  const { name } = container;
  const again = (why: string, cause: StopCause): Verdict => ({
    begin: true,
    stop: stopInit(container, current, why, cause),
  });
  const finish = containerChanged(container, current)
    ? undefined
    : finishAction('init', container, current, options);
  if (finish !== undefined) return { finish };
  if (container.startupProbe !== undefined) {
    const startup = probes?.get(current.id, 'startup');
    if (startup === 'failure') return again(`Init container ${name} failed startup probe`, 'startup');
    if (startup !== 'success') return {};
  }
  if (containerChanged(container, current)) {
    return { passed: true, ...again(`Init container ${name} definition changed`, 'other') };
  }
  if (container.livenessProbe !== undefined && probes?.get(current.id, 'liveness') === 'failure') {
    return { passed: true, ...again(`Init container ${name} failed liveness probe`, 'liveness') };
  }
  const resize = judgeResize(container, current, options.resize);
  if (resize === undefined) return { passed: true };
  if (!resize.restart) return { passed: true, resize };
  return { passed: true, begin: true, stop: stopForResize(container, current), resize };
}

function stopInit(
  { name }: Container,
  { id }: ObservedContainer,
  why: string,
  cause: StopCause,
): StopContainer {
  return { do: 'stop-container', id, name, why, cause };
}

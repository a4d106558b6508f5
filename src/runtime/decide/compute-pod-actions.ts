// Decides the actions that bring the runtime to the pod's spec. Pure: no clock, no I/O, no log.
// Upstream: kuberuntime_manager.go computePodActions and util.PodSandboxChanged.
// Invariants: a restart of all containers comes before everything else; the list is in the order of execution: stops of the pod or of containers, the sandbox, resizes of running containers,
// then starts of ephemeral, init and regular containers.
import type { Container, Pod } from '../../api/k8s/types.ts';
import {
  latestContainer,
  neverRan,
  type ObservedContainer,
  type ObservedPod,
} from '../../api/pod/observed.ts';
import type { SandboxId } from '../../api/pod/pod-ref.ts';
import { isSidecar, restartsAfterKill } from '../../api/pod/restart-policy.ts';
import { computeInitActions } from './compute-init-actions.ts';
import { computeReset } from './compute-resets.ts';
import { computeResize, type ResizeDecision, resizeAction } from './compute-resize.ts';
import {
  containerChanged,
  finishAction,
  restartView,
  shouldStart,
  startAction,
  startNew,
  stopForResize,
} from './container-actions.ts';
import type { DecideOptions, PodAction, StartAction, StopCause, StopContainer } from './pod-action.ts';

interface SandboxChange {
  readonly recreate: boolean;
  readonly attempt: number;
  readonly id: SandboxId | undefined;
  readonly why: string;
}

const allEnded = 'all containers have terminated and none will be restarted';
const initFailed = 'an init container failed and will not be restarted';

export function computePodActions(
  pod: Pod,
  seen: ObservedPod | undefined,
  options: DecideOptions = {},
): readonly PodAction[] {
  const reset = computeReset(pod, seen, options);
  if (reset !== undefined) return [reset];
  const sandbox = computeSandboxChange(pod, seen);
  return sandbox.recreate
    ? actionsForNewSandbox(pod, seen, sandbox, options)
    : actionsInSandbox(pod, seen, options);
}

/** Whether the pod needs another sandbox, and which attempt that would be. */
function computeSandboxChange(pod: Pod, seen: ObservedPod | undefined): SandboxChange {
  const latest = seen?.sandboxes[0];
  if (latest === undefined) return { recreate: true, attempt: 0, id: undefined, why: 'no sandbox yet' };
  const recreate = (why: string): SandboxChange => ({
    recreate: true,
    attempt: latest.attempt + 1,
    id: latest.id,
    why,
  });
  const readyCount = seen?.sandboxes.filter((each) => each.ready).length ?? 0;
  if (readyCount > 1) return recreate('more than one sandbox is ready');
  if (!latest.ready) return recreate('the sandbox is not ready');
  const hostNetwork = pod.spec?.hostNetwork === true;
  if (latest.hostNetwork !== hostNetwork) return recreate('the network namespace changed');
  if (!hostNetwork && latest.ips.length === 0) return recreate('the sandbox has no address');
  return { recreate: false, attempt: latest.attempt, id: latest.id, why: '' };
}

function actionsForNewSandbox(
  pod: Pod,
  seen: ObservedPod | undefined,
  sandbox: SandboxChange,
  options: DecideOptions,
): readonly PodAction[] {
  const containers = pod.spec?.containers ?? [];
  const inits = pod.spec?.initContainers ?? [];
  const stop: readonly PodAction[] =
    seen === undefined ? [] : [{ do: 'stop-pod', why: `Pod sandbox changed: ${sandbox.why}` }];
  // A container that was only created, or whose start was interrupted, has not run.
  const ran = (seen?.containers ?? []).filter((each) => !neverRan(each));
  // A pod that must not run again is only stopped, unless none of its containers ever ran.
  if (pod.spec?.restartPolicy === 'Never' && sandbox.attempt > 0 && ran.length > 0) return stop;
  const wanted = containers.filter((each) => !(runsOnce(pod, each, options) && succeeded(each, seen)));
  const appRan = ran.some(({ name }) => containers.some((each) => each.name === name));
  if (wanted.length === 0 && appRan) return stop;
  const first = inits[0];
  const stale = (seen?.containers ?? []).filter(({ name }) => inits.some((each) => each.name === name));
  return [
    ...stop,
    ...(stale.length === 0 ? [] : [{ do: 'remove-containers', ids: stale.map(({ id }) => id) } as const]),
    { do: 'create-sandbox', attempt: sandbox.attempt, changed: sandbox.id !== undefined },
    ...(first === undefined
      ? wanted.map((each) => startNew('app', each, latestContainer(seen, each.name)))
      : [startNew('init', first, latestContainer(seen, first.name))]),
  ];
}

function actionsInSandbox(
  pod: Pod,
  seen: ObservedPod | undefined,
  options: DecideOptions,
): readonly PodAction[] {
  const init = computeInitActions(pod, seen, options);
  if (init.failed) return [{ do: 'stop-pod', why: initFailed }];
  const first = [...ephemeralStarts(pod, seen), ...init.starts];
  // differs from upstream: before every start, so that a sidecar that is recreated with more resources fits into the pod's cgroup.
  if (!init.initialized)
    return [...init.stops, ...asList(resizeAction(pod, init.resizes, first, options.resize)), ...first];
  const stops: StopContainer[] = [];
  const starts: StartAction[] = [];
  const resizes: ResizeDecision[] = [...init.resizes];
  let kept = 0;
  for (const container of pod.spec?.containers ?? []) {
    const current = latestContainer(seen, container.name);
    const stop = current === undefined ? undefined : computeStop(pod, container, current, options);
    if (stop !== undefined) stops.push(stop);
    if (current?.state === 'running') {
      const resize = stop === undefined ? computeResize(pod, container, current, options.resize) : undefined;
      if (resize !== undefined) resizes.push(resize);
      if (resize?.restart === true) {
        stops.push(stopForResize(container, current));
        starts.push(startAction('app', container, seen));
      } else if (stop === undefined) {
        kept += 1;
        const finish = finishAction('app', container, current, options);
        if (finish !== undefined) starts.push(finish);
      } else if (willRestart(pod, container, current, options))
        starts.push(startAction('app', container, seen));
    } else if (shouldStart(pod, container, current, options)) {
      starts.push(startAction('app', container, seen));
    }
  }
  // Sidecars do not keep a pod alive.
  if (kept === 0 && starts.length === 0) return [{ do: 'stop-pod', why: allEnded }];
  const resize = resizeAction(pod, resizes, [...first, ...starts], options.resize);
  return [...init.stops, ...stops, ...asList(resize), ...first, ...starts];
}

function asList(action: PodAction | undefined): readonly PodAction[] {
  return action === undefined ? [] : [action];
}

/** Ephemeral containers may be added during initialization, and are never restarted. */
function ephemeralStarts(pod: Pod, seen: ObservedPod | undefined): readonly StartAction[] {
  return (pod.spec?.ephemeralContainers ?? []).flatMap((container) => {
    const current = latestContainer(seen, container.name);
    return current === undefined || neverRan(current) ? startAction('ephemeral', container, seen) : [];
  });
}

/** Stops a regular container of a pod that continues to run. */
function computeStop(
  pod: Pod,
  container: Container,
  current: ObservedContainer,
  options: DecideOptions,
): StopContainer | undefined {
  const { name } = container;
  const stop = (why: string, cause: StopCause): StopContainer => ({
    do: 'stop-container',
    id: current.id,
    name,
    why:
      current.state === 'running' && willRestart(pod, container, current, options)
        ? `${why}, will be restarted`
        : why,
    cause,
  });
  if (current.state === 'unknown' && shouldStart(pod, container, current, options)) {
    return stop('Container is in "unknown" state, try killing it before restart', 'other');
  }
  if (current.state !== 'running') return undefined;
  if (containerChanged(container, current)) return stop(`Container ${name} definition changed`, 'other');
  if (options.probes?.get(current.id, 'liveness') === 'failure') {
    return stop(`Container ${name} failed liveness probe`, 'liveness');
  }
  if (options.probes?.get(current.id, 'startup') === 'failure') {
    return stop(`Container ${name} failed startup probe`, 'startup');
  }
  return undefined;
}

/** A changed container is recreated whatever its restart policy. */
function willRestart(
  pod: Pod,
  container: Container,
  current: ObservedContainer,
  options: DecideOptions,
): boolean {
  return containerChanged(container, current) || restartsAfterKill(restartView(pod, options), container);
}

function runsOnce(pod: Pod, container: Container, { restartRules = false }: DecideOptions): boolean {
  const policy = restartRules
    ? (container.restartPolicy ?? pod.spec?.restartPolicy)
    : pod.spec?.restartPolicy;
  return policy === 'OnFailure';
}

function succeeded(container: Container, seen: ObservedPod | undefined): boolean {
  const current = latestContainer(seen, container.name);
  return current?.state === 'exited' && current.exitCode === 0;
}

/**
 * Whether the pod is terminal: every regular container has exited and none will be restarted, or an init container failed that
 * must not be restarted. A running sidecar is stopped first, as part of the pod's last sync.
 */
export function isPodTerminal(pod: Pod, seen: ObservedPod | undefined, options: DecideOptions = {}): boolean {
  const init = computeInitActions(pod, seen, options);
  if (init.failed) return true;
  const sidecarUp = (pod.spec?.initContainers ?? []).some(
    (container) => isSidecar(container) && latestContainer(seen, container.name)?.state === 'running',
  );
  if (sidecarUp) return false;
  return (pod.spec?.containers ?? []).every((container) => {
    const current = latestContainer(seen, container.name);
    return current?.state === 'exited' && !shouldStart(pod, container, current, options);
  });
}

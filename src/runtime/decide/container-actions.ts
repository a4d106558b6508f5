// Decisions about one container that the decisions about a pod are built from. Pure.
// Upstream: pkg/kubelet/container/helpers.go (ShouldContainerBeRestarted), containerChanged in kuberuntime_manager.go.

import type { Container, EphemeralContainer, Pod } from '../../api/k8s/types.ts';
import { containerHashText } from '../../api/pod/container-hash.ts';
import {
  latestContainer,
  neverRan,
  type ObservedContainer,
  type ObservedPod,
  startWasInterrupted,
} from '../../api/pod/observed.ts';
import { type RestartView, restartsAfter } from '../../api/pod/restart-policy.ts';
import type { ContainerKind, DecideOptions, StartAction, StopContainer } from './pod-action.ts';

type Named = Pick<Container | EphemeralContainer, 'name' | 'image'>;

/**
 * Whether a container that does not run has to be started. Unknown and never started ones always have to be; exited ones
 * according to the restart policies.
 */
export function shouldStart(
  pod: Pod,
  container: Container,
  current: ObservedContainer | undefined,
  options: DecideOptions,
): boolean {
  if (pod.metadata?.deletionTimestamp !== undefined) return false;
  if (current === undefined) return true;
  if (current.state === 'running') return false;
  if (current.state === 'unknown' || current.state === 'created') return true;
  // differs from upstream: an interrupted start is repeated whatever the policy, because nothing has run yet.
  if (startWasInterrupted(current)) return true;
  return restartsAfter(restartView(pod, options), container, current.exitCode);
}

// differs from upstream: a container that was created in the current sandbox but not started is started, not created a second
// time with a higher restart count. A kubelet killed between the two calls then leaves no trace.
export function startAction(
  kind: ContainerKind,
  container: Named,
  seen: ObservedPod | undefined,
): StartAction {
  const { name } = container;
  const current = latestContainer(seen, name);
  const usable =
    current?.state === 'created' &&
    current.sandboxId === seen?.sandboxes[0]?.id &&
    !containerChanged(container, current);
  return usable ? { do: 'start-created', name, kind, id: current.id } : startNew(kind, container, current);
}

export function startNew(
  kind: ContainerKind,
  { name }: Named,
  current: ObservedContainer | undefined,
): StartAction {
  return current !== undefined && neverRan(current)
    ? { do: 'start-container', name, kind, replaces: current.id }
    : { do: 'start-container', name, kind };
}

/** Undefined: the container does not run, or its postStart hook is finished. */
export function finishAction(
  kind: ContainerKind,
  { name }: Named,
  { id, state }: ObservedContainer,
  { unfinishedHooks }: DecideOptions,
): StartAction | undefined {
  if (state !== 'running' || unfinishedHooks?.has(id) !== true) return undefined;
  return { do: 'finish-start', name, kind, id };
}

export function containerChanged(container: Named, current: ObservedContainer): boolean {
  return current.hash !== containerHashText(container);
}

/** The container is recreated with its allocated resources, whatever its restart policy. */
export function stopForResize({ name }: Named, { id }: ObservedContainer): StopContainer {
  return { do: 'stop-container', id, name, why: `Container ${name} resize requires restart`, cause: 'other' };
}

export function restartView(pod: Pod, { restartAll, restartRules = false }: DecideOptions): RestartView {
  return { podPolicy: pod.spec?.restartPolicy, rules: restartRules, all: restartAll };
}

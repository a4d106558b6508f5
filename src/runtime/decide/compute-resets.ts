// Decides which containers are removed because an exit restarts all containers of the pod (action RestartAllContainers). Pure.
// Invariant: the containers whose exit triggered it are removed last, so that a kubelet that is killed in between finds the
// trigger and continues. Upstream: getContainersToReset in kuberuntime_manager.go, which relies on the condition in the API.
import type { Container, Pod } from '../../api/k8s/types.ts';
import {
  latestContainer,
  type ObservedContainer,
  type ObservedPod,
  startWasInterrupted,
} from '../../api/pod/observed.ts';
import { restartsAllAfter } from '../../api/pod/restart-policy.ts';
import type { DecideOptions, ResetContainers } from './pod-action.ts';

/** Undefined: no exit restarts all containers. Ephemeral containers keep running. */
export function computeReset(
  pod: Pod,
  seen: ObservedPod | undefined,
  { restartAll = false, restartRules = false }: DecideOptions,
): ResetContainers | undefined {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const isTrigger = (spec: Container, observed: ObservedContainer | undefined): boolean =>
    observed?.state === 'exited' &&
    !startWasInterrupted(observed) &&
    restartsAllAfter(spec, observed.exitCode);
  const isTriggered = [...initContainers, ...containers].some((spec) =>
    isTrigger(spec, latestContainer(seen, spec.name)),
  );
  if (!restartAll || !restartRules || !isTriggered) return undefined;
  const ofRole = (specs: readonly Container[], triggers: boolean): readonly ObservedContainer[] =>
    specs.flatMap((spec) =>
      (seen?.containers ?? []).filter(
        (each) => each.name === spec.name && isTrigger(spec, each) === triggers,
      ),
    );
  const stages = [
    ofRole(containers, false),
    ofRole(initContainers, false),
    [...ofRole(containers, true), ...ofRole(initContainers, true)],
  ];
  return {
    do: 'reset-containers',
    stages: stages.filter((stage) => stage.length > 0).map((stage) => stage.map(({ id }) => id)),
  };
}

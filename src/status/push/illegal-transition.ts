// Detects a status in which a container runs or waits again although its restart policy forbids a restart. Such a status is
// wrong and is not published. Pure. Upstream: checkContainerStateTransition in pkg/kubelet/status/status_manager.go.
import type { ContainerStatus, Pod, PodStatus } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { isSidecar, mayRestartAll, type RestartView, restartsAfter } from '../../api/pod/restart-policy.ts';
import { findContainerStatus } from '../find-container-status.ts';
import type { StatusGates } from '../status-gates.ts';

/** The name of the offending container, or undefined if every transition is legal. */
export function illegalTransition(
  pod: Pod,
  before: PodStatus,
  after: PodStatus,
  gates: Pick<StatusGates, 'ContainerRestartRules' | 'RestartAllContainersOnContainerExits'>,
): string | undefined {
  const { ContainerRestartRules: rules, RestartAllContainersOnContainerExits: all } = gates;
  if (all && mayRestartAll(pod)) return undefined;
  const view: RestartView = { podPolicy: pod.spec?.restartPolicy, rules, all };
  const specs = initAndRegularContainers(pod);
  const revived = (old: readonly ContainerStatus[], now: readonly ContainerStatus[]): string | undefined =>
    old.find(({ name, state }) => {
      if (state?.terminated === undefined) return false;
      const spec = specs.find((container) => container.name === name) ?? {};
      if (restartsAfter(view, spec, state.terminated.exitCode)) return false;
      const status = findContainerStatus(now, name);
      return status !== undefined && status.state?.terminated === undefined;
    })?.name;
  const sidecars = new Set((pod.spec?.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const plainInit = (before.initContainerStatuses ?? []).filter(({ name }) => !sidecars.has(name));
  return (
    revived(before.containerStatuses ?? [], after.containerStatuses ?? []) ??
    revived(plainInit, after.initContainerStatuses ?? [])
  );
}

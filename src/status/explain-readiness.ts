// Explains why a pod whose containers were started as specified is not ready. Pure. Upstream has no counterpart: there a user compares
// the statuses of containers with their probes.
import type { Container, ContainerStatus, Pod, PodStatus } from '../api/k8s/types.ts';
import { isSidecar } from '../api/pod/restart-policy.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';

/** Undefined: the pod is ready, over, or its status does not contain why it is not ready. */
export function explainReadiness(pod: Pod, status: PodStatus | undefined): PodActivity | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (status?.phase !== 'Pending' && status?.phase !== 'Running') return undefined;
  if (ready === undefined || ready.status === 'True') return undefined;
  const inits = pairs(pod.spec?.initContainers, status.initContainerStatuses);
  const regular = pairs(pod.spec?.containers, status.containerStatuses);
  const parts = [
    ...inits.flatMap(([spec, each]) => explainInit(spec, each)),
    ...regular.flatMap(([spec, each]) => explainContainer(spec, each)),
  ];
  if (parts.length === 0 && ready.reason === 'ReadinessGatesNotReady' && ready.message !== undefined)
    parts.push(ready.message);
  const sinceMs = Date.parse(ready.lastTransitionTime ?? '');
  return parts.length === 0 || Number.isNaN(sinceMs) ? undefined : { what: parts.join('; '), sinceMs };
}

function pairs(
  specs: readonly Container[] = [],
  statuses: readonly ContainerStatus[] = [],
): readonly (readonly [Container, ContainerStatus])[] {
  return specs.flatMap((spec) => {
    const status = statuses.find(({ name }) => name === spec.name);
    return status === undefined ? [] : [[spec, status] as const];
  });
}

function explainInit(spec: Container, status: ContainerStatus): readonly string[] {
  if (isSidecar(spec)) return explainContainer(spec, status);
  return status.state?.running === undefined ? [] : [`init container ${spec.name} is running`];
}

function explainContainer(spec: Container, { ready, started, state }: ContainerStatus): readonly string[] {
  if (state?.terminated !== undefined)
    return [`container ${spec.name} has ended with exit code ${state.terminated.exitCode}`];
  if (state?.running === undefined || ready) return [];
  if (spec.startupProbe !== undefined && started !== true)
    return [`container ${spec.name}: its startup probe has not succeeded yet`];
  return spec.readinessProbe === undefined
    ? []
    : [`container ${spec.name}: its readiness probe does not succeed`];
}

// The events of a pod's resize. Pure. Upstream: pkg/kubelet/events/resize.go.
import { goJsonString } from '../../api/k8s/go-json.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { encodeRequirements } from './allocation-checkpoint.ts';

interface ResizeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** `generation`: of the spec that requested the resize. */
export function resizeStarted(pod: Pod, generation: number): ResizeEvent {
  return event('Normal', 'ResizeStarted', 'started', summary(pod, generation));
}

export function resizeCompleted(pod: Pod, generation: number): ResizeEvent {
  return event('Normal', 'ResizeCompleted', 'completed', summary(pod, generation));
}

/** `cause`: Infeasible, or the reason of the admission that rejected it for now. */
export function resizePending(pod: Pod, generation: number, cause: string, error: string): ResizeEvent {
  const reason = cause === 'Infeasible' ? 'ResizeInfeasible' : 'ResizeDeferred';
  return event('Warning', reason, cause, summary(pod, generation, error));
}

export function resizeFailed(pod: Pod, generation: number, error: string): ResizeEvent {
  return event('Warning', 'ResizeError', 'error', summary(pod, generation, error));
}

function event(type: ResizeEvent['type'], reason: string, what: string, details: string): ResizeEvent {
  return { type, reason, message: `Pod resize ${what}: ${details}` };
}

function summary({ spec }: Pod, generation: number, error = ''): string {
  const parts = [
    ...listText('initContainers', spec?.initContainers ?? []),
    ...listText('containers', spec?.containers ?? []),
    `"generation":${generation}`,
    ...(error === '' ? [] : [`"error":${goJsonString(error)}`]),
  ];
  return `{${parts.join(',')}}`;
}

function listText(name: string, containers: readonly Container[]): readonly string[] {
  if (containers.length === 0) return [];
  const each = containers.map(
    (container) =>
      `{"name":${goJsonString(container.name)},"resources":${encodeRequirements(container.resources ?? {})}}`,
  );
  return [`${goJsonString(name)}:[${each.join(',')}]`];
}

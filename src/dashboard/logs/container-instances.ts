// The containers of a pod as the log view shows them: their state in words, and the instances whose logs can be read. Pure.
// Upstream: none.
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../api/k8s/types.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import type { ContainerInstance } from './container-tail.ts';

/** As the handler of GET /containerLogs chooses. */
type ChooseInstance = (
  status: PodStatus,
  container: string,
  previous: boolean,
) => { readonly id: string } | { readonly error: string };

export function containerInstances(
  pod: Pod,
  status: PodStatus,
  choose: ChooseInstance,
): readonly ContainerInstance[] {
  const { containerStatuses = [], ephemeralContainerStatuses = [], initContainerStatuses = [] } = status;
  const statuses = new Map<string, ContainerStatus>(
    [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].map((each) => [
      each.name,
      each,
    ]),
  );
  const instance = (name: string, previous: boolean): string | undefined => {
    const chosen = choose(status, name, previous);
    return 'id' in chosen ? chosen.id.slice(chosen.id.indexOf('://') + 3) : undefined;
  };
  return allContainers(pod).map(({ name }) => ({
    name,
    state: stateText(statuses.get(name)?.state),
    current: instance(name, false),
    previous: instance(name, true),
    isFinal: status.phase === 'Succeeded' || status.phase === 'Failed',
  }));
}

function stateText({ running, terminated, waiting }: ContainerState = {}): string {
  if (running !== undefined) return 'running';
  if (terminated === undefined) return withReason('waiting', waiting?.reason);
  return `${withReason('terminated', terminated.reason)}, exit code ${terminated.exitCode}`;
}

function withReason(state: string, reason: string | undefined): string {
  return reason === undefined || reason === '' ? state : `${state}: ${reason}`;
}

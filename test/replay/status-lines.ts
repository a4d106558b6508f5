// A pod status in a few lines, without times, for readable comparisons.
import type { ContainerState, ContainerStatus, PodStatus, ResourceList } from '../../src/api/k8s/types.ts';

/** `nameId` maps a container ID to its name in the recording. */
export function statusLines(status: PodStatus, nameId: (containerId: string) => string): string {
  const { phase, reason, message, conditions = [], podIP } = status;
  const words = [phase, reason, message].filter((word) => word !== undefined).join(' ');
  const containers = [
    ...(status.initContainerStatuses ?? []),
    ...(status.containerStatuses ?? []),
    ...(status.ephemeralContainerStatuses ?? []),
  ];
  return [
    `${words}${podIP === undefined ? '' : ' with an address'}, generation ${status.observedGeneration}`,
    ...conditions.map((each) =>
      [`  ${each.type} ${each.status}`, each.reason, each.message]
        .filter((word) => word !== undefined)
        .join(' '),
    ),
    `  allocated ${text(status.allocatedResources)}, has ${text(status.resources?.requests)} up to ${text(status.resources?.limits)}`,
    ...containers.map((each) => `  ${containerLine(each, nameId)}`),
  ]
    .join('\n')
    .replaceAll(/[0-9a-f]{64}/g, 'ID');
}

/** What upstream reports as the limit of a pod without one, on cgroup v1 (docs/resize.md). */
const unlimited = '9007199254740988Ki';

function text(list: ResourceList = {}): string {
  const amounts = Object.entries(list)
    .filter(([, amount]) => amount !== unlimited)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return amounts.length === 0 ? 'nothing' : amounts.map(([name, amount]) => `${name}=${amount}`).join(' ');
}

function containerLine(status: ContainerStatus, nameId: (containerId: string) => string): string {
  const { name, state, lastState, restartCount, ready, started, containerID } = status;
  const id = (text: string | undefined): string =>
    text === undefined || text === '' ? '-' : nameId(text.replace('containerd://', ''));
  return [
    `${name}:`,
    stateText(state, id),
    `last ${stateText(lastState, id)}`,
    id(containerID),
    `x${restartCount}`,
    ready ? 'ready' : 'unready',
    started === true ? 'started' : 'not started',
  ].join(' | ');
}

function stateText(state: ContainerState | undefined, id: (text: string | undefined) => string): string {
  if (state?.running !== undefined) return 'running';
  if (state?.waiting !== undefined) {
    return ['waiting', state.waiting.reason, state.waiting.message].filter(Boolean).join(' ');
  }
  if (state?.terminated === undefined) return '-';
  const { exitCode, reason, message, containerID } = state.terminated;
  return ['terminated', exitCode, reason, message, id(containerID)]
    .filter((word) => word !== undefined)
    .join(' ');
}

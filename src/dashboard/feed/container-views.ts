// The containers of a pod, as the page shows them. Pure.
import type { Container, ContainerState, ContainerStatus, Pod, PodStatus } from '../../api/k8s/types.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import { endWord } from '../../api/pod/pod-status-word.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import type { ContainerView, PodRow } from '../../api/ports/node-page.ts';
import { boundText } from './event-stream.ts';
import { timeOf } from './pod-row.ts';

type Role = ContainerView['role'];
type Spec = Pick<Container, 'name' | 'image' | 'restartPolicy'>;

const nameLength = 253;
const textLength = 500;
const containerLimit = 500;

export function containerViews(
  pod: Pod,
  status: PodStatus,
  lifecycle: PodLifecycle | undefined,
): readonly ContainerView[] {
  const { containers = [], ephemeralContainers = [], initContainers = [] } = pod.spec ?? {};
  const waiting = lifecycle?.state === 'syncing' ? lifecycle.waiting : {};
  const views = (specs: readonly Spec[], statuses: readonly ContainerStatus[] = [], role: Role) =>
    specs.slice(0, containerLimit).map((spec) =>
      containerView({
        spec,
        status: statuses.find(({ name }) => name === spec.name),
        role: role === 'init' && isSidecar(spec) ? 'sidecar' : role,
        untilMs: waiting[spec.name]?.untilMs,
      }),
    );
  return [
    ...views(initContainers, status.initContainerStatuses, 'init'),
    ...views(containers, status.containerStatuses, 'regular'),
    ...views(ephemeralContainers, status.ephemeralContainerStatuses, 'ephemeral'),
  ];
}

interface ContainerInput {
  readonly spec: Spec;
  /** Undefined: no status was generated yet. */
  readonly status: ContainerStatus | undefined;
  readonly role: Role;
  /** When it is restarted. */
  readonly untilMs: number | undefined;
}

function containerView({ role, spec, status, untilMs }: ContainerInput): ContainerView {
  const state = status?.state ?? {};
  const last = status?.lastState?.terminated;
  return {
    name: boundText(spec.name, nameLength),
    role,
    image: boundText(spec.image ?? '', textLength),
    id: boundText(status?.containerID ?? '', nameLength),
    state: boundText(stateText(state), textLength),
    tone: containerTone(state, role, status?.ready === true),
    sinceMs: timeOf(state.running?.startedAt ?? state.terminated?.finishedAt ?? ''),
    ready: status?.ready === true,
    restarts: status?.restartCount ?? 0,
    ...(untilMs !== undefined && state.running === undefined ? { backoffUntilMs: untilMs } : {}),
    ...(last === undefined ? {} : { lastEnd: boundText(endText(last), textLength) }),
    // As the API server: without the ID of an ended container there are no previous logs.
    hasPrevious: (last?.containerID ?? '') !== '',
  };
}

function stateText({ running, terminated, waiting }: ContainerState): string {
  if (running !== undefined) return 'Running';
  if (terminated !== undefined) return endText(terminated);
  const { message = '', reason = '' } = waiting ?? {};
  const word = reason === '' ? 'Waiting' : reason;
  return message === '' ? word : `${word}: ${message}`;
}

function endText(terminated: NonNullable<ContainerState['terminated']>): string {
  const { exitCode, message = '' } = terminated;
  const text = `${endWord(terminated)}, exit code ${exitCode}`;
  return message === '' ? text : `${text}: ${message}`;
}

const busyReasons: ReadonlySet<string> = new Set(['', 'ContainerCreating', 'PodInitializing']);

function containerTone(
  { running, terminated, waiting }: ContainerState,
  role: Role,
  isReady: boolean,
): PodRow['tone'] {
  if (running !== undefined) return isReady || role === 'ephemeral' ? 'good' : 'busy';
  if (terminated !== undefined) return terminated.exitCode === 0 ? 'done' : 'bad';
  return busyReasons.has(waiting?.reason ?? '') ? 'busy' : 'bad';
}

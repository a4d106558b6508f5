// Converts the recorded statuses into a scenario of src/status/fixtures: each distinct status as the difference from the one before,
// with the observation that explains it.
import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
} from '../../src/api/k8s/types.ts';
import { present } from '../../src/status/api-fields.ts';
import {
  type Expectation,
  recordedDay,
  type Scenario,
  type Step,
} from '../../src/status/fixtures/scenario.ts';
import type { Applied, Recorded } from './recorded.ts';

const tokenPrefix = 'kube-api-access-';
/** Reasons that follow from the observation. Every other reason is the outcome of a sync. */
const observedReasons: ReadonlySet<string> = new Set([
  'ContainerCreating',
  'PodInitializing',
  'RestartingAllContainers',
]);
const noSandbox = 'no pod sandbox exists';

export function convertScenario(recorded: Recorded, { pod }: Applied): Scenario {
  const statuses = distinctStatuses(recorded);
  const [first] = statuses;
  const texts = new Texts();
  const containers = statuses.flatMap(allContainers);
  const token = containers.flatMap(({ volumeMounts = [] }) => volumeMounts).find(isToken)?.name;
  const imageID = containers.find((each) => each.imageID !== '')?.imageID;
  const user = containers.find((each) => each.user !== undefined)?.user?.linux;
  const steps = compactSteps(recorded, statuses, pod, texts);
  return present<Scenario>({
    name: recorded.scenario,
    start: shortTime(first?.startTime),
    qosClass: first?.qosClass ?? '',
    spec: compactSpec(pod),
    token,
    imageID,
    user: user && { uid: user.uid, gid: user.gid, supplementalGroups: user.supplementalGroups ?? [] },
    texts: texts.all(),
    steps,
  });
}

/** From the kubelet's first write on. */
function distinctStatuses({ statuses }: Recorded): readonly PodStatus[] {
  const own = statuses.filter(({ type, status }) => type === 'MODIFIED' && status.startTime !== undefined);
  return own
    .map(({ status }) => status)
    .filter((status, index, all) => index === 0 || JSON.stringify(status) !== JSON.stringify(all[index - 1]));
}

/** Messages are long and repeated: each is stored once. */
class Texts {
  readonly #keys = new Map<string, string>();

  key(text: string): string {
    const known = this.#keys.get(text) ?? `$${this.#keys.size + 1}`;
    this.#keys.set(text, known);
    return known;
  }

  all(): Readonly<Record<string, string>> | undefined {
    if (this.#keys.size === 0) return undefined;
    return Object.fromEntries([...this.#keys].map(([text, key]) => [key, text]));
  }
}

function compactSpec(pod: Pod): unknown {
  const spec: Partial<PodSpec> = pod.spec ?? {};
  return present({
    restartPolicy: spec.restartPolicy ?? 'Always',
    hostNetwork: spec.hostNetwork,
    resources: spec.resources,
    initContainers: spec.initContainers?.map(compactContainer),
    containers: spec.containers?.map(compactContainer),
  });
}

function compactContainer(container: Container): object {
  const { image, name, resources, restartPolicy, restartPolicyRules } = container;
  const requests = { ...resources?.limits, ...resources?.requests };
  return present({
    name,
    image,
    restartPolicy,
    restartPolicyRules,
    startupProbe: container.startupProbe && {},
    readinessProbe: container.readinessProbe && {},
    // As the API server completes them.
    resources: resources && present({ limits: resources.limits, requests }),
    volumeMounts: container.volumeMounts?.map(({ mountPath, mountPropagation, name: volume, readOnly }) =>
      present({ name: volume, mountPath, readOnly, mountPropagation }),
    ),
  });
}

function compactSteps(
  { actions }: Recorded,
  statuses: readonly PodStatus[],
  pod: Pod,
  texts: Texts,
): readonly Step[] {
  // A resize makes a new generation of the pod, as its deletion does.
  const resizes = actions.filter(({ action }) => action.startsWith('resize')).length;
  let before: Expectation = {};
  let time = '';
  return statuses.map((status) => {
    const now = expectation(status, texts);
    const expect = changes(before, now);
    before = now;
    const { now: latestTime, ...seen } = observation(status, pod, texts);
    // The latest time of a status may vanish from it with its condition.
    if (latestTime > time) time = latestTime;
    const isDeleted = (status.observedGeneration ?? 0) > 1 + resizes;
    return { now: time, life: lifeOf(status, isDeleted), ...seen, expect };
  });
}

function expectation(
  status: PodStatus,
  texts: Texts,
): Required<Pick<Expectation, 'conditions'>> & Expectation {
  const { allocatedResources, phase, podIP, reason, message, resources } = status;
  return present({
    phase,
    reason,
    message,
    podIP,
    allocatedResources,
    resources,
    conditions: Object.fromEntries((status.conditions ?? []).map((each) => [each.type, conditionLine(each)])),
    containers: Object.fromEntries(
      allContainers(status).map((each) => [each.name, containerLine(each, texts)]),
    ),
  });
}

/** Only what changed. A field that has vanished is null. */
function changes(before: Expectation, now: Expectation): Expectation {
  const fields = { ...before, ...now };
  const changed = Object.keys(fields)
    .filter((key) => JSON.stringify(before[key as 'phase']) !== JSON.stringify(now[key as 'phase']))
    .map((key) => [key, now[key as 'phase'] ?? null]);
  return {
    ...(Object.fromEntries(changed) as Expectation),
    ...lineChanges('conditions', before.conditions, now.conditions),
    ...lineChanges('containers', before.containers, now.containers),
  };
}

type Lines = Readonly<Record<string, string | null>> | undefined;

function lineChanges(key: 'conditions' | 'containers', before: Lines = {}, now: Lines = {}): Expectation {
  const gone = Object.keys(before).filter((name) => !(name in now));
  const changed = [
    ...Object.entries(now).filter(([name, line]) => before[name] !== line),
    ...gone.map((name) => [name, null] as const),
  ];
  return changed.length === 0 ? { [key]: undefined } : { [key]: Object.fromEntries(changed) };
}

function conditionLine({ lastTransitionTime, message, reason, status }: PodCondition): string {
  const why = message === undefined ? reason : `${reason}: ${message}`;
  return [status, shortTime(lastTransitionTime), why].filter((word) => word !== undefined).join(' ');
}

function containerLine(status: ContainerStatus, texts: Texts): string {
  const { containerID, lastState, ready, restartCount, started, state } = status;
  const flags = [idOf(containerID), `x${restartCount}`, ready && 'ready', started === true && 'started'];
  return [stateLine(state, texts), stateLine(lastState, texts), flags.filter(Boolean).join(' ')].join(' | ');
}

function stateLine({ running, terminated, waiting }: ContainerState = {}, texts: Texts): string {
  if (running !== undefined) return `running ${shortTime(running.startedAt)}`;
  if (waiting !== undefined) {
    const { message, reason } = waiting;
    return ['waiting', reason, message && texts.key(message)].filter(Boolean).join(' ');
  }
  if (terminated === undefined) return '-';
  const { containerID, exitCode, finishedAt, message, reason, startedAt } = terminated;
  const id = idOf(containerID) ?? '-';
  const words = ['terminated', exitCode, reason, shortTime(startedAt), shortTime(finishedAt), id];
  return [...words, ...(message === undefined ? [] : [texts.key(message)])].join(' ');
}

function observation(status: PodStatus, pod: Pod, texts: Texts): Omit<Step, 'expect' | 'life'> {
  const conditions = status.conditions ?? [];
  const sandbox = conditions.find(({ type }) => type === 'PodReadyToStartContainers');
  const resizing = conditions.find(({ type }) => type === 'PodResizeInProgress');
  const isReady = sandbox?.status === 'True';
  const hostNetwork = pod.spec?.hostNetwork === true;
  const containers = allContainers(status).flatMap((each) => observedLines(each, texts));
  // The kubelet reports that the sandbox is ready before it has inspected it: its address follows with the inspection.
  const early = isReady && containers.length === 0 && !hasWaitingReason(status) && status.phase === 'Pending';
  const isEarly = early && (hostNetwork || status.podIP === undefined);
  const exists = sandbox !== undefined && !isEarly && sandbox.message !== noSandbox;
  return present<Omit<Step, 'expect' | 'life'>>({
    now: latest([status.startTime, ...conditions.map((each) => each.lastTransitionTime)]),
    generation: status.observedGeneration ?? 0,
    sandbox: exists ? (isReady ? 'ready' : 'stopped') : 'none',
    sandboxReady: isEarly ? true : undefined,
    ip: isReady && exists && !hostNetwork ? status.podIP : undefined,
    containers: containers.length === 0 ? undefined : containers,
    resizing: resizing?.lastTransitionTime === undefined ? undefined : shortTime(resizing.lastTransitionTime),
    waiting: waitingReasons(status, texts),
    started: probed(status, pod, 'startupProbe', 'started'),
    ready: probed(status, pod, 'readinessProbe', 'ready'),
  });
}

function lifeOf(status: PodStatus, isDeleted: boolean): string {
  const hasSandbox = status.conditions?.some(({ type }) => type === 'PodReadyToStartContainers') === true;
  if (!hasSandbox) return 'rejected';
  const lost = allContainers(status).some(
    ({ state }) => state?.terminated !== undefined && state.terminated.containerID === undefined,
  );
  const isTerminal = status.phase === 'Failed' || status.phase === 'Succeeded';
  if (isTerminal) return lost ? 'terminated' : 'terminating';
  return isDeleted ? 'terminating' : 'syncing';
}

/** The container of the status and the one before, newest first. */
function observedLines(status: ContainerStatus, texts: Texts): readonly string[] {
  const { containerID, lastState, name, restartCount, state } = status;
  const id = idOf(containerID);
  if (id === undefined) return [];
  const earlier = idOf(lastState?.terminated?.containerID);
  const line = (each: ContainerState | undefined, itsId: string, restarts: number): readonly string[] =>
    each?.running === undefined && (each?.terminated === undefined || isRemoved(each))
      ? []
      : [`${name} ${itsId} x${restarts} ${observedState(each, texts)}`];
  if (earlier === id || state?.waiting !== undefined) return line(lastState, earlier ?? id, restartCount);
  return [
    ...line(state, id, restartCount),
    ...(earlier === undefined ? [] : line(lastState, earlier, restartCount - 1)),
  ];
}

/** A container that was removed for a restart of the whole pod has no times. */
function isRemoved({ terminated }: ContainerState): boolean {
  return terminated?.reason === 'RestartingAllContainers' && !terminated.startedAt;
}

function observedState({ running, terminated }: ContainerState, texts: Texts): string {
  if (running !== undefined) return `running ${shortTime(running.startedAt)}`;
  const { exitCode, finishedAt, message, reason, startedAt } = terminated ?? { exitCode: 0 };
  const words = ['exited', exitCode, reason, shortTime(startedAt), shortTime(finishedAt)];
  return [...words, ...(message === undefined ? [] : [texts.key(message)])].join(' ');
}

function waitingReasons(status: PodStatus, texts: Texts): Step['waiting'] {
  const waiting = allContainers(status).flatMap(({ name, state }) => {
    const { message, reason = '' } = state?.waiting ?? {};
    if (reason === '' || observedReasons.has(reason)) return [];
    return [[name, message === undefined ? [reason] : [reason, texts.key(message)]] as const];
  });
  return waiting.length === 0 ? undefined : Object.fromEntries(waiting);
}

function hasWaitingReason(status: PodStatus): boolean {
  return allContainers(status).some(({ state }) => !observedReasons.has(state?.waiting?.reason ?? ''));
}

function probed(
  status: PodStatus,
  { spec }: Pod,
  probe: 'startupProbe' | 'readinessProbe',
  flag: 'started' | 'ready',
): readonly string[] | undefined {
  const specs = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
  const names = specs.filter((each) => each[probe] !== undefined).map(({ name }) => name);
  const positive = allContainers(status).filter((each) => names.includes(each.name) && each[flag] === true);
  return positive.length === 0 ? undefined : positive.map(({ name }) => name);
}

function allContainers(status: PodStatus): readonly ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}

function isToken({ name }: { readonly name: string }): boolean {
  return name.startsWith(tokenPrefix);
}

function idOf(containerID: string | undefined): string | undefined {
  return containerID?.replace('containerd://', '');
}

function latest(times: readonly (string | null | undefined)[]): string {
  return shortTime(
    times
      .filter((time) => typeof time === 'string')
      .toSorted()
      .at(-1),
  );
}

function shortTime(time: string | null | undefined): string {
  if (time === undefined || time === null) return '-';
  return time.startsWith(`${recordedDay}T`) ? time.slice(recordedDay.length + 1, -1) : time;
}

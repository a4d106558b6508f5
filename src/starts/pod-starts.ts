// The stages of every pod's starts, for the node's page: what a start waited for, and what a restart did.
// Owns PodStarts (sole writer: this component, to which the steps report through StartStages). No counterpart upstream.
// Invariants: at most 5 starts per pod, its first one and the newest; at most 64 stages per start, 16 in the start of one container;
// texts have at most 200 bytes; nothing is kept of a pod that is gone; recording never delays a step and sets no timer.
// Costs, measured: 1.7 kB for a pod of one container with a pull and a probe, and 20 µs for all of its stages; 0.6 kB per further
// container or restart; at most about 80 kB, which needs that every stage fails with a long text. A pod that ran before this process
// costs some 300 bytes until one of its containers restarts: its start is made on demand.
// CRI does not separate the network from the sandbox: `sandbox` is the whole of RunPodSandbox.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import { containerType, findContainer } from '../api/pod/find-container.ts';
import { firstSeenMs, latestContainer, type ObservedPod } from '../api/pod/observed.ts';
import type { ContainerId, PodUid } from '../api/pod/pod-ref.ts';
import type { PodStart } from '../api/ports/node-page.ts';
import type { ProbeResultsView } from '../api/ports/probe-results.ts';
import type { OpenStage, StartStages } from '../api/ports/start-stages.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel, type Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, on } from '../base/component.ts';
import type { Store } from '../base/store.ts';
import { observedEnd } from './observed-end.ts';
import { readySince, rebuildStarts, runsToCompletion } from './rebuild-starts.ts';
import { endStage, type RecordedStage, RecordedStart } from './recorded-start.ts';

interface Readable<T> {
  get(uid: PodUid): T | undefined;
  readonly changed: Subscribable<PodUid>;
}

interface PodStartsDeps {
  readonly desired: Readable<{ readonly pod: Pod }>;
  readonly lifecycles: Readable<unknown>;
  readonly observed: Readable<ObservedPod>;
  readonly statuses: Readable<PodStatus>;
  readonly probes: ProbeResultsView;
  readonly clock: Pick<Clock, 'now'>;
}

/** A container in its newest start. */
interface StartedContainer {
  readonly start: RecordedStart;
  /** Once the runtime has started it. */
  id?: ContainerId;
  /** `run` or `first-probe`, which end when their end is observed. */
  observing?: RecordedStage | undefined;
}

interface StartedPod {
  readonly seenAtMs: number;
  /** Oldest first. */
  readonly starts: RecordedStart[];
  /** The start of the newest sandbox; undefined if an earlier process began it. */
  current?: RecordedStart;
  /** The sandbox of `current` was created. */
  hasSandbox: boolean;
  readonly containers: Map<string, StartedContainer>;
}

const maxStarts = 5;
const unrecorded: OpenStage = { end: () => undefined };

export class PodStarts implements Component, Store, StartStages {
  readonly name = 'pod-starts';
  readonly storeName = 'PodStarts';
  readonly writer = 'pod-starts';
  readonly wakes;
  /** Announces a pod after each change of its starts. */
  readonly changed = new Channel<PodUid>();
  readonly #deps: PodStartsDeps;
  readonly #pods = new Map<PodUid, StartedPod>();

  constructor(deps: PodStartsDeps) {
    this.#deps = deps;
    const { desired, lifecycles, observed, probes, statuses } = deps;
    this.wakes = [
      on(desired.changed, (uid) => this.#follow(uid)),
      on(lifecycles.changed, (uid) => this.#follow(uid)),
      on(observed.changed, (uid) => this.#observe(uid)),
      on(probes.changed, (uid) => this.#observe(uid)),
      on(statuses.changed, (uid) => this.#checkReady(uid)),
    ];
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return { stopped: untilAborted(signal) };
  }

  /** The newest first. */
  of(uid: PodUid): readonly PodStart[] {
    this.#observe(uid);
    const state = this.#pods.get(uid);
    const pod = this.#deps.desired.get(uid)?.pod;
    const recorded = (state?.starts ?? []).toReversed();
    const views = recorded.map((start) =>
      start.view(pod !== undefined && start === state?.current && this.#waitsForReady(uid, state, pod)),
    );
    if (pod === undefined || recorded.some(({ restartOf }) => restartOf === undefined)) return views;
    const rebuilt = this.#rebuild(uid, state?.seenAtMs ?? 0, maxStarts);
    // A restart that this process recorded has more stages.
    const known = new Set(recorded.map(({ restartOf }) => restartOf));
    const restarts = rebuilt.filter(({ restartOf }) => restartOf !== undefined && !known.has(restartOf));
    return [...[...views, ...restarts].slice(0, maxStarts - 1), ...rebuilt.slice(-1)];
  }

  begin(
    uid: PodUid,
    stage: Parameters<StartStages['begin']>[1],
    container?: string,
    detail?: string,
  ): OpenStage {
    const state = this.#follow(uid);
    if (state === undefined) return unrecorded;
    const start =
      container === undefined
        ? this.#podStart(uid, state, stage)
        : this.#containerStart(uid, state, stage, container);
    if (start === undefined) return unrecorded;
    const begun = start.begin(stage, this.#deps.clock.now(), container, detail);
    this.changed.push(uid);
    return {
      end: (failure) => {
        if (begun.endMs !== undefined) return;
        endStage(begun, this.#deps.clock.now(), failure);
        if (stage === 'sandbox' && failure === undefined && state.current === start) state.hasSandbox = true;
        this.changed.push(uid);
      },
    };
  }

  started(uid: PodUid, name: string, id: ContainerId): void {
    const container = this.#pods.get(uid)?.containers.get(name);
    const pod = this.#deps.desired.get(uid)?.pod;
    const spec = findContainer(pod, name);
    if (container === undefined || pod === undefined || spec === undefined) return;
    container.id = id;
    const hasProbe = spec.startupProbe !== undefined || spec.readinessProbe !== undefined;
    const stage = runsToCompletion(pod, spec) ? 'run' : hasProbe ? 'first-probe' : undefined;
    if (stage !== undefined) container.observing = container.start.begin(stage, this.#deps.clock.now(), name);
    this.changed.push(uid);
  }

  /** How many pods are followed; for leak checks. */
  get size(): number {
    return this.#pods.size;
  }

  /** Undefined for a pod that is gone. */
  #follow(uid: PodUid): StartedPod | undefined {
    const { clock, desired, lifecycles } = this.#deps;
    const known = this.#pods.get(uid);
    if (desired.get(uid) !== undefined) {
      if (known !== undefined) return known;
      const state = { seenAtMs: clock.now(), starts: [], hasSandbox: false, containers: new Map() };
      this.#pods.set(uid, state);
      return state;
    }
    if (lifecycles.get(uid) !== undefined) return known;
    if (this.#pods.delete(uid)) this.changed.push(uid);
    return undefined;
  }

  #podStart(uid: PodUid, state: StartedPod, stage: string): RecordedStart | undefined {
    if (state.current !== undefined && !state.hasSandbox) return state.current;
    // Images of volumes are pulled in every sync that starts a container.
    if (stage === 'pull') return state.current;
    const hasRun = firstSeenMs(this.#deps.observed.get(uid)) !== undefined;
    // Every process admits every pod, also those that run already.
    if (hasRun && stage === 'admit' && state.current === undefined) return undefined;
    state.containers.clear();
    state.hasSandbox = false;
    const beginMs = hasRun || state.current !== undefined ? this.#deps.clock.now() : state.seenAtMs;
    state.current = this.#keep(state, new RecordedStart({ beginMs }));
    return state.current;
  }

  #containerStart(uid: PodUid, state: StartedPod, stage: string, name: string): RecordedStart | undefined {
    const known = state.containers.get(name);
    const isAfterStart = stage === 'postStart';
    if (known !== undefined && (known.id === undefined || isAfterStart)) return known.start;
    if (isAfterStart) return undefined;
    const start = this.#firstStart(uid, state, name, known) ?? this.#restart(state, name);
    state.containers.set(name, { start });
    return start;
  }

  /** Undefined if the container has been started before. */
  #firstStart(
    uid: PodUid,
    state: StartedPod,
    name: string,
    known: StartedContainer | undefined,
  ): RecordedStart | undefined {
    const pod = this.#deps.desired.get(uid)?.pod;
    // An ephemeral container is added to a pod that runs.
    if (known !== undefined || pod === undefined || containerType(pod, name) === 'ephemeral_container')
      return undefined;
    const { current } = state;
    if (current !== undefined && !current.isResumed) return current;
    const seen = this.#deps.observed.get(uid);
    if ((latestContainer(seen, name)?.startedAtMs ?? 0) > 0) return undefined;
    if (current !== undefined) return current;
    // An earlier process of the kubelet was stopped during the start, which this one completes.
    const begun = this.#rebuild(uid, state.seenAtMs, 1)[0];
    state.hasSandbox = true;
    state.current = this.#keep(
      state,
      new RecordedStart(begun ?? { beginMs: state.seenAtMs, from: 'recorded' }),
    );
    return state.current;
  }

  #rebuild(uid: PodUid, seenAtMs: number, most: number): readonly PodStart[] {
    const { desired, observed, statuses } = this.#deps;
    const pod = desired.get(uid)?.pod;
    if (pod === undefined) return [];
    return rebuildStarts({ pod, seen: observed.get(uid), status: statuses.get(uid), seenAtMs }, most);
  }

  #restart(state: StartedPod, name: string): RecordedStart {
    return this.#keep(state, new RecordedStart({ beginMs: this.#deps.clock.now(), restartOf: name }));
  }

  #keep(state: StartedPod, start: RecordedStart): RecordedStart {
    const { starts } = state;
    starts.push(start);
    const hasFirst = starts[0]?.restartOf === undefined;
    if (starts.length > maxStarts) starts.splice(hasFirst ? 1 : 0, 1);
    return start;
  }

  /** Ends the stages whose end only an observation or the result of a probe shows. */
  #observe(uid: PodUid): void {
    const state = this.#pods.get(uid);
    if (state === undefined) return;
    for (const container of state.containers.values()) {
      if (container.observing === undefined || container.id === undefined) continue;
      const end = this.#observedEnd(uid, container.id, container.observing);
      if (end === undefined) continue;
      endStage(container.observing, end.atMs, end.failure);
      container.observing = undefined;
      this.changed.push(uid);
    }
  }

  #observedEnd(uid: PodUid, id: ContainerId, { stage }: RecordedStage): ReturnType<typeof observedEnd> {
    const { clock, observed, probes } = this.#deps;
    const seen = observed.get(uid)?.containers.find((each) => each.id === id);
    const hasSucceeded = probes.get(id, 'startup') === 'success' || probes.get(id, 'readiness') === 'success';
    return observedEnd(stage, seen, { hasSucceeded, nowMs: clock.now() });
  }

  #checkReady(uid: PodUid): void {
    const { clock, desired, statuses } = this.#deps;
    const state = this.#pods.get(uid);
    const pod = desired.get(uid)?.pod;
    if (state === undefined || pod === undefined || readySince(statuses.get(uid)) === undefined) return;
    const { current } = state;
    const begun = new Set([...state.containers.values()].flatMap(({ id, start }) => (id ? [start] : [])));
    if (current !== undefined && !hasStarted(state, pod)) begun.delete(current);
    for (const start of begun) {
      if (start.isReady || start.isBusy) continue;
      start.becomesReady(clock.now());
      this.changed.push(uid);
    }
  }

  #waitsForReady(uid: PodUid, state: StartedPod, pod: Pod): boolean {
    const { current } = state;
    if (current === undefined || current.isReady || current.isBusy || !hasStarted(state, pod)) return false;
    const seen = this.#deps.observed.get(uid);
    return (pod.spec?.containers ?? []).every(({ name }) => latestContainer(seen, name)?.state === 'running');
  }
}

/** All regular containers were started. */
function hasStarted({ containers }: StartedPod, pod: Pod): boolean {
  return (pod.spec?.containers ?? []).every(({ name }) => containers.get(name)?.id !== undefined);
}

// Records why containers and pods ended. Wakes on observed and terminating pods, notes what is new, and writes one record each in
// the background. Upstream has no counterpart: its events expire, and its statuses are gone with the pod.
// Invariants: a wake-up reads memory only and never throws; at most 10,000 ends wait, those beyond 1,000 without log lines; an end is
// recorded once, also across restarts of the kubelet; a record that cannot be written is dropped and counted.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import { type ObservedContainer, type ObservedPod, startWasInterrupted } from '../api/pod/observed.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { ContainerId, PodUid } from '../api/pod/pod-ref.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { Aborted } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { buildRecord } from './build-record.ts';
import { containerEndId, type Figures, recordLine } from './end-record.ts';
import type { HistoryMetrics } from './history-metrics.ts';
import { lastLines, rawTailBytes } from './last-lines.ts';
import type { NotedEnd } from './noted-end.ts';
import { podEnd } from './pod-end.ts';
import type { RecordedIds } from './recorded-ids.ts';
import type { PastEvent } from './timeline.ts';

interface EndHistoryDeps {
  readonly stores: {
    readonly desired: { get(uid: PodUid): { readonly pod: Pod } | undefined };
    readonly observed: {
      get(uid: PodUid): ObservedPod | undefined;
      all(): ReadonlyMap<PodUid, ObservedPod>;
      readonly changed: Subscribable<PodUid>;
    };
    readonly lifecycles: {
      get(uid: PodUid): PodLifecycle | undefined;
      readonly changed: Subscribable<PodUid>;
    };
    readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  };
  readonly events: { recent(uid: string): readonly PastEvent[] };
  readonly figures: { read(uid: PodUid, signal: AbortSignal): Promise<Figures> };
  readonly tails: {
    readLogTail(
      path: string,
      containerId: string,
      bytes: number,
    ): Promise<{ readonly bytes: Uint8Array; readonly whole: boolean } | undefined>;
  };
  readonly segments: { append(line: string): Promise<void> };
  readonly recorded: Pick<RecordedIds, 'load' | 'has' | 'add'>;
  /** 0: log lines are not recorded. */
  readonly logLines: number;
  readonly metrics: Pick<HistoryMetrics, 'recorded' | 'dropped'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Two, so that the log of the next container is read before a removed pod's log directory is gone. */
const parallelRecords = 2;
const maxWaitingWithLines = 1_000;
const maxWaiting = 10_000;
const maxFiguresAgeMs = 60_000;
const tailDeadlineMs = 5_000;
/** How long a stopping kubelet continues to write what it noted. */
const drainMs = 1_000;

export class EndHistory implements Component {
  readonly name = 'end-history';
  readonly wakes;
  readonly #deps: EndHistoryDeps;
  readonly #queue: KeyedQueue<string>;
  /** Noted and not yet recorded, by ID. */
  readonly #waiting = new Map<string, NotedEnd>();
  /** The exited containers of each pod that were noted before and are still on the runtime. */
  readonly #exited = new Map<PodUid, ReadonlySet<ContainerId>>();
  /** The ID of the kill or rejection that was noted for each pod. */
  readonly #endedPods = new Map<PodUid, string>();
  /** The last spec of each pod, since a removed pod ends after its source has forgotten it. */
  readonly #pods = new Map<PodUid, Pod>();
  #lastWrite: Promise<void> = Promise.resolve();
  #onIdle: () => void = () => undefined;
  #isFailing = false;

  constructor(deps: EndHistoryDeps) {
    const { lifecycles, observed } = deps.stores;
    this.#deps = deps;
    this.wakes = [
      on(observed.changed, (uid) => this.#noteContainers(uid)),
      on(lifecycles.changed, (uid) => this.#notePod(uid)),
    ];
    this.#queue = new KeyedQueue<string>({
      clock: deps.clock,
      parallel: parallelRecords,
      run: (id, signal) => this.#record(id, signal),
      backoff: { initialMs: 1_000, maxMs: 1_000 },
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    for (const uid of this.#deps.stores.observed.all().keys()) this.#noteContainers(uid);
    return Promise.resolve({ stopped: this.#drain(signal) });
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    if (this.#waiting.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = this.#deps.clock.setTimer(drainMs, resolve);
        this.#onIdle = () => {
          timer.cancel();
          resolve();
        };
      });
    }
    this.#queue.abortAll(new Aborted('the kubelet stops'));
    await this.#queue.stop();
  }

  #noteContainers(uid: PodUid): void {
    const seen = this.#deps.stores.observed.get(uid);
    this.#remember(uid, seen);
    const ended = seen?.containers.filter(hasEnded) ?? [];
    const before = this.#exited.get(uid);
    if (ended.length === 0) this.#exited.delete(uid);
    else this.#exited.set(uid, new Set(ended.map(({ id }) => id)));
    // Oldest first: that is the order of the history.
    for (const container of ended.toReversed()) {
      if (before?.has(container.id) === true) continue;
      const sandbox = seen?.sandboxes.find(({ id }) => id === container.sandboxId);
      this.#note(uid, containerEndId(container.id), { is: 'container', container, sandbox });
    }
  }

  #notePod(uid: PodUid): void {
    const { lifecycles, observed } = this.#deps.stores;
    const lifecycle = lifecycles.get(uid);
    this.#remember(uid, observed.get(uid));
    const end = podEnd(uid, lifecycle);
    if (end === undefined) {
      this.#endedPods.delete(uid);
      return;
    }
    if (this.#endedPods.get(uid) === end.id) return;
    this.#endedPods.set(uid, end.id);
    this.#note(uid, end.id, end.subject);
  }

  #remember(uid: PodUid, seen: ObservedPod | undefined): void {
    const { desired, lifecycles } = this.#deps.stores;
    const pod = desired.get(uid)?.pod;
    if (pod !== undefined) this.#pods.set(uid, pod);
    else if (seen === undefined && lifecycles.get(uid) === undefined) this.#pods.delete(uid);
  }

  #note(uid: PodUid, id: string, subject: NotedEnd['subject']): void {
    const { clock, metrics, recorded, stores } = this.#deps;
    if (recorded.has(id) || this.#waiting.has(id)) return;
    if (this.#waiting.size >= maxWaiting) {
      metrics.dropped('record');
      return;
    }
    const pod = this.#pods.get(uid);
    const seen = stores.observed.get(uid);
    this.#waiting.set(id, {
      id,
      atMs: clock.now(),
      uid,
      namespace: seen?.namespace ?? pod?.metadata?.namespace ?? '',
      name: seen?.name ?? pod?.metadata?.name ?? '',
      pod,
      lifecycle: stores.lifecycles.get(uid),
      status: stores.statuses.get(uid),
      subject,
      withLines: this.#waiting.size < maxWaitingWithLines,
    });
    this.#queue.add(id);
  }

  async #record(id: string, signal: AbortSignal): Promise<void> {
    const end = this.#waiting.get(id);
    if (end === undefined) return;
    try {
      await this.#write(end, signal);
      this.#isFailing = false;
    } catch (err) {
      this.#deps.metrics.dropped('record');
      // A full disk fails every record alike.
      if (!this.#isFailing) {
        const pod = `${end.namespace}/${end.name}`;
        this.#deps.log.warn('Failed to record the end of a container or pod', { pod, podUID: end.uid, err });
      }
      this.#isFailing = true;
    } finally {
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#onIdle();
    }
  }

  async #write(end: NotedEnd, signal: AbortSignal): Promise<void> {
    // After a restart all exited containers are noted again: their logs are not read.
    if (this.#deps.recorded.has(end.id)) return;
    // The log first, beside other records: it is gone soon if the pod is being removed. Records are written in order.
    const reading = this.#lastLines(end, signal);
    const writing = this.#lastWrite.then(async () => this.#append(end, await reading, signal));
    this.#lastWrite = writing.catch(() => undefined);
    await writing;
  }

  async #append(end: NotedEnd, lines: readonly string[] | undefined, signal: AbortSignal): Promise<void> {
    const { events, figures, metrics, recorded, segments } = this.#deps;
    await recorded.load();
    if (recorded.has(end.id)) return;
    const record = buildRecord(end, {
      events: events.recent(end.uid),
      figures: wasNotedLate(end) ? {} : await figures.read(end.uid, signal),
      lastLines: lines,
    });
    await segments.append(recordLine(record));
    recorded.add(end.id);
    metrics.recorded(record.kind);
  }

  async #lastLines(
    { subject, withLines }: NotedEnd,
    signal: AbortSignal,
  ): Promise<readonly string[] | undefined> {
    const { clock, logLines, metrics, tails } = this.#deps;
    if (subject.is !== 'container' || logLines === 0) return undefined;
    const { id, logPath } = subject.container;
    if (logPath === '') return undefined;
    if (!withLines) {
      metrics.dropped('lines');
      return undefined;
    }
    try {
      const tail = await withDeadline({ clock, ms: tailDeadlineMs, signal, what: 'read log' }, () =>
        tails.readLogTail(logPath, id, rawTailBytes),
      );
      return tail && lastLines(tail, logLines);
    } catch {
      // Removed, replaced by a link, or on a hung file system: the record is written without it.
      return undefined;
    }
  }
}

/** The figures of now say nothing about an end that happened before the kubelet started. */
function wasNotedLate({ atMs, subject }: NotedEnd): boolean {
  return subject.is === 'container' && atMs - subject.container.finishedAtMs > maxFiguresAgeMs;
}

/** A container whose start was interrupted never ran: its exit is not an end of the workload. */
function hasEnded(container: ObservedContainer): boolean {
  return container.state === 'exited' && !startWasInterrupted(container);
}

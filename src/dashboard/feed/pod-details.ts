// The detail of one pod that a viewer has open. Invariants: it is computed at most twice a second, and only after one of its sources
// changed; the history is read only when a container may have ended.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { EndView, PodRow, PodStart, ProbeStrip } from '../../api/ports/node-page.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { Coalescer } from './coalescer.ts';
import { containerViews } from './container-views.ts';
import { encodeJson } from './event-stream.ts';
import { type EncodedObjects, encodeDetail, endViews, eventViews, type PodEvent } from './pod-detail.ts';
import { volumeViews } from './volume-views.ts';

/** The starts of pods, newest first. */
export interface StartRecords {
  of(uid: PodUid): readonly PodStart[];
  readonly changed: Subscribable<PodUid>;
}

/** The results of probes. */
export interface ProbeRecords {
  of(uid: PodUid): readonly ProbeStrip[];
}

export interface DetailSources {
  readonly mounts: {
    ofPod(uid: PodUid): readonly { readonly spec: { readonly name: string } }[];
    readonly changed: Subscribable<PodUid>;
  };
  readonly volumes: { activities(uid: PodUid): readonly { readonly what: string }[] };
  readonly events: { recent(uid: string): readonly PodEvent[] };
  /** Undefined without a history. */
  readonly history:
    | {
        read(
          query: { readonly uid: string; readonly limit: number },
          signal: AbortSignal,
        ): Promise<{ readonly lines: readonly string[] }>;
      }
    | undefined;
  readonly starts: StartRecords;
  readonly probes: ProbeRecords;
}

interface PodDetailDeps {
  readonly uid: PodUid;
  readonly rows: { row(uid: PodUid): PodRow | undefined; pod(uid: PodUid): Pod | undefined };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly lifecycles: { get(uid: PodUid): PodLifecycle | undefined };
  readonly sources: DetailSources;
  /** Receives every new detail. */
  readonly send: (message: Uint8Array) => void;
  readonly onError: (err: unknown) => void;
  readonly clock: Pick<Clock, 'monotonic' | 'setTimer'>;
}

const periodMs = 500;
const endLimit = 20;
const startLimit = 20;
/** A record is written some time after its container ended: the history is read after so many checks. */
const readAfterChecks: readonly number[] = [1, 5];
const gone = encodeJson('pod', 'null');

export class PodDetailFeed {
  readonly #deps: PodDetailDeps;
  readonly #coalescer: Coalescer;
  readonly #life = new AbortController();
  readonly #encoded: EncodedObjects = new WeakMap();
  #ends: readonly EndView[] = [];
  #endStamp: string | undefined;
  #readsDue: readonly number[] = [0];
  #checkStamp = '';
  #row: PodRow | undefined;
  #text: string | undefined;
  #message: Uint8Array | undefined;

  constructor(deps: PodDetailDeps) {
    const { clock } = deps;
    this.#deps = deps;
    this.#coalescer = new Coalescer({ clock, periodMs, run: async () => this.#compute() });
  }

  /** The last detail; undefined before the first one. */
  get message(): Uint8Array | undefined {
    return this.#message;
  }

  /** A source may have changed. */
  poke(): void {
    this.#coalescer.poke();
  }

  /** The rows were computed again. */
  rowsChanged(): void {
    if (this.#deps.rows.row(this.#deps.uid) !== this.#row) this.poke();
  }

  /** To be called every second: checks the sources that announce nothing. */
  check(): void {
    const stamp = this.#stampOfSources();
    if (stamp !== this.#checkStamp) this.poke();
    this.#checkStamp = stamp;
    const due = this.#readsDue.some((checks) => checks <= 0);
    this.#readsDue = this.#readsDue.filter((checks) => checks > 0).map((checks) => checks - 1);
    if (due) void this.#readEnds();
  }

  stop(): void {
    this.#coalescer.stop();
    this.#life.abort();
  }

  #stampOfSources(): string {
    const { sources, uid } = this.#deps;
    const events = sources.events.recent(uid);
    const last = events.at(-1);
    const probes = sources.probes.of(uid).map(({ runs }) => {
      const run = runs.at(-1);
      return `${runs.length} ${run?.count} ${run?.lastMs}`;
    });
    const activities = sources.volumes.activities(uid).map(({ what }) => what);
    return [events.length, last?.count, last?.lastTimestamp, ...probes, ...activities].join('\n');
  }

  #compute(): void {
    const { lifecycles, onError, rows, sources, statuses, uid } = this.#deps;
    const row = rows.row(uid);
    this.#row = row;
    try {
      if (row === undefined) {
        this.#publish(undefined);
        return;
      }
      const pod = rows.pod(uid) ?? { metadata: { name: row.name, namespace: row.namespace, uid } };
      const status = statuses.get(uid);
      const lifecycle = lifecycles.get(uid);
      this.#noteEnds(status, lifecycle);
      const mounted = new Set(sources.mounts.ofPod(uid).map(({ spec }) => spec.name));
      const activities = sources.volumes.activities(uid).map(({ what }) => what);
      const parts = {
        row,
        starts: sources.starts.of(uid).slice(0, startLimit),
        probes: sources.probes.of(uid),
        ends: this.#ends,
        containers: containerViews(pod, status ?? pod.status ?? {}, lifecycle),
        volumes: volumeViews(pod, mounted, activities),
        events: eventViews(sources.events.recent(uid)),
      };
      this.#publish(encodeDetail(parts, pod, status, this.#encoded));
    } catch (err) {
      onError(err);
    }
  }

  #publish(text: string | undefined): void {
    if (this.#message !== undefined && text === this.#text) return;
    this.#text = text;
    this.#message = text === undefined ? gone : encodeJson('pod', text);
    this.#deps.send(this.#message);
  }

  #noteEnds(status: PodStatus | undefined, lifecycle: PodLifecycle | undefined): void {
    const statuses = [
      ...(status?.initContainerStatuses ?? []),
      ...(status?.containerStatuses ?? []),
      ...(status?.ephemeralContainerStatuses ?? []),
    ];
    const ended = statuses.flatMap(({ lastState, state }) => [
      lastState?.terminated?.containerID ?? '',
      state?.terminated?.containerID ?? '',
    ]);
    const stamp = [lifecycle?.state, ...ended].join(' ');
    if (stamp === this.#endStamp) return;
    if (this.#endStamp !== undefined) this.#readsDue = readAfterChecks;
    this.#endStamp = stamp;
  }

  async #readEnds(): Promise<void> {
    const { onError, sources, uid } = this.#deps;
    try {
      const page = await sources.history?.read({ uid, limit: endLimit }, this.#life.signal);
      if (page === undefined) return;
      this.#ends = endViews(page.lines);
      this.poke();
    } catch (err) {
      if (!this.#life.signal.aborted) onError(err);
    }
  }
}

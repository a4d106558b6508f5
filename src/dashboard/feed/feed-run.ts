// What happens while a viewer is connected, and for 5 s after the last one: sampling, composing, sending. Invariants: it begins with start() and nothing of
// it remains after stop(): no timer, no subscription, no sample; a viewer gets levels before it gets changes.
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { Slices } from '../../base/slices.ts';
import { Coalescer } from './coalescer.ts';
import { type EventName, encodeEvent } from './event-stream.ts';
import type { HealthViews } from './health-views.ts';
import type { NodeViews } from './node-views.ts';
import { type DetailSources, PodDetailFeed } from './pod-details.ts';
import { PodRows, type PodSources } from './pod-rows.ts';
import { SampleHistory } from './sample-history.ts';
import { UsageSampler, type UsageSource } from './usage-sampler.ts';
import type { Viewer } from './viewer.ts';

export interface FeedSources {
  readonly pods: PodSources;
  /** Announce the pods whose rows may have changed. */
  readonly changes: readonly Subscribable<PodUid>[];
  /** Undefined on a machine without cgroups. */
  readonly usage: UsageSource | undefined;
  readonly node: NodeViews;
  readonly detail: DetailSources;
  readonly health: HealthViews;
}

interface FeedRunDeps {
  readonly sources: FeedSources;
  readonly viewers: ReadonlySet<Viewer>;
  /** Called every second. */
  readonly onSecond: () => void;
  readonly observeSample: (seconds: number) => void;
  readonly onError: (err: unknown) => void;
  readonly clock: Clock;
  readonly pause: () => Promise<void>;
}

export const samplePeriodMs = 1_000;
const rowPeriodMs = 250;
const sliceMs = 1;

export class FeedRun {
  readonly #deps: FeedRunDeps;
  readonly #life = new AbortController();
  readonly #rows: PodRows;
  readonly #rowUpdates: Coalescer;
  readonly #sampler: UsageSampler;
  readonly #samples = new SampleHistory();
  readonly #details = new Map<string, PodDetailFeed>();
  #unsubscribe: readonly (() => void)[] = [];
  #timer: Timer | undefined;
  #dueMs = 0;
  /** Whether all rows have been computed once. */
  #isPrimed = false;
  #nodeText = '';
  #node: Uint8Array | undefined;

  constructor(deps: FeedRunDeps) {
    const { clock, observeSample, pause, sources } = deps;
    this.#deps = deps;
    this.#rows = new PodRows(sources.pods);
    this.#rowUpdates = new Coalescer({ clock, periodMs: rowPeriodMs, run: () => this.#updateRows() });
    this.#sampler = new UsageSampler({
      source: sources.usage,
      running: () => this.#rows.running(),
      observe: observeSample,
      clock,
      pause,
    });
  }

  start(): void {
    const { clock, sources } = this.#deps;
    const { mounts, starts } = sources.detail;
    this.#unsubscribe = [
      ...sources.changes.map((channel) => channel.subscribe((uid) => this.#podChanged(uid))),
      ...[mounts.changed, starts.changed].map((channel) =>
        channel.subscribe((uid) => this.#details.get(uid)?.poke()),
      ),
    ];
    this.#rows.markAll();
    this.#rowUpdates.poke();
    this.#dueMs = clock.monotonic();
    void this.#nextSecond();
  }

  stop(): void {
    this.#life.abort();
    this.#timer?.cancel();
    this.#rowUpdates.stop();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    for (const detail of this.#details.values()) detail.stop();
    this.#details.clear();
  }

  /** Offers every level to a new viewer, once there is one. */
  welcome(viewer: Viewer): void {
    if (!this.#isPrimed) return;
    if (this.#node !== undefined) viewer.offer('node', this.#node);
    viewer.offer('pods', () => this.#rows.level());
    viewer.offer('samples', this.#samples.level());
    if (viewer.pod !== undefined) this.#openDetail(viewer, viewer.pod);
    if (viewer.health) viewer.offer('health', this.#health());
  }

  leave({ pod }: Viewer): void {
    if (pod === undefined || [...this.#deps.viewers].some((each) => each.pod === pod)) return;
    this.#details.get(pod)?.stop();
    this.#details.delete(pod);
  }

  #openDetail(viewer: Viewer, pod: string): void {
    const open = this.#details.get(pod);
    if (open?.message !== undefined) viewer.offer('pod', open.message);
    if (open !== undefined) return;
    const { clock, onError, sources, viewers } = this.#deps;
    const detail = new PodDetailFeed({
      uid: pod as PodUid,
      rows: this.#rows,
      statuses: sources.pods.statuses,
      lifecycles: sources.pods.lifecycles,
      sources: sources.detail,
      send: (message) => {
        for (const each of viewers) if (each.pod === pod) each.offer('pod', message);
      },
      onError,
      clock,
    });
    this.#details.set(pod, detail);
    detail.poke();
    detail.check();
  }

  #podChanged(uid: PodUid): void {
    this.#rows.mark(uid);
    this.#rowUpdates.poke();
    this.#details.get(uid)?.poke();
  }

  async #updateRows(): Promise<void> {
    const { clock, onError, pause, viewers } = this.#deps;
    try {
      const change = await this.#rows.refresh(new Slices({ clock, pause, sliceMs }));
      if (this.#life.signal.aborted) return;
      if (!this.#isPrimed) this.#prime();
      else if (change !== undefined) {
        for (const viewer of viewers) viewer.offerChange('pods', change, () => this.#rows.level());
      }
      for (const detail of this.#details.values()) detail.rowsChanged();
    } catch (err) {
      onError(err);
    }
  }

  #prime(): void {
    this.#isPrimed = true;
    this.#composeNode();
    for (const viewer of this.#deps.viewers) this.welcome(viewer);
  }

  async #nextSecond(): Promise<void> {
    const { clock, onError } = this.#deps;
    try {
      await this.#second();
    } catch (err) {
      onError(err);
    }
    if (this.#life.signal.aborted) return;
    // After a delay the missed seconds are skipped.
    const nowMs = clock.monotonic();
    this.#dueMs = Math.max(this.#dueMs + samplePeriodMs, nowMs);
    this.#timer = clock.setTimer(this.#dueMs - nowMs, () => void this.#nextSecond());
  }

  async #second(): Promise<void> {
    const { onSecond, sources, viewers } = this.#deps;
    onSecond();
    if (this.#life.signal.aborted) return;
    const sample = await this.#sampler.sample();
    if (this.#life.signal.aborted) return;
    this.#broadcast('usage', this.#samples.add(sample));
    void sources.node.measure(this.#life.signal);
    if (!this.#isPrimed) return;
    if (this.#rows.markActive()) this.#rowUpdates.poke();
    if (this.#composeNode()) this.#broadcast('node', this.#node);
    for (const detail of this.#details.values()) detail.check();
    const watching = [...viewers].filter(({ health }) => health);
    const health = watching.length > 0 ? this.#health() : undefined;
    for (const viewer of watching) if (health !== undefined) viewer.offer('health', health);
  }

  /** True if it changed. */
  #composeNode(): boolean {
    const node = this.#deps.sources.node.view(this.#rows.counts());
    const text = JSON.stringify(node);
    if (text === this.#nodeText) return false;
    this.#nodeText = text;
    this.#node = encodeEvent('node', node);
    return true;
  }

  #health(): Uint8Array {
    const { sources, viewers } = this.#deps;
    return encodeEvent('health', sources.health.view(viewers.size));
  }

  #broadcast(name: EventName, message: Uint8Array | undefined): void {
    if (message === undefined) return;
    for (const viewer of this.#deps.viewers) viewer.offer(name, message);
  }
}

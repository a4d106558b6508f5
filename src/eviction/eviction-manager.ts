// Keeps the node from running out of memory, disk and processes. Writes Pressure (sole writer). Start here.
// Upstream: pkg/kubelet/eviction/eviction_manager.go.
// Invariants: one pass at a time; at most one pod per pass is evicted for pressure, and its end is waited for; every figure that
// decides was read in that pass; a figure that cannot be read evicts no pod and delays no other signal.
import type { Pod } from '../api/k8s/types.ts';
import type { NodeLoadSource } from '../api/ports/node-usage.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { cachedBy } from '../base/cached-by.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { Aborted } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { DiskLayout } from './decide/layout.ts';
import { computeLayout } from './decide/layout.ts';
import {
  emptyTracker,
  type TrackerState,
  thresholdQuantity,
  thresholdsMet,
  trackThresholds,
} from './decide/met.ts';
import { type Observations, observe } from './decide/observe.ts';
import { rankPods } from './decide/rank.ts';
import { isReclaimSufficient, reclaimPlan } from './decide/reclaim-plan.ts';
import { isHard, resourceOf, type Threshold, withContainerFs } from './decide/thresholds.ts';
import { type PodEvictor, pressureEviction } from './evict-pods.ts';
import type { EvictionReport } from './eviction-report.ts';
import { nextPassMs, nextSampleMs, type PassFigures } from './next-sample.ts';
import type { Pressure } from './pressure.ts';
import { type NodeReclaim, reclaimUnused } from './reclaim-unused.ts';
import type { EvictionSettings } from './settings.ts';
import { StorageLimitCheck } from './storage-limit-check.ts';

interface EvictionDeps {
  /** Active pods with their allocated resources. */
  readonly pods: { all(): readonly Pod[] };
  readonly load: NodeLoadSource;
  readonly reclaim: NodeReclaim;
  readonly evictor: PodEvictor;
  readonly pressure: Pressure;
  readonly wakeUps: {
    /** The runtime answers again. */
    readonly runtimeAnswered: Subscribable<void>;
    /** False while the runtime does not answer: no pod can be terminated then. */
    runtimeAnswers(): boolean;
    /** The kernel reports a shortage of memory; undefined without kernelMemcgNotification. */
    readonly memoryShortage: Subscribable<void> | undefined;
  };
  readonly report: EvictionReport;
  readonly settings: EvictionSettings;
  readonly clock: Clock;
}

const intervalMs = 10_000;
const defaultLayout: DiskLayout = 'one';

export class EvictionManager implements Component {
  readonly name = 'eviction';
  readonly wakes;
  readonly #deps: EvictionDeps;
  readonly #limits: StorageLimitCheck;
  readonly #queue: KeyedQueue<'pass' | 'sample'>;
  #tracker: TrackerState = emptyTracker;
  /** With those of containerfs, once the layout is known. */
  readonly #withContainerFs: () => readonly Threshold[];
  /** Undefined until every file system has been measured once; then it stays. */
  #layout: DiskLayout | undefined;
  #lastPass: PassFigures | undefined;
  /** The memory thresholds that the last sample or pass found met. */
  #memoryMet: ReadonlySet<Threshold> = new Set();
  /** Ends a pass that does not relieve memory, and may wait for a minute, when memory runs short. */
  #lessUrgent: AbortController | undefined;

  constructor(deps: EvictionDeps) {
    this.#deps = deps;
    this.#limits = new StorageLimitCheck(deps);
    this.#withContainerFs = cachedBy(
      () => [deps.settings.thresholds, this.#layout],
      (thresholds, layout) =>
        layout === undefined ? thresholds : withContainerFs(thresholds, layout).thresholds,
    );
    const { memoryShortage, runtimeAnswered } = deps.wakeUps;
    this.#queue = new KeyedQueue<'pass' | 'sample'>({
      clock: deps.clock,
      parallel: 2,
      backoff: { initialMs: intervalMs, maxMs: intervalMs },
      run: (key, signal) => (key === 'pass' ? this.#pass(signal) : this.#sample()),
      onError: (_key, err) => deps.report.failed(err),
    });
    const pass = (): void => this.#queue.add('pass');
    this.wakes = [runtimeAnswered, ...(memoryShortage === undefined ? [] : [memoryShortage])].map((source) =>
      on(source, pass),
    );
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { settings } = this.#deps;
    this.#queue.start();
    if (settings.thresholds.length > 0 || settings.storageLimits) this.settingsChanged();
    return { stopped: this.#stopAfter(signal) };
  }

  /** Starts a pass with the settings as they are now. */
  settingsChanged(): void {
    this.#queue.add('pass');
    this.#queue.add('sample');
  }

  get #thresholds(): readonly Threshold[] {
    return this.#withContainerFs();
  }

  /** Reads memory as often as its distance to the thresholds requires, and starts a pass when one is crossed. */
  async #sample(): Promise<void> {
    const { evictor, load, settings } = this.#deps;
    const memory = load.memory();
    const observations = observe(
      { ...memory, nodeFs: undefined, imageFs: undefined, containerFs: undefined, processes: undefined },
      settings,
    );
    const met = this.#metMemory(observations);
    const crossed = [...met].filter((threshold) => !this.#memoryMet.has(threshold));
    if (crossed.length > 0) this.#queue.add('pass');
    if (crossed.some(isHard)) {
      this.#lessUrgent?.abort(new Aborted('memory runs short'));
      evictor.hurry();
    }
    this.#memoryMet = met;
    const margins = this.#thresholds.flatMap(({ signal, value }) => {
      const observed = observations.get(signal);
      if (observed === undefined) return [];
      const thresholdBytes = thresholdQuantity(value, observed.capacity).toNumber();
      return [{ availableBytes: observed.available, thresholdBytes }];
    });
    this.#queue.addAfter('sample', Math.min(nextSampleMs(margins), intervalMs));
  }

  #metMemory(observations: Observations): ReadonlySet<Threshold> {
    const memory = this.#thresholds.filter(({ signal }) => resourceOf(signal) === 'memory');
    return new Set(thresholdsMet(memory, observations, false));
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { clock, pressure, report, settings } = this.#deps;
    this.#queue.addAfter('pass', intervalMs);
    const observations = await this.#observe(signal);
    const nowMs = clock.monotonic();
    const { transitionMs } = settings;
    const tracked = trackThresholds(this.#tracker, {
      thresholds: this.#thresholds,
      observations,
      nowMs,
      transitionMs,
    });
    this.#tracker = tracked.state;
    const figures = { atMs: nowMs, observations };
    this.#queue.addAfter('pass', nextPassMs(this.#lastPass, figures, this.#thresholds));
    this.#lastPass = figures;
    this.#memoryMet = this.#metMemory(observations);
    pressure.set(tracked.conditions);
    if (tracked.state.metSinceMs.size === 0) report.relieved();
    if (tracked.nextCheckMs !== undefined) this.#queue.addAfter('pass', tracked.nextCheckMs - nowMs);
    // The next pass follows at once: more may have to go.
    if (await this.#relieveUnlessUrgent(tracked.acting, observations, signal)) this.#queue.add('pass');
  }

  /** Resolves to false if memory became more urgent: its pass is queued already. */
  async #relieveUnlessUrgent(
    acting: readonly Threshold[],
    observations: Observations,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (relievesMemory(acting[0])) return await this.#relieve(acting, observations, signal);
    const lessUrgent = new AbortController();
    this.#lessUrgent = lessUrgent;
    try {
      return await this.#relieve(acting, observations, AbortSignal.any([signal, lessUrgent.signal]));
    } catch (err) {
      if (signal.aborted || !lessUrgent.signal.aborted) throw err;
      return false;
    } finally {
      this.#lessUrgent = undefined;
    }
  }

  /** Also finds out the layout of the disks, as soon as all of them could be measured. */
  async #observe(signal: AbortSignal): Promise<Observations> {
    const { load, report, settings } = this.#deps;
    const signals = await load.signals(signal);
    if (this.#layout === undefined) {
      const layout = computeLayout(signals, settings.separateDiskGc);
      if (layout !== undefined) {
        const { replaced } = withContainerFs(settings.thresholds, layout);
        this.#layout = layout;
        report.layout(layout, replaced);
      }
    }
    return observe(signals, settings);
  }

  /** True if a pod was evicted. */
  async #relieve(
    acting: readonly Threshold[],
    observations: Observations,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { report, wakeUps } = this.#deps;
    if (!wakeUps.runtimeAnswers()) {
      // differs from upstream: pods chosen now would all be terminated when the runtime is back, although the first may do.
      if (acting.length > 0) report.runtimeUnavailable();
      return false;
    }
    const [first] = acting;
    // differs from upstream: memory does not wait for the measurement of disk usage.
    if (!relievesMemory(first) && (await this.#enforceStorageLimits(signal))) return true;
    if (first === undefined) return false;
    const layout = this.#layout ?? defaultLayout;
    report.reclaiming(resourceOf(first.signal));
    if (await this.#reclaimNode(first, acting, signal)) return false;
    return await this.#evictOne(first, acting, observations, layout, signal);
  }

  async #enforceStorageLimits(signal: AbortSignal): Promise<boolean> {
    const { evictor, settings } = this.#deps;
    if (!settings.storageLimits) return false;
    const evictions = await this.#limits.findExceeded(this.#layout ?? defaultLayout, signal);
    if (evictions.length === 0) return false;
    await evictor.evict(evictions, signal);
    return true;
  }

  /** True if that was enough, so that no pod has to be evicted. */
  async #reclaimNode(first: Threshold, acting: readonly Threshold[], signal: AbortSignal): Promise<boolean> {
    const { report } = this.#deps;
    const layout = this.#layout ?? defaultLayout;
    const plan = reclaimPlan(first.signal, layout);
    if (plan.length === 0) return false;
    await reclaimUnused(this.#deps, plan, signal);
    const observations = await this.#observe(signal);
    const sufficient = isReclaimSufficient({
      signal: first.signal,
      layout,
      thresholds: this.#thresholds,
      acting,
      observations,
    });
    if (sufficient) report.reclaimed(resourceOf(first.signal));
    return sufficient;
  }

  async #evictOne(
    first: Threshold,
    acting: readonly Threshold[],
    observations: Observations,
    layout: DiskLayout,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { clock, evictor, load, pods, report, settings } = this.#deps;
    const disk = reclaimsDisk(first);
    const loads = await load.pods({ disk }, signal);
    const ranked = rankPods(first.signal, layout, pods.all(), loads, settings);
    for (const { signal: name } of acting) {
      const atMs = observations.get(name)?.atMs ?? 0;
      if (atMs > 0) report.statsAge(name, Math.max(0, clock.now() - atMs) / 1_000);
    }
    const candidates = ranked.filter(({ uid }) => evictor.mayEvict(uid));
    const victim = candidates.find(({ evictable }) => evictable);
    if (victim === undefined) {
      report.nothingToEvict(resourceOf(first.signal), candidates.length);
      return false;
    }
    const eviction = pressureEviction({ victim, threshold: first, acting, observations, settings });
    await evictor.evict([eviction], signal);
    return true;
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll(new Aborted('the kubelet stops'));
    await this.#queue.stop();
  }
}

function relievesMemory(threshold: Threshold | undefined): boolean {
  return threshold !== undefined && resourceOf(threshold.signal) === 'memory';
}

function reclaimsDisk({ signal }: Threshold): boolean {
  const resource = resourceOf(signal);
  return resource === 'ephemeral-storage' || resource === 'inodes';
}

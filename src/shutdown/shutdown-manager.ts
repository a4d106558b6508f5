// Terminates the pods in order when systemd-logind shuts the machine down, before it continues. Start here. Writes NodeShutdown
// (sole writer). Upstream: pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go. docs/graceful-shutdown.md.
// Invariants: no pod is admitted from the first moment of a shutdown to its cancellation; the lock is released within the planned
// time, whatever hangs; after a cancellation no further pod is killed.
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { Logind } from '../api/ports/logind.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Component, LoopLoad } from '../base/component.ts';
import { Aborted, isAbortOf } from '../base/errors.ts';
import { type GraceGroup, graceGroups, type ShutdownPeriods, totalSeconds } from './grace-groups.ts';
import { type GroupKillDeps, GroupKills } from './kill-group.ts';
import { type GrantedDelay, LockKeeper } from './lock-keeper.ts';
import type { NodeShutdown } from './node-shutdown.ts';
import { planShutdown, type ShutdownPlan } from './plan-shutdown.ts';
import type { ShutdownRecord } from './shutdown-record.ts';
import { untilReported } from './until-reported.ts';

interface ShutdownDeps extends GroupKillDeps {
  readonly logind: Logind;
  /** May change: read for each shutdown, and whenever the lock is taken. */
  readonly periods: () => ShutdownPeriods;
  readonly state: NodeShutdown;
  readonly record: ShutdownRecord;
  /** Undefined without an API server. */
  readonly reports: { hasReportedEnd(uid: PodUid): boolean } | undefined;
  readonly events: Pick<EventSink, 'node'>;
}

interface Termination {
  readonly plan: ShutdownPlan;
  readonly kills: GroupKills;
  readonly startedAtMs: number;
}

/** How long the start waits for logind's state, so that a shutdown in progress precedes the first pods. */
const firstAttemptMs = 3_000;

export class ShutdownManager implements Component {
  readonly name = 'node-shutdown';
  readonly #deps: ShutdownDeps;
  readonly #keeper: LockKeeper;
  #current: AbortController | undefined;
  /** Settles when no shutdown is being handled. */
  #idle: Promise<void> = Promise.resolve();
  #isStopping = false;
  #lastLimit = '';

  constructor(deps: ShutdownDeps) {
    this.#deps = deps;
    const { clock, log, logind } = deps;
    this.#keeper = new LockKeeper({
      logind,
      groups: () => this.#groups(),
      isShuttingDown: () => deps.state.isShuttingDown,
      prepared: (active, isResumed) => this.#prepared(active, isResumed),
      limited: (limit) => this.#limited(limit),
      clock,
      log,
    });
  }

  loopLoad(): LoopLoad {
    return this.#keeper.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { clock, record } = this.#deps;
    await record.read();
    this.#keeper.start();
    const what = "reading systemd-logind's state";
    await withDeadline({ clock, ms: firstAttemptMs, signal, what }, () => this.#keeper.attempted).catch(
      () => undefined,
    );
    return { stopped: this.#stopAfter(signal) };
  }

  /** The settings may have changed. */
  poke(): void {
    this.#keeper.poke();
  }

  #groups(): readonly GraceGroup[] {
    return graceGroups(this.#deps.periods());
  }

  #prepared(active: boolean, isResumed: boolean): void {
    if (active === this.#deps.state.isShuttingDown) return;
    if (active) this.#begin(isResumed);
    else this.#cancel();
  }

  #begin(isResumed: boolean): void {
    const { clock, events, log, record, state } = this.#deps;
    const since = isResumed ? record.unfinishedSinceMs : undefined;
    const elapsedSeconds = since === undefined ? 0 : Math.ceil(Math.max(0, clock.now() - since) / 1_000);
    const groups = this.#groups();
    const limitSeconds = this.#keeper.limitSeconds ?? totalSeconds(groups);
    // An unfinished shutdown of long ago was another one.
    const isSame = elapsedSeconds > 0 && elapsedSeconds <= totalSeconds(groups);
    const plan = planShutdown({ groups, limitSeconds, elapsedSeconds: isSame ? elapsedSeconds : 0 });
    log.info('Shutting down: terminating pods', { groups: plan.groups, isResumed });
    state.set(true);
    events.node({ type: 'Normal', reason: 'Shutdown', message: 'Shutdown manager detected shutdown event' });
    const startedAtMs = isSame && since !== undefined ? since : clock.now();
    const kills = new GroupKills(this.#deps, plan);
    const { signal } = (this.#current = new AbortController());
    this.#idle = this.#idle.then(() => this.#terminate({ plan, kills, startedAtMs }, signal));
  }

  /**
   * differs from upstream: there a cancellation is noticed only after all groups were killed. What was killed stays so; the lock
   * that is still held is kept.
   */
  #cancel(): void {
    const { events, log, state } = this.#deps;
    log.info('The shutdown was cancelled');
    this.#current?.abort(new Aborted('the shutdown was cancelled'));
    this.#current = undefined;
    state.set(false);
    const message = 'Shutdown manager detected shutdown cancellation';
    events.node({ type: 'Normal', reason: 'Shutdown', message });
    this.#keeper.poke();
  }

  /** Never rejects. */
  async #terminate({ kills, plan, startedAtMs }: Termination, signal: AbortSignal): Promise<void> {
    const { clock, log, record } = this.#deps;
    const endMs = clock.monotonic() + plan.totalSeconds * 1_000;
    record.started(startedAtMs);
    try {
      for (const index of plan.groups.keys()) await kills.kill(index, signal);
      await this.#untilReported(kills.killed, endMs, signal);
    } catch (err) {
      if (!isAbortOf(err, signal)) log.error('Failed to terminate the pods for the shutdown', { err });
    }
    // The next process of the kubelet continues.
    if (this.#isStopping) return;
    await record.ended(clock.now());
    if (signal.aborted) return;
    await this.#keeper.release();
    log.info('Released the inhibitor lock: all pods were handled');
  }

  async #untilReported(killed: ReadonlySet<PodUid>, endMs: number, signal: AbortSignal): Promise<void> {
    const { clock, log, reports, state } = this.#deps;
    if (reports === undefined) return;
    const unreported = await untilReported({
      killed,
      hasReportedEnd: (uid) => reports.hasReportedEnd(uid),
      isNodeReported: () => state.isReported,
      clock,
      endMs,
      signal,
    });
    if (unreported > 0)
      log.error('The API server did not receive all statuses before the shutdown', { unreported });
  }

  #limited(limit: GrantedDelay | undefined): void {
    const { events, log } = this.#deps;
    const text = limit === undefined ? '' : JSON.stringify(limit);
    if (text === this.#lastLimit) return;
    this.#lastLimit = text;
    if (limit === undefined) return;
    const { cause, groups, limitSeconds, neededSeconds } = limit;
    const seconds = groups.map((group) => `${group.seconds} s from priority ${group.priority}`).join(', ');
    const message = `systemd-logind delays a shutdown by ${limitSeconds} s at most, less than the configured ${neededSeconds} s: pods get ${seconds} (${cause})`;
    log.error('The shutdown grace periods were reduced', { limitSeconds, neededSeconds, groups, cause });
    events.node({ type: 'Warning', reason: 'ShutdownGracePeriodReduced', message });
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#isStopping = true;
    this.#current?.abort(new Aborted('the kubelet stops'));
    await this.#keeper.stop();
    await this.#idle;
  }
}

// Reports and counts OOM kills from the kernel log. Upstream: pkg/kubelet/oom and cadvisor's container_oom_events_total.
// Owns the counts (sole writer). Invariants: kills logged before this kubelet started are not reported; an unreadable log is
// warned about once; the counts are bounded, the oldest cgroup is dropped first.
import type { EventSink } from '../../api/ports/events.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import type { Logger } from '../../base/log/log.ts';
import { messageOfRecord, type OomKill, OomReader, podUidOfCgroup } from './oom-records.ts';

export interface OomWatcherDeps {
  /** Follows the kernel log from now on. */
  readonly follow: (listener: {
    onRecord(record: string): void;
    onError(err: unknown): void;
  }) => Promise<{ close(): void }>;
  readonly events: Pick<EventSink, 'node'>;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly log: Logger;
}

const maxCounts = 1_000;
/** Delay before a broken log is reopened. */
const reopenMs = 10_000;

export class OomWatcher implements Component {
  readonly name = 'oom-watcher';
  readonly #deps: OomWatcherDeps;
  readonly #counts = new Map<string, number>();
  #following: { close(): void } | undefined;
  #timer: Timer | undefined;
  #hasWarned = false;

  constructor(deps: OomWatcherDeps) {
    this.#deps = deps;
  }

  /** Kills since this kubelet started, by the cgroup of the killed process. */
  counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Whether a process of this container was killed. Works for cgroup names of either driver. */
  hasKilledIn(containerId: string): boolean {
    const scope = `-${containerId}.scope`;
    const isOwn = (part: string): boolean => part === containerId || part.endsWith(scope);
    return [...this.#counts.keys()].some((cgroup) => cgroup.split('/').some(isOwn));
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    await this.#follow(signal);
    return { stopped: this.#drain(signal) };
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#timer?.cancel();
    this.#following?.close();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { follow } = this.#deps;
    // A new reader: the incomplete kill of a broken log must not be continued by the next one.
    const reader = new OomReader();
    try {
      this.#following = await follow({
        onRecord: (record) => this.#report(reader.read(messageOfRecord(record))),
        onError: (err) => {
          this.#warn(err);
          this.#reopen(signal);
        },
      });
      if (signal.aborted) this.#following.close();
    } catch (err) {
      // differs from upstream: a kubelet that may not read the log starts anyway.
      this.#warn(err);
      if (this.#following !== undefined) this.#reopen(signal);
    }
  }

  /** Not called for a log that could never be opened: it is forbidden or does not exist. */
  #reopen(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#timer = this.#deps.clock.setTimer(reopenMs, () => void this.#follow(signal));
  }

  #warn(err: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#deps.log.warn('Failed to read the kernel log, OOM kills are not reported', { err });
  }

  #report(kill: OomKill | undefined): void {
    if (kill === undefined) return;
    const { events, log } = this.#deps;
    this.#count(kill.cgroup);
    const podUID = podUidOfCgroup(kill.cgroup);
    log.info('Process was OOM-killed', { ...kill, ...(podUID === undefined ? {} : { podUID }) });
    if (kill.limitedCgroup !== '/') return;
    const victim =
      kill.processName !== '' && kill.pid !== 0
        ? `, victim process: ${kill.processName}, pid: ${kill.pid}`
        : '';
    events.node({ type: 'Warning', reason: 'SystemOOM', message: `System OOM encountered${victim}` });
  }

  #count(cgroup: string): void {
    const before = this.#counts.get(cgroup) ?? 0;
    this.#counts.delete(cgroup);
    this.#counts.set(cgroup, before + 1);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > maxCounts && oldest !== undefined) this.#counts.delete(oldest);
  }
}

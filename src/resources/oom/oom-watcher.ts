// Tells of processes that the kernel killed for lack of memory, and counts them. Upstream: pkg/kubelet/oom and cadvisor's
// container_oom_events_total. Owns the counts (sole writer). Invariants: what was logged before this kubelet started is not
// told; a log that cannot be read is a warning, once; the counts are bounded, the oldest cgroup goes first.
import type { EventSink } from '../../api/ports/events.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import type { Logger } from '../../base/log/log.ts';
import { messageOfRecord, type OomKill, OomReader, podUidOfCgroup } from './oom-records.ts';

export interface OomWatcherDeps {
  /** Follows the kernel's log from now on. */
  readonly follow: (listener: {
    onRecord(record: string): void;
    onError(err: unknown): void;
  }) => Promise<{ close(): void }>;
  readonly events: Pick<EventSink, 'node'>;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly log: Logger;
}

const mostCounts = 1_000;
/** A log that broke off is opened again. */
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

  /** By cgroup of the process that was killed: how many, since this kubelet started. */
  counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  /** Whether a process of this container was among them, whichever driver has named its cgroup. */
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
    // Half a message of a log that broke off must not be taken for the beginning of another.
    const reader = new OomReader();
    try {
      this.#following = await follow({
        onRecord: (record) => this.#see(reader.read(messageOfRecord(record))),
        onError: (err) => {
          this.#warn(err);
          this.#reopen(signal);
        },
      });
      if (signal.aborted) this.#following.close();
    } catch (err) {
      // differs from upstream: a kubelet that may not read the log runs all the same.
      this.#warn(err);
      if (this.#following !== undefined) this.#reopen(signal);
    }
  }

  /** Only a log that could be read once: one that never could is forbidden, or not there. */
  #reopen(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.#timer = this.#deps.clock.setTimer(reopenMs, () => void this.#follow(signal));
  }

  #warn(err: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#deps.log.warn('The log of the kernel cannot be read: OOM kills will not be told', { err });
  }

  #see(kill: OomKill | undefined): void {
    if (kill === undefined) return;
    const { events, log } = this.#deps;
    this.#count(kill.cgroup);
    const podUID = podUidOfCgroup(kill.cgroup);
    log.info('A process was killed, out of memory', { ...kill, ...(podUID === undefined ? {} : { podUID }) });
    if (kill.limitedCgroup !== '/') return;
    const who =
      kill.processName !== '' && kill.pid !== 0
        ? `, victim process: ${kill.processName}, pid: ${kill.pid}`
        : '';
    events.node({ type: 'Warning', reason: 'SystemOOM', message: `System OOM encountered${who}` });
  }

  #count(cgroup: string): void {
    const before = this.#counts.get(cgroup) ?? 0;
    this.#counts.delete(cgroup);
    this.#counts.set(cgroup, before + 1);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > mostCounts && oldest !== undefined) this.#counts.delete(oldest);
  }
}

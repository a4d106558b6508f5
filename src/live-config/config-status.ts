// The configurations of this node: those of the past with what became of them, and which one is assigned, active and last known
// good. Owns ConfigStatus (sole writer: the live configuration). Upstream (until 1.23): Node.status.config.
// Invariants: bounded; values in it are masked before they get here.
import { Channel } from '../base/channel.ts';
import type { Store } from '../base/store.ts';
import type { DescribedChange } from './described-changes.ts';

export type Outcome =
  | 'on-trial'
  | 'good'
  /** Some of its changes wait for a restart of the kubelet; the others were good. */
  | 'pending-restart'
  | 'rejected'
  | 'fell-back'
  /** Unhealthy, and there was no last known good configuration. */
  | 'unhealthy'
  /** Another one replaced it before its trial ended. */
  | 'superseded'
  /** The kubelet was stopped before its trial ended. */
  | 'interrupted';

export interface HistoryEntry {
  /** When it was read, RFC 3339. */
  readonly time: string;
  readonly checksum: string;
  /** Absolute paths; the first ones of many. */
  readonly sources: readonly string[];
  /** Against the configuration in force before; none for the first one of a process. */
  readonly changes: readonly DescribedChange[];
  /** More changes than are listed. */
  readonly moreChanges: number;
  readonly outcome: Outcome;
  /** When the outcome was last updated. */
  readonly outcomeTime: string;
  /** Why it was rejected or fell back. */
  readonly reasons: readonly string[];
}

export interface CurrentConfigs {
  /** Of the files as last read, valid or not. */
  readonly assigned: string | undefined;
  /** What runs. */
  readonly active: string | undefined;
  readonly lastKnownGood: string | undefined;
  /** Fields that wait for a restart. */
  readonly pendingRestart: readonly string[];
  /** Why the kubelet does not use what is in the files. */
  readonly error: string | undefined;
}

/** For the events of the node. */
export interface Notice {
  readonly type: 'Normal' | 'Warning';
  readonly reason: 'KubeletConfigChanged' | 'KubeletConfigRejected' | 'KubeletConfigFellBack';
  readonly message: string;
}

type LoadResultKind = 'unchanged' | 'changed' | 'invalid';

export const historyLimits = {
  entries: 50,
  sources: 50,
  changes: 50,
  reasons: 20,
  reasonLength: 400,
  notices: 20,
};

export class ConfigStatus implements Store {
  readonly storeName = 'ConfigStatus';
  readonly writer = 'live-config';
  readonly changed = new Channel<void>();
  #entries: readonly HistoryEntry[] = [];
  #current: CurrentConfigs = {
    assigned: undefined,
    active: undefined,
    lastKnownGood: undefined,
    pendingRestart: [],
    error: undefined,
  };
  #notices: Notice[] = [];
  readonly #loads: Record<LoadResultKind, number> = { unchanged: 0, changed: 0, invalid: 0 };

  /** Newest first. */
  entries(): readonly HistoryEntry[] {
    return this.#entries;
  }

  current(): CurrentConfigs {
    return this.#current;
  }

  /** How often the files were read, by result. */
  loads(): Readonly<Record<LoadResultKind, number>> {
    return this.#loads;
  }

  /** What has not been emitted as an event yet; a notice may wait for the next kubelet of the process. */
  takeNotices(): readonly Notice[] {
    return this.#notices.splice(0);
  }

  /** At the start, from the disk. */
  restore(entries: readonly HistoryEntry[]): void {
    this.#entries = entries.slice(0, historyLimits.entries);
    this.changed.push();
  }

  add(entry: Omit<HistoryEntry, 'outcomeTime' | 'moreChanges'>): void {
    const { changes, reasons, sources, time } = entry;
    const bounded = {
      ...entry,
      sources: sources.slice(0, historyLimits.sources),
      changes: changes.slice(0, historyLimits.changes),
      moreChanges: Math.max(0, changes.length - historyLimits.changes),
      reasons: boundReasons(reasons),
      outcomeTime: time,
    };
    this.#entries = [bounded, ...this.#entries].slice(0, historyLimits.entries);
    this.changed.push();
  }

  /** Of the newest entry with this checksum. */
  setOutcome(checksum: string, outcome: Outcome, time: string, reasons: readonly string[] = []): void {
    const at = this.#entries.findIndex((entry) => entry.checksum === checksum);
    const entry = this.#entries[at];
    if (entry === undefined) return;
    const updated = { ...entry, outcome, outcomeTime: time, reasons: boundReasons(reasons) };
    this.#entries = this.#entries.with(at, updated);
    this.changed.push();
  }

  setCurrent(part: Partial<CurrentConfigs>): void {
    this.#current = { ...this.#current, ...part };
    this.changed.push();
  }

  countLoad(kind: LoadResultKind): void {
    this.#loads[kind] += 1;
  }

  notify(notice: Notice): void {
    this.#notices = [...this.#notices, notice].slice(-historyLimits.notices);
    this.changed.push();
  }
}

function boundReasons(reasons: readonly string[]): readonly string[] {
  return reasons.slice(0, historyLimits.reasons).map((reason) => reason.slice(0, historyLimits.reasonLength));
}

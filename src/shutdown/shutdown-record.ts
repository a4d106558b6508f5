// When the last shutdown of the node began and ended: on disk, and as metrics. Owns <root>/graceful_node_shutdown_state.
// Upstream: storage.go in pkg/kubelet/nodeshutdown. Invariant: a damaged, unwritable or hung file delays no shutdown.
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isObject } from '../base/guards.ts';
import type { Logger } from '../base/log/log.ts';

interface ShutdownRecordDeps {
  readonly files: {
    read(path: string, limitBytes?: number): Promise<string | undefined>;
    write(path: string, text: string): Promise<void>;
  };
  readonly path: string;
  /** Undefined without the gate GracefulNodeShutdownBasedOnPodPriority. */
  readonly metrics: ShutdownTimes | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

interface ShutdownTimes {
  /** Milliseconds since the epoch; 0 if there was none. */
  started(atMs: number): void;
  ended(atMs: number): void;
}

const limitBytes = 64 * 1024;
const fileMs = 1_000;
/** How upstream prints a time that is not set. */
const unset = '0001-01-01T00:00:00Z';

export class ShutdownRecord {
  readonly #deps: ShutdownRecordDeps;
  #startedAtMs = 0;
  #endedAtMs = 0;
  #written: Promise<void> = Promise.resolve();

  constructor(deps: ShutdownRecordDeps) {
    this.#deps = deps;
  }

  /** When a shutdown began that no process of the kubelet completed. */
  get unfinishedSinceMs(): number | undefined {
    return this.#startedAtMs > 0 && this.#endedAtMs === 0 ? this.#startedAtMs : undefined;
  }

  async read(): Promise<void> {
    const { clock, files, log, path } = this.#deps;
    try {
      const text = await withDeadline({ clock, ms: fileMs, what: `reading ${path}` }, () =>
        files.read(path, limitBytes),
      );
      const parsed: unknown = text === undefined ? {} : JSON.parse(text);
      const { endTime, startTime } = isObject(parsed) ? parsed : {};
      this.#startedAtMs = timeOf(startTime);
      this.#endedAtMs = timeOf(endTime);
    } catch (err) {
      log.error('Failed to read the times of the last shutdown', { path, err });
    }
    this.#expose();
  }

  /** The file follows: a slow disk does not delay the termination of pods. */
  started(atMs: number): void {
    this.#startedAtMs = atMs;
    this.#endedAtMs = 0;
    this.#save();
  }

  /** Resolves when the file is written, or after a bounded wait. Never rejects. */
  async ended(atMs: number): Promise<void> {
    this.#endedAtMs = atMs;
    this.#save();
    await this.#written;
  }

  #save(): void {
    const { clock, files, log, path } = this.#deps;
    this.#expose();
    const text = JSON.stringify({
      startTime: timeText(this.#startedAtMs),
      endTime: timeText(this.#endedAtMs),
    });
    this.#written = this.#written
      .then(() => withDeadline({ clock, ms: fileMs, what: `writing ${path}` }, () => files.write(path, text)))
      .catch((err: unknown) => log.error('Failed to write the times of the shutdown', { path, err }));
  }

  #expose(): void {
    const { metrics } = this.#deps;
    metrics?.started(this.#startedAtMs);
    metrics?.ended(this.#endedAtMs);
  }
}

function timeOf(value: unknown): number {
  const atMs = typeof value === 'string' && value !== unset ? Date.parse(value) : 0;
  return Number.isFinite(atMs) ? Math.max(0, atMs) : 0;
}

function timeText(atMs: number): string {
  return atMs === 0 ? unset : new Date(atMs).toISOString();
}

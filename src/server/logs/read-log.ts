// Streams a container's log and follows it while the container runs, across rotation and truncation and at the client's pace.
// Upstream: ReadLogs and waitLogs in staging/src/k8s.io/cri-client/pkg/logs.
// Invariants: the next piece is read only once the client has taken the previous one; a follower skips no existing file of a log,
// however often it was rotated meanwhile; the state of the container is read before the end of its log, so that the final output
// of a container that exits is sent; whatever ends the stream, every file is closed.
import type { Clock } from '../../base/clock.ts';
import { isAbort } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { findSuccessor, type Successor } from './find-successor.ts';
import type { LogFile, LogFiles, LogTarget } from './log-files.ts';
import { LogFilter } from './log-filter.ts';
import type { LogOptions } from './log-options.ts';
import { openLog } from './open-log.ts';
import { Pace } from './pace.ts';
import type { Turns } from './turns.ts';

export interface ReadLogDeps {
  readonly files: LogFiles;
  readonly turns: Pick<Turns, 'take'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface LogRequest extends LogTarget {
  readonly options: LogOptions;
  /** Whether the container can still write. */
  readonly isRunning: () => boolean;
  /** Calls back when isRunning() may have changed. Returns the unsubscribe function. */
  readonly onChange: (listener: () => void) => () => void;
}

/** The maximum delay of a follower if file events are lost. */
const safetyPollMs = 5_000;
/** The interval of reads from a busy log, to batch lines. */
const batchMs = 10;
/** After a rotation, the runtime may still write lines to the old file. */
const rotationQuietMs = 100;

/** Yields an empty first value once the log is open. Ends when the signal is aborted. */
export async function* readLog(
  deps: ReadLogDeps,
  request: LogRequest,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const reading = new LogReading(deps, request, signal);
  try {
    await reading.open();
    yield new Uint8Array();
    yield* reading.chunks();
  } catch (err) {
    if (!isAbort(err) && !signal.aborted) throw err;
  } finally {
    await reading.close();
  }
}

class LogReading {
  readonly #deps: ReadLogDeps;
  readonly #request: LogRequest;
  readonly #signal: AbortSignal;
  readonly #filter: LogFilter;
  readonly #pace: Pace;
  /** Oldest first; the first file is being read. */
  #files: LogFile[] = [];
  #at = 0;
  #endAt = 0;
  #lastWaitMs = Number.NEGATIVE_INFINITY;

  constructor(deps: ReadLogDeps, request: LogRequest, signal: AbortSignal) {
    this.#deps = deps;
    this.#request = request;
    this.#signal = signal;
    this.#filter = new LogFilter(request.options);
    this.#pace = new Pace(deps.clock);
  }

  async open(): Promise<void> {
    const { endAt, files, startAt } = await openLog(
      this.#deps,
      this.#request,
      this.#request.options,
      this.#signal,
    );
    this.#files = [...files];
    this.#at = startAt;
    this.#endAt = endAt;
  }

  async close(): Promise<void> {
    const files = this.#files;
    this.#files = [];
    await Promise.all(files.map((file) => file.close()));
    if (this.#filter.unreadableLines === 0) return;
    this.#deps.log.v(2).info('Skipped lines in an unknown log format', {
      path: this.#request.path,
      lines: this.#filter.unreadableLines,
    });
  }

  async *chunks(): AsyncGenerator<Uint8Array, void> {
    const { follow, tailLines } = this.#request.options;
    while (this.#files.length > 1) {
      yield* this.#drain(Number.POSITIVE_INFINITY);
      if (this.#filter.isDone) return;
      yield* this.#nextFile();
    }
    if (follow) {
      yield* this.#follow();
    } else {
      yield* this.#drain(this.#endAt);
      // As upstream: with a number of lines, only complete lines are sent.
      if (tailLines !== undefined) return;
    }
    if (!this.#filter.isDone) yield this.#filter.finish();
  }

  /** Yields the present content up to `endAt`. */
  async *#drain(endAt: number): AsyncGenerator<Uint8Array, boolean> {
    const file = this.#files[0];
    let got = false;
    if (file === undefined) return got;
    while (this.#at < endAt && !this.#filter.isDone) {
      this.#signal.throwIfAborted();
      const wanted = Math.min(this.#pace.bytes, endAt - this.#at);
      const length = await file.read(this.#filter.space(wanted), this.#at);
      if (length === 0) break;
      const isEnd = length < wanted && !file.compressed;
      await this.#deps.turns.take(length);
      this.#signal.throwIfAborted();
      this.#at += length;
      got = true;
      const out = this.#pace.run(() => this.#filter.filled(length));
      if (out.length > 0) yield out;
      if (isEnd) break;
    }
    return got;
  }

  /** Moves on to the next file, which exists already. */
  async *#nextFile(): AsyncGenerator<Uint8Array, void> {
    const rest = this.#filter.finish();
    if (rest.length > 0) yield rest;
    const file = this.#files.shift();
    this.#at = 0;
    await file?.close();
  }

  async *#follow(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const wasRunning = this.#request.isRunning();
      const got = yield* this.#drain(Number.POSITIVE_INFINITY);
      if (this.#filter.isDone) return;
      if (got && wasRunning) await this.#untilChange();
      if (got || (await this.#wasTruncated())) continue;
      const next = await this.#findSuccessor();
      if (next !== undefined) {
        // From here on, close() closes it with the others.
        this.#files.push(next.file);
        if (next.isCurrent) await this.#deps.clock.sleep(rotationQuietMs, this.#signal);
        yield* this.#drain(Number.POSITIVE_INFINITY);
        if (this.#filter.isDone) return;
        yield* this.#nextFile();
        continue;
      }
      if (!wasRunning) return;
      await this.#untilChange();
    }
  }

  /** Whether the file was truncated: it is read from its beginning then. */
  async #wasTruncated(): Promise<boolean> {
    const file = this.#files[0];
    if (file === undefined || file.compressed || (await file.size()) >= this.#at) return false;
    this.#at = 0;
    this.#filter.restart();
    return true;
  }

  async #findSuccessor(): Promise<Successor | undefined> {
    const file = this.#files[0];
    if (file === undefined) return undefined;
    const { lastTime, lines } = this.#filter;
    return await findSuccessor(this.#deps.files, this.#request, file, lines > 0 ? lastTime : undefined);
  }

  /** Waits until there may be something to read, or the container may have exited. */
  async #untilChange(): Promise<void> {
    const { clock, files } = this.#deps;
    const { isRunning, onChange, path } = this.#request;
    const batchForMs = this.#lastWaitMs + batchMs - clock.monotonic();
    if (batchForMs > 0) await clock.sleep(batchForMs, this.#signal);
    this.#signal.throwIfAborted();
    let wake = (): void => undefined;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const watching = files.watch(path, wake);
    const unsubscribe = onChange(wake);
    const timer = clock.setTimer(safetyPollMs, wake);
    this.#signal.addEventListener('abort', wake, { once: true });
    try {
      // Changes before the watch was set up.
      if (!isRunning() || (await this.#isBehind())) return;
      await woken;
    } finally {
      watching.close();
      unsubscribe();
      timer.cancel();
      this.#signal.removeEventListener('abort', wake);
      this.#lastWaitMs = clock.monotonic();
    }
  }

  async #isBehind(): Promise<boolean> {
    const file = this.#files[0];
    if (file === undefined || file.compressed) return true;
    const [size, identity] = await Promise.all([file.size(), this.#deps.files.identity(this.#request.path)]);
    return size !== this.#at || (identity !== undefined && identity !== file.identity);
  }
}

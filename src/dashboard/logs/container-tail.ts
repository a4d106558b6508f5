// Reads the log of one container for a viewer: from a saved position or from its last lines, through restarts of the container,
// and skips to the newest lines when the viewer cannot keep up. Upstream: none.
// Invariants: at most one piece of the log is kept; the next piece is read only after the lines of the previous one were taken; the
// instance of the container is looked up in the same turn in which its log is opened; whatever ends the stream closes the log.
import type { HttpAnswer } from '../../api/ports/http.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isAbort } from '../../base/errors.ts';
import type { ByteRate } from './byte-rate.ts';
import { LogPosition, Replay, type SavedPosition } from './log-position.ts';
import { type LogLine, LogText } from './log-text.ts';
import { type ContainerInstance, planOpening } from './plan-opening.ts';

interface TailDeps {
  /** Undefined once the pod is gone. */
  readonly look: () => ContainerInstance | undefined;
  readonly openLog: (query: URLSearchParams, signal: AbortSignal) => HttpAnswer | Promise<HttpAnswer>;
  /** Of what is read from the log, also if nothing of it is sent. */
  readonly input: ByteRate;
  readonly clock: Clock;
  /** There is a line, or the log has ended. */
  readonly onReady: () => void;
}

export interface TailOptions {
  readonly previous: boolean;
  readonly follow: boolean;
  readonly tail: number;
  readonly since: string | undefined;
  readonly saved: SavedPosition | undefined;
}

/** Output between two times was not sent. An empty time: not known. */
interface SkippedOutput {
  readonly from: string;
  readonly to: string;
}

/** How often a container without a log, or one that has exited, is looked up. */
const lookEveryMs = 500;
/** A log without output for so long has nothing more for now. */
export const idleMs = 20;
/** Other containers wait so long for the first lines of a log that is being opened. */
export const openingMs = 500;
/** A viewer that is further behind for so long, and by more than that, misses output. */
const behindMs = 2_000;
const behindBytes = 256 * 1024;
/** A viewer that gets lines that are newer has everything. */
const recentMs = 1_000;
const newestLines = 200;
/** Finding the newest lines may take this fraction of the time. */
const searchShare = 0.1;

export class ContainerTail {
  readonly name: string;
  readonly #deps: TailDeps;
  readonly #options: TailOptions;
  readonly #signal: AbortSignal;
  #text = new LogText();
  #line: LogLine | undefined;
  #body: AsyncIterator<Uint8Array> | undefined;
  #abort = new AbortController();
  #position: LogPosition | undefined;
  /** The log was opened at its beginning: an earlier instance was read before. */
  #isFromStart = false;
  #replay: Replay | undefined;
  /** The saved position while lines up to it are dropped. */
  #saved: SavedPosition | undefined;
  /** The instance whose log was read to its end. */
  #finished: string | undefined;
  #skipped: SkippedOutput | undefined;
  #gapFrom: string | undefined;
  #dropUntil = '';
  /** When the viewer last had everything, and what was read since then. */
  #recentAtMs: number;
  #readSince = 0;
  /** Later lines are recent. */
  #recentFrom = '';
  #skipAfterMs = 0;
  #advancing = false;
  #advancingSinceMs = 0;
  #isOpening = false;
  problem: string | undefined;
  ended = false;

  constructor(name: string, deps: TailDeps, options: TailOptions, signal: AbortSignal) {
    this.name = name;
    this.#deps = deps;
    this.#options = options;
    this.#signal = signal;
    this.#saved = options.saved;
    this.#recentAtMs = deps.clock.monotonic();
    if (options.saved !== undefined) this.#position = new LogPosition(options.saved.id);
  }

  /** The next line, until take(). */
  peek(): LogLine | undefined {
    while (this.#line === undefined) {
      const line = this.#text.next();
      if (line === undefined) return undefined;
      if (!this.#isDropped(line)) this.#line = line;
      if (line.time > this.#recentFrom) this.#hasEverything();
    }
    return this.#line;
  }

  /** The line was sent. */
  take(): void {
    if (this.#line === undefined) return;
    if (this.#replay === undefined) this.#saved = undefined;
    this.#position?.pass(this.#line);
    this.#line = undefined;
  }

  /** Output before the next line that is not sent; returned once. */
  takeSkipped(): SkippedOutput | undefined {
    const skipped = this.#skipped;
    this.#skipped = undefined;
    return skipped;
  }

  /** Undefined before the log was opened: a viewer that reconnects begins as if it were the first time. */
  get saved(): SavedPosition | undefined {
    if (this.#saved !== undefined) return this.#saved;
    const saved = this.#position?.saved;
    return saved?.base === '' && !this.#isFromStart ? undefined : saved;
  }

  /** It may have its next line in a moment. */
  get isReading(): boolean {
    const limitMs = this.#isOpening ? openingMs : idleMs;
    return this.#advancing && this.#deps.clock.monotonic() - this.#advancingSinceMs < limitMs;
  }

  /** Reads on if there is no line. */
  want(): void {
    if (this.ended || this.#advancing || this.peek() !== undefined) return;
    this.#advancing = true;
    this.#advancingSinceMs = this.#deps.clock.monotonic();
    void this.#advance().finally(() => {
      this.#advancing = false;
      this.#deps.onReady();
    });
  }

  /** Continues with the newest lines if the viewer takes less than the log produces. */
  skipIfBehind(): void {
    const nowMs = this.#deps.clock.monotonic();
    const isBehind = nowMs - this.#recentAtMs > behindMs && this.#readSince > behindBytes;
    if (!this.#options.follow || !isBehind || this.#text.isInLongLine || nowMs < this.#skipAfterMs) return;
    if (this.#body === undefined || this.#advancing) return;
    const { saved } = this;
    this.#gapFrom = saved?.latest ?? '';
    this.#dropUntil = this.#gapFrom;
    this.#line = undefined;
    this.#text = new LogText();
    this.#replay = undefined;
    // A viewer that reconnects before the first line resumes here.
    this.#saved = saved;
    this.#hasEverything();
    this.#close();
  }

  /** Closes the log. */
  stop(): void {
    this.ended = true;
    this.#close();
  }

  #close(): void {
    this.#abort.abort();
    const body = this.#body;
    this.#body = undefined;
    void body?.return?.()?.catch(() => undefined);
  }

  async #advance(): Promise<void> {
    try {
      this.#body ??= await this.#open();
      if (this.#body === undefined) return;
      if (this.ended) {
        this.#close();
        return;
      }
      const waitMs = this.#deps.input.waitMs;
      if (waitMs > 0) await this.#deps.clock.sleep(waitMs, this.#signal);
      const { done, value } = await this.#body.next();
      if (done === true) {
        this.#finish();
        return;
      }
      this.#deps.input.spend(value.length);
      this.#readSince += value.length;
      this.#recentFrom = new Date(this.#deps.clock.now() - recentMs).toISOString();
      this.#text.push(value);
    } catch (err) {
      if (this.#signal.aborted || isAbort(err)) return;
      this.problem = describeError(err);
      this.#isOpening = false;
      this.#close();
      await this.#pause();
    }
  }

  /** The log has ended: the container has exited, or the viewer does not follow. */
  #finish(): void {
    this.#line = this.#text.finish();
    if (this.#line !== undefined && this.#isDropped(this.#line)) this.#line = undefined;
    this.#text = new LogText();
    this.#finished = this.#position?.id;
    this.#saved = undefined;
    this.#replay = undefined;
    this.#close();
  }

  async #pause(): Promise<void> {
    if (!this.#options.follow) this.ended = true;
    else await this.#deps.clock.sleep(lookEveryMs, this.#signal).catch(() => undefined);
  }

  /** Undefined if there is nothing to read now. */
  async #open(): Promise<AsyncIterator<Uint8Array> | undefined> {
    const plan = planOpening(this.#deps.look(), this.#options, this.#position?.id, this.#finished);
    if (plan.do === 'end') {
      this.ended = true;
      return undefined;
    }
    if (plan.do === 'wait') {
      this.problem = plan.problem ?? this.problem;
      await this.#pause();
      return undefined;
    }
    const query = new URLSearchParams({ timestamps: 'true' });
    if (plan.from !== 'whole') query.set(plan.from, 'true');
    const before = [this.#position, this.#saved, this.#gapFrom, this.#isFromStart] as const;
    if (plan.resumes) this.#resume(plan.id, query);
    else this.#begin(plan.id, plan.isGap, query);
    const body = await this.#request(query);
    if (body !== undefined) return body;
    [this.#position, this.#saved, this.#gapFrom, this.#isFromStart] = before;
    this.#replay = undefined;
    await this.#pause();
    return undefined;
  }

  /** An instance of which nothing was read yet. */
  #begin(id: string, isGap: boolean, query: URLSearchParams): void {
    const { since, tail } = this.#options;
    this.#isFromStart = this.#position !== undefined;
    if (!this.#isFromStart) {
      if (since === undefined) query.set('tailLines', String(tail));
      else query.set('sinceTime', since);
    }
    if (isGap) this.#gapFrom = this.saved?.latest ?? '';
    this.#position = new LogPosition(id);
    this.#saved = undefined;
    this.#replay = undefined;
  }

  /** The instance of the position. */
  #resume(id: string, query: URLSearchParams): void {
    const { saved } = this;
    this.#position = new LogPosition(id);
    if (saved === undefined || this.#gapFrom !== undefined) {
      query.set('tailLines', String(saved === undefined ? this.#options.tail : newestLines));
      return;
    }
    this.#saved = saved;
    this.#isFromStart = saved.base === '';
    this.#replay = new Replay(saved);
    if (this.#replay.since !== undefined) query.set('sinceTime', this.#replay.since);
    if (this.#replay.isDone) this.#endReplay();
  }

  async #request(query: URLSearchParams): Promise<AsyncIterator<Uint8Array> | undefined> {
    const { clock, openLog } = this.#deps;
    this.#abort = new AbortController();
    const startMs = clock.monotonic();
    this.#isOpening = true;
    const answer = await openLog(query, AbortSignal.any([this.#signal, this.#abort.signal]));
    this.#isOpening = false;
    this.#advancingSinceMs = clock.monotonic();
    const tookMs = clock.monotonic() - startMs;
    this.#skipAfterMs = startMs + tookMs / searchShare;
    const { body, status } = 'body' in answer ? answer : { body: '', status: 500 };
    if (status === 200 && typeof body !== 'string' && !(body instanceof Uint8Array)) {
      this.problem = undefined;
      return body[Symbol.asyncIterator]();
    }
    this.problem =
      typeof body === 'string' && body !== '' ? body : `The kubelet answered with status ${status}`;
    return undefined;
  }

  #hasEverything(): void {
    this.#recentAtMs = this.#deps.clock.monotonic();
    this.#readSince = 0;
  }

  #endReplay(): void {
    this.#replay = undefined;
    this.#saved = undefined;
  }

  #isDropped(line: LogLine): boolean {
    if (this.#replay !== undefined) {
      const { counts, drop } = this.#replay.drop(line);
      if (this.#replay.isDone) this.#endReplay();
      if (drop && counts) this.#position?.pass(line);
      if (drop) return true;
    }
    if (this.#dropUntil !== '' && line.time <= this.#dropUntil) {
      // The newest lines begin with lines that were sent: nothing is missing.
      this.#gapFrom = undefined;
      return true;
    }
    this.#dropUntil = '';
    if (this.#gapFrom !== undefined) {
      this.#skipped = { from: this.#gapFrom, to: line.time };
      this.#gapFrom = undefined;
    }
    return false;
  }
}

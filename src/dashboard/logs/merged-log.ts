// The logs of several containers as one stream of server-sent messages, merged by time. Upstream: none.
// Invariants: a message is made only when the client has taken the one before; at most one batch and one piece of each log are kept;
// a slice of work ends after sliceMs; the stream ends by itself, so that the client's credentials are checked again.
import type { HttpAnswer } from '../../api/ports/http.ts';
import type { Clock } from '../../base/clock.ts';
import { ByteRate } from './byte-rate.ts';
import { ContainerTail, idleMs, openingMs, type TailOptions } from './container-tail.ts';
import { eventMessage, LogBatch } from './log-batch.ts';
import { formatPositions, type SavedPosition } from './log-position.ts';
import type { ContainerInstance } from './plan-opening.ts';

export interface MergedLogDeps {
  /** All containers of the pod; undefined once it is gone. */
  readonly look: () => readonly ContainerInstance[] | undefined;
  readonly openLog: (
    container: string,
    query: URLSearchParams,
    signal: AbortSignal,
  ) => HttpAnswer | Promise<HttpAnswer>;
  readonly clock: Clock;
  /** Resolves after other pending work has run. */
  readonly pause: () => Promise<void>;
}

interface MergedLogOptions extends Omit<TailOptions, 'saved'> {
  readonly containers: readonly string[];
  readonly saved: ReadonlyMap<string, SavedPosition>;
}

const sentBytesPerSecond = 1024 * 1024;
/** Also of lines whose rest is cut off, so that a line without an end costs little. */
const readBytesPerSecond = 8 * 1024 * 1024;
const longestMs = 5 * 60_000;
const retryMs = 1_000;
/** A comment keeps proxies from closing an idle stream, and finds clients that are gone. */
const heartbeatMs = 15_000;
const sliceMs = 1.5;
const heartbeat = Buffer.from(': \n\n');

export class MergedLog {
  readonly #deps: MergedLogDeps;
  readonly #options: MergedLogOptions;
  readonly #tails: readonly ContainerTail[];
  readonly #sent: ByteRate;
  readonly #ended = new AbortController();
  readonly #endsAtMs: number;
  #wake: () => void = () => undefined;
  #reported = '';
  #offeredAtMs: number | undefined;
  #sliceStartMs = 0;

  constructor(deps: MergedLogDeps, options: MergedLogOptions) {
    const { clock, look, openLog } = deps;
    this.#deps = deps;
    this.#options = options;
    this.#sent = new ByteRate({ clock, bytesPerSecond: sentBytesPerSecond, burstBytes: sentBytesPerSecond });
    this.#endsAtMs = clock.monotonic() + longestMs;
    this.#offeredAtMs = clock.monotonic();
    const input = new ByteRate({ clock, bytesPerSecond: readBytesPerSecond, burstBytes: readBytesPerSecond });
    this.#tails = options.containers.map(
      (name) =>
        new ContainerTail(
          name,
          {
            look: () => look()?.find((each) => each.name === name),
            openLog: (query, signal) => openLog(name, query, signal),
            input,
            clock,
            onReady: () => this.#wake(),
          },
          { ...options, saved: options.saved.get(name) },
          this.#ended.signal,
        ),
    );
  }

  async *messages(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    const onAbort = (): void => this.#ended.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      for await (const message of this.#untilEnd()) {
        this.#offeredAtMs = this.#deps.clock.monotonic();
        yield message;
        this.#offeredAtMs = undefined;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.stop();
    }
  }

  /** Closes the logs. The stream ends when the client takes the next message. */
  stop(): void {
    this.#ended.abort();
    for (const tail of this.#tails) tail.stop();
  }

  /** Since when the client has not taken a message. */
  get offeredAtMs(): number | undefined {
    return this.#offeredAtMs;
  }

  async *#untilEnd(): AsyncGenerator<Uint8Array, void> {
    const { clock } = this.#deps;
    while (!this.#ended.signal.aborted) {
      const changed = this.#containersMessage();
      if (changed !== undefined) yield changed;
      if (clock.monotonic() >= this.#endsAtMs) {
        yield eventMessage('end', { why: 'The stream has reached its longest duration', retryMs });
        return;
      }
      for (const tail of this.#tails) tail.want();
      if (this.#tails.every((tail) => tail.ended && tail.peek() === undefined)) {
        yield eventMessage('end', { why: this.#whyComplete() });
        return;
      }
      if (!(await this.#hasLine())) {
        if (this.#ended.signal.aborted) return;
        if (this.#state() === this.#reported) yield heartbeat;
        continue;
      }
      yield* this.#batch();
      for (const tail of this.#tails) tail.want();
      const throttledMs = this.#sent.waitMs;
      if (throttledMs > 0) await this.#wait(throttledMs, false);
      for (const tail of this.#tails) tail.skipIfBehind();
    }
  }

  /** Waits for a line. False: it is time for a heartbeat, or for something else. */
  async #hasLine(): Promise<boolean> {
    const has = (): boolean => this.#tails.some((tail) => tail.peek() !== undefined);
    if (!has()) {
      const leftMs = this.#endsAtMs - this.#deps.clock.monotonic();
      const untilMs = this.#deps.clock.monotonic() + Math.min(heartbeatMs, leftMs);
      for (;;) {
        const waitMs = untilMs - this.#deps.clock.monotonic();
        if (waitMs <= 0 || this.#ended.signal.aborted) return false;
        if (this.#tails.every((tail) => tail.ended) || this.#state() !== this.#reported) return false;
        await this.#wait(waitMs, true);
        for (const tail of this.#tails) tail.want();
        if (has()) break;
      }
    }
    await this.#untilMergeable();
    return true;
  }

  /** Other containers may have earlier lines that are being read. */
  async #untilMergeable(): Promise<void> {
    const untilMs = this.#deps.clock.monotonic() + openingMs + idleMs;
    while (this.#tails.some((tail) => tail.isReading)) {
      const waitMs = Math.min(idleMs, untilMs - this.#deps.clock.monotonic());
      if (waitMs <= 0 || this.#ended.signal.aborted) return;
      await this.#wait(waitMs, true);
      for (const tail of this.#tails) tail.want();
    }
  }

  /** One message with the lines of all logs, and the skipped output before them. */
  async *#batch(): AsyncGenerator<Uint8Array, void> {
    const batch = new LogBatch();
    this.#sliceStartMs = this.#deps.clock.monotonic();
    while (!batch.isFull) {
      await this.#yieldIfDue();
      const index = this.#earliest();
      const tail = this.#tails[index];
      const line = tail?.peek();
      if (tail === undefined || line === undefined) break;
      const skipped = tail.takeSkipped();
      if (skipped !== undefined) {
        if (!batch.isEmpty) yield this.#message(batch);
        yield eventMessage('skipped', { container: tail.name, ...skipped });
        yield* this.#single(index, tail);
        return;
      }
      if (!batch.add(index, line)) break;
      tail.take();
      // Its next line may be earlier than those of the others.
      if (tail.peek() === undefined) break;
    }
    if (!batch.isEmpty) yield this.#message(batch);
  }

  /** The first line after skipped output. */
  *#single(index: number, tail: ContainerTail): Generator<Uint8Array, void> {
    const batch = new LogBatch();
    const line = tail.peek();
    if (line === undefined) return;
    batch.add(index, line);
    tail.take();
    yield this.#message(batch);
  }

  #message(batch: LogBatch): Uint8Array {
    const positions = new Map<string, SavedPosition>();
    for (const tail of this.#tails) if (tail.saved !== undefined) positions.set(tail.name, tail.saved);
    const message = batch.message(formatPositions(positions));
    this.#sent.spend(message.length);
    return message;
  }

  #earliest(): number {
    let earliest = -1;
    let time = '';
    for (const [index, tail] of this.#tails.entries()) {
      const line = tail.peek();
      if (line === undefined || (earliest >= 0 && line.time >= time)) continue;
      earliest = index;
      time = line.time;
    }
    return earliest;
  }

  #state(): string {
    const seen = this.#deps.look();
    return JSON.stringify(
      this.#tails.map(({ name, problem }) => ({
        name,
        state: seen?.find((each) => each.name === name)?.state ?? 'gone',
        ...(problem === undefined ? {} : { problem }),
      })),
    );
  }

  /** At the beginning, and when the state of a container has changed. */
  #containersMessage(): Uint8Array | undefined {
    const state = this.#state();
    if (state === this.#reported) return undefined;
    this.#reported = state;
    return Buffer.from(`event: containers\ndata: ${state}\n\n`);
  }

  #whyComplete(): string {
    return this.#options.follow && !this.#options.previous
      ? 'The containers have ended'
      : 'The log is complete';
  }

  async #yieldIfDue(): Promise<void> {
    if (this.#deps.clock.monotonic() - this.#sliceStartMs < sliceMs) return;
    await this.#deps.pause();
    this.#sliceStartMs = this.#deps.clock.monotonic();
  }

  /** Until the time has passed, a container has something new, or the stream has ended. */
  #wait(ms: number, wakes: boolean): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        this.#ended.signal.removeEventListener('abort', done);
        this.#wake = () => undefined;
        resolve();
      };
      const timer = this.#deps.clock.setTimer(ms, done);
      if (wakes) this.#wake = done;
      this.#ended.signal.addEventListener('abort', done, { once: true });
      if (this.#ended.signal.aborted) done();
    });
  }
}

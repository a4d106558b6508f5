// Reads a stream whose messages each replace all earlier ones, and keeps the newest.
// Invariants: at most two messages are held; a sender that floods the stream is slowed down by flow control, so that reading
// takes a bounded share of the event loop; the last message before the end of the stream is not lost.
import type { Clock } from '../../base/clock.ts';

/** A burst is read at once, then reading pauses. */
const burstMessages = 32;
const burstBytes = 256 * 1024;
const restMs = 20;
/** Between two messages that are passed on. */
const intervalMs = 100;

/** The messages of the stream without those that were replaced before they could be passed on. Ends or throws as the stream. */
export async function* newestMessages(
  stream: AsyncIterable<Buffer>,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const pump = new Pump(stream, clock, signal);
  // #run never rejects.
  void pump.run();
  for (;;) {
    const message = await pump.next();
    if (message === undefined) return;
    const passedMs = clock.monotonic();
    yield message;
    const leftMs = passedMs + intervalMs - clock.monotonic();
    if (leftMs > 0) await clock.sleep(leftMs, signal);
  }
}

class Pump {
  readonly #stream: AsyncIterable<Buffer>;
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #signal: AbortSignal;
  #newest: Buffer | undefined;
  #end: { readonly err: unknown } | undefined;
  #wake = (): void => undefined;

  constructor(stream: AsyncIterable<Buffer>, clock: Pick<Clock, 'sleep'>, signal: AbortSignal) {
    this.#stream = stream;
    this.#clock = clock;
    this.#signal = signal;
  }

  async run(): Promise<void> {
    let messages = 0;
    let bytes = 0;
    try {
      for await (const message of this.#stream) {
        this.#newest = message;
        this.#wake();
        messages += 1;
        bytes += message.length;
        if (messages < burstMessages && bytes < burstBytes) continue;
        await this.#clock.sleep(restMs, this.#signal);
        messages = 0;
        bytes = 0;
      }
      this.#end = { err: undefined };
    } catch (err) {
      this.#end = { err };
    }
    this.#wake();
  }

  /** Undefined at the end of the stream. */
  async next(): Promise<Buffer | undefined> {
    while (this.#newest === undefined && this.#end === undefined)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const message = this.#newest;
    this.#newest = undefined;
    if (message === undefined && this.#end?.err !== undefined) throw this.#end.err;
    return message;
  }
}

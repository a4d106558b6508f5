// One viewer of the stream: what it has not read yet, handed out as it reads.
// Invariant: at most one message per slot is pending, so that a viewer that does not read costs a bounded amount.
import type { HttpStream } from '../../api/ports/http.ts';
import type { Clock } from '../../base/clock.ts';
import type { EventName } from './event-stream.ts';

/** What a message replaces while it is pending. */
type Slot = EventName | 'retry' | 'heartbeat';

/** Bytes, or a level that is encoded when the viewer reads it: as a whole or in pieces. */
type Message = Uint8Array | (() => Uint8Array | Iterable<Uint8Array>);

interface ViewerOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The pod whose detail it requested. */
  readonly pod: string | undefined;
  readonly health: boolean;
  /** Its client has disconnected. */
  readonly onLeave: (viewer: Viewer) => void;
}

export class Viewer implements HttpStream {
  readonly pod: string | undefined;
  readonly health: boolean;
  readonly connectedMs: number;
  readonly #options: ViewerOptions;
  readonly #pending = new Map<Slot, Message>();
  /** The rest of a level that is read in pieces: no other message may come in between. */
  #pieces: Iterator<Uint8Array> | undefined;
  #last: Uint8Array | undefined;
  #hasEnded = false;
  #readMs: number;
  #wake: (() => void) | undefined;

  constructor(options: ViewerOptions) {
    this.#options = options;
    this.pod = options.pod;
    this.health = options.health;
    this.connectedMs = options.clock.monotonic();
    this.#readMs = this.connectedMs;
  }

  /** Replaces what is pending in the slot. */
  offer(slot: Slot, message: Message): void {
    if (this.#hasEnded) return;
    this.#pending.set(slot, message);
    this.#wakeUp();
  }

  /** A change to a level. If the viewer has not read the previous one, it gets the level itself instead. */
  offerChange(slot: Slot, change: Uint8Array, level: Message): void {
    this.offer(slot, this.#pending.has(slot) ? level : change);
  }

  /** No further message is accepted; `last` follows what is pending. */
  end(last?: Uint8Array): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#last = last;
    this.#wakeUp();
  }

  /** Drops what is pending, and ends. */
  drop(): void {
    this.#pending.clear();
    this.#pieces = undefined;
    this.#last = undefined;
    this.#hasEnded = true;
    this.#wakeUp();
  }

  /** How long the viewer has left a message unread. */
  unreadMs(): number {
    return this.#wake === undefined ? this.#options.clock.monotonic() - this.#readMs : 0;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: () => {
        this.drop();
        this.#options.onLeave(this);
        return Promise.resolve({ done: true, value: undefined });
      },
    };
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      this.#readMs = this.#options.clock.monotonic();
      const value = this.#take();
      if (value !== undefined) return { done: false, value };
      if (this.#hasEnded) {
        this.#options.onLeave(this);
        return { done: true, value: undefined };
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #take(): Uint8Array | undefined {
    const piece = this.#pieces?.next();
    if (piece !== undefined && piece.done !== true) return piece.value;
    this.#pieces = undefined;
    for (const [slot, message] of this.#pending) {
      this.#pending.delete(slot);
      const encoded = typeof message === 'function' ? message() : message;
      if (encoded instanceof Uint8Array) return encoded;
      this.#pieces = encoded[Symbol.iterator]();
      return this.#take();
    }
    const last = this.#last;
    this.#last = undefined;
    return last;
  }

  #wakeUp(): void {
    const wake = this.#wake;
    if (wake === undefined) return;
    this.#wake = undefined;
    this.#readMs = this.#options.clock.monotonic();
    wake();
  }
}

// Whether the API server can be reached, by the outcome of requests. Owns ControlPlane (sole writer: the decorated client).
// Invariants: one failed request cuts nothing off; one answer ends it at once; only the monotonic clock counts, since the wall
// clock may be years off after a boot.
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { isAbort, KubeletError } from '../base/errors.ts';
import type { Store } from '../base/store.ts';

/** Without any answer for so long after the start, the API server counts as unreachable. */
const firstAnswerMs = 3_000;
/** Later requests must have failed for so long, without any answer. */
const failingMs = 10_000;

type Outcome = 'answered' | 'failed' | 'nothing';

export class ControlPlane implements Store, Component {
  readonly name = 'control-plane';
  readonly storeName = 'ControlPlane';
  readonly writer = 'kept-client';
  readonly changed = new Channel<void>();
  readonly #clock: Pick<Clock, 'monotonic' | 'setTimer'>;
  #unreachable = false;
  #hasAnswered = false;
  #failingSinceMs: number | undefined;
  #lastFailure: unknown;

  constructor(clock: Pick<Clock, 'monotonic' | 'setTimer'>) {
    this.#clock = clock;
  }

  isUnreachable(): boolean {
    return this.#unreachable;
  }

  /** The last failure of a request, for messages. */
  lastFailure(): unknown {
    return this.#lastFailure;
  }

  /** The first answer is due from now on. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const timer = this.#clock.setTimer(firstAnswerMs, () => {
      if (!this.#hasAnswered) this.#set(true);
    });
    return { stopped: untilAborted(signal).then(() => timer.cancel()) };
  }

  succeeded(): void {
    this.#hasAnswered = true;
    this.#failingSinceMs = undefined;
    this.#set(false);
  }

  /** Any error of a request, also one that the server answered with. */
  failed(err: unknown): void {
    const outcome = outcomeOf(err);
    if (outcome === 'answered') this.succeeded();
    if (outcome !== 'failed') return;
    this.#lastFailure = err;
    const nowMs = this.#clock.monotonic();
    this.#failingSinceMs ??= nowMs;
    if (this.#hasAnswered && nowMs - this.#failingSinceMs >= failingMs) this.#set(true);
  }

  #set(unreachable: boolean): void {
    if (this.#unreachable === unreachable) return;
    this.#unreachable = unreachable;
    this.changed.push();
  }
}

/**
 * Whether an error is an answer of a control plane that works. A 401 is none: a client certificate that expired during a long
 * cut-off, or that the server's clock does not accept, must not keep the node's pods down. A 403 is one: the node is known.
 */
export function outcomeOf(err: unknown): Outcome {
  if (isAbort(err)) return 'nothing';
  const code = err instanceof KubeletError ? err.details['code'] : undefined;
  if (typeof code !== 'number') return 'failed';
  return code < 500 && code !== 401 && code !== 408 && code !== 429 ? 'answered' : 'failed';
}

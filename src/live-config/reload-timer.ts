// Waits for the next thing to do: to read the files, or to look after the trial. The rules are in reload-time.ts.
import type { Clock, Timer } from '../base/clock.ts';
import { computeReloadTime } from './reload-time.ts';

export class ReloadTimer {
  readonly #clock: Clock;
  #firstChangeMs: number | undefined;
  #lastChangeMs = 0;
  #isRequested = false;
  #isForced = false;
  #lastLoadMs: number;
  #wake: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastLoadMs = clock.monotonic();
  }

  /** The files may have changed. */
  change(): void {
    this.#lastChangeMs = this.#clock.monotonic();
    this.#firstChangeMs ??= this.#lastChangeMs;
    this.#wake();
  }

  /** `forced`: by an operator: an answer is due even if nothing changed. */
  request({ forced }: { readonly forced: boolean }): void {
    this.#isRequested = true;
    this.#isForced ||= forced;
    this.#wake();
  }

  /** Resolves to how to load, or to undefined after `tickMs` or the abort. */
  async next(tickMs: number, signal: AbortSignal): Promise<{ readonly forced: boolean } | undefined> {
    const endMs = this.#clock.monotonic() + tickMs;
    while (!signal.aborted) {
      const nowMs = this.#clock.monotonic();
      const loadMs = computeReloadTime({
        firstChangeMs: this.#firstChangeMs,
        lastChangeMs: this.#lastChangeMs,
        isRequested: this.#isRequested,
        lastLoadMs: this.#lastLoadMs,
      });
      if (loadMs <= nowMs) return this.#take(nowMs);
      if (endMs <= nowMs) return undefined;
      await this.#sleep(Math.min(loadMs, endMs) - nowMs, signal);
    }
    return undefined;
  }

  #take(nowMs: number): { readonly forced: boolean } {
    const forced = this.#isForced;
    this.#lastLoadMs = nowMs;
    this.#firstChangeMs = undefined;
    this.#isRequested = false;
    this.#isForced = false;
    return { forced };
  }

  /** Ends early when something changes. */
  #sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        this.#wake = () => undefined;
        resolve();
      };
      const timer: Timer = this.#clock.setTimer(ms, end);
      signal.addEventListener('abort', end, { once: true });
      this.#wake = end;
    });
  }
}

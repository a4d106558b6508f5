// A Clock that only a test advances. Timers fire by due time (if equal, by creation), each in a turn of its own with
// all resulting promises settled before the next one, like real timers. The wall clock is the monotonic one plus an
// offset that only stepWall() changes.
import { type Clock, checkDelay, sleepWith, type Timer } from '../../src/base/clock.ts';

interface Pending {
  readonly dueMs: number;
  readonly seq: number;
  readonly fn: () => void;
}

/** Promise chains drain within one turn; further turns are for code that uses setImmediate itself. */
const turnsToSettle = 5;

/** 2026-01-01T00:00:00Z: a plausible date, the same in every run. */
const defaultStartMs = 1_767_225_600_000;

export class FakeClock implements Clock {
  readonly #pending: Pending[] = [];
  #monotonicMs = 0;
  #wallOffsetMs: number;
  #seq = 0;
  #moves: Promise<unknown> = Promise.resolve();

  constructor(startMs: number = defaultStartMs) {
    this.#wallOffsetMs = startMs;
  }

  now(): number {
    return this.#wallOffsetMs + this.#monotonicMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  setTimer(ms: number, fn: () => void): Timer {
    checkDelay(ms);
    if (ms === Number.POSITIVE_INFINITY) return { cancel: () => undefined };
    const entry: Pending = { dueMs: this.#monotonicMs + Math.max(0, ms), seq: this.#seq++, fn };
    // After all earlier timers with the same due time.
    this.#pending.splice(this.#firstIndexAfter(entry.dueMs), 0, entry);
    return { cancel: () => this.#remove(entry) };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWith(this, ms, signal);
  }

  /**
   * Advances time by ms and fires the timers that fall due, including those set meanwhile. Rejects with the error that
   * a timer throws. Overlapping calls run one after the other.
   */
  advance(ms: number): Promise<void> {
    return this.#move(async () => {
      await this.settle();
      const targetMs = this.#monotonicMs + ms;
      while (await this.#fireNext(targetMs)) {
        // Each turn fires one timer and lets the resulting promises settle.
      }
      this.#monotonicMs = targetMs;
      await this.settle();
    });
  }

  /** Advances from timer to timer until the promise settles. Throws after maxMs, or if no timer is left. */
  until<T>(promise: Promise<T>, maxMs = 3_600_000): Promise<T> {
    return this.#move(async () => {
      const watched = { settled: false };
      const mark = (): void => {
        watched.settled = true;
      };
      promise.then(mark, mark);
      await this.settle();
      const targetMs = this.#monotonicMs + maxMs;
      while (!watched.settled) {
        if (!(await this.#fireNext(targetMs)))
          throw new Error(`promise still pending after ${maxMs} ms of fake time`);
      }
      return promise;
    });
  }

  /** Steps the wall clock, as an administrator or NTP would; timers and monotonic() are not affected. */
  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }

  pendingTimers(): number {
    return this.#pending.length;
  }

  /** Runs everything that does not depend on time passing. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < turnsToSettle; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  #move<T>(step: () => Promise<T>): Promise<T> {
    const moved = this.#moves.then(step);
    this.#moves = moved.catch(() => undefined);
    return moved;
  }

  async #fireNext(targetMs: number): Promise<boolean> {
    const next = this.#pending[0];
    if (next === undefined || next.dueMs > targetMs) return false;
    this.#pending.shift();
    this.#monotonicMs = next.dueMs;
    next.fn();
    await this.settle();
    return true;
  }

  #firstIndexAfter(dueMs: number): number {
    let low = 0;
    let high = this.#pending.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pending[middle]?.dueMs ?? 0) <= dueMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #remove(entry: Pending): void {
    const index = this.#pending.indexOf(entry);
    if (index >= 0) this.#pending.splice(index, 1);
  }
}

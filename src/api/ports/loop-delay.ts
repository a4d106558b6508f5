// How long the event loop kept callers waiting. Types only; edge/host/loop-delay.ts measures it.

export interface LoopDelay {
  /** Measures from now on for at least this long; without it nothing is measured. */
  watch(forMs: number): void;
  /**
   * The longest delay in milliseconds since that moment of the monotonic clock, a delay still in progress included.
   * Looks back one minute at most, in steps of a quarter of a second.
   */
  maxSinceMs(sinceMs: number): number;
}

// The delay of the event loop. Types only; an edge measures it.

export interface LoopDelay {
  /** Measures for at least this long. Nothing is measured otherwise. */
  watch(forMs: number): void;
  /**
   * The longest delay in milliseconds since that moment of the monotonic clock, including one in progress.
   * Covers at most the last minute, in steps of 250 ms.
   */
  maxSinceMs(sinceMs: number): number;
}

export interface LoopDelaySteps extends Pick<LoopDelay, 'watch'> {
  /** The longest delay of each of these steps since that moment; steps without a measurement are omitted. */
  longestSinceMs(sinceMs: number): readonly number[];
}

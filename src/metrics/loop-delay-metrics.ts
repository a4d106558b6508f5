// Delay of the kubelet's event loop: everything shares one thread, so a long task delays every pod. Independent of the scrape
// interval, unlike nodejs_eventloop_lag_*, and measured from the first scrape on.
import type { LoopDelay } from '../api/ports/loop-delay.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Metrics } from '../base/metrics.ts';

export interface LoopDelaySource extends LoopDelay {
  /** `observe` is called with every delay above `fromMs`. */
  start(observe: (delayMs: number) => void, fromMs: number): void;
  stop(): void;
}

const minDelayMs = 10;
const lookBackMs = 60_000;
/** Longer than any usual scrape interval. */
const watchMs = 150_000;

/** The component measures while it runs and is being scraped. */
export function loopDelayMetrics(
  registry: Metrics,
  delay: LoopDelaySource,
  clock: Pick<Clock, 'monotonic'>,
): Component {
  const delays = registry.histogram({
    name: 'kubelet_event_loop_delay_seconds',
    help: 'Delays of the event loop of 10 ms and more.',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  const longest = registry.gauge({
    name: 'kubelet_event_loop_delay_max_seconds',
    help: 'Longest delay of the event loop within the last minute.',
  });
  registry.onCollect(() => {
    longest.set({}, delay.maxSinceMs(clock.monotonic() - lookBackMs) / 1000);
    delay.watch(watchMs);
  });
  return {
    name: 'loop-delay',
    start: (signal) => {
      delay.start((delayMs) => delays.observe({}, delayMs / 1000), minDelayMs);
      return Promise.resolve({ stopped: untilAborted(signal).then(() => delay.stop()) });
    },
  };
}

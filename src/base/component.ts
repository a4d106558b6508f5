// The unit that the supervisor starts and stops, and the wake-ups it declares.
// Invariant: a constructor keeps its dependencies and does nothing else. Everything that happens, happens between start() and
// `stopped`, and so do the subscriptions: a component declares them, startComponent() makes and removes them.
import { untilAborted } from './abort/race-abort.ts';
import type { Subscribable } from './channel.ts';

export interface Component {
  /** Appears in logs, in the error of a failed start and in docs/wiring.md. */
  readonly name: string;
  /** What wakes the component. Subscribed right before start(), unsubscribed when the component is stopped. */
  readonly wakes?: readonly Wake[];
  /** How busy its queue is; absent if it has none. Computed when it is called, never kept up to date. */
  loopLoad?(): LoopLoad;
  /**
   * Resolves when the component is ready; rejects when it cannot start. Aborting the signal, before or after that, stops
   * it. `stopped` settles when it has released everything; settling before the abort is a failure.
   */
  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }>;
}

export interface LoopLoad {
  readonly running: number;
  readonly queued: number;
  /** Keys that wait for the retry of a failed run. */
  readonly backingOff: number;
  /** How long the oldest run has been in progress; undefined while none is. */
  readonly oldestRunMs: number | undefined;
  /** The key of that run, truncated. */
  readonly oldestKey: string | undefined;
}

/** One declared subscription. `source` identifies the channel in docs/wiring.md. */
interface Wake {
  readonly source: object;
  subscribe(): () => void;
}

export function on<T>(source: Subscribable<T>, listener: (value: T) => void): Wake {
  return { source, subscribe: () => source.subscribe(listener) };
}

/** Starts a component with its wake-ups; the supervisor and tests start components only through this. */
export async function startComponent(
  component: Component,
  signal: AbortSignal,
): Promise<{ readonly stopped: Promise<void> }> {
  const unsubscribe = (component.wakes ?? []).map((wake) => wake.subscribe());
  const end = (): void => {
    signal.removeEventListener('abort', end);
    for (const each of unsubscribe.splice(0)) each();
  };
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  try {
    return await component.start(signal);
  } catch (err) {
    end();
    throw err;
  }
}

/** A component that only reacts: it has wake-ups and no loop of its own. */
export function reaction(name: string, wakes: readonly Wake[]): Component {
  return {
    name,
    wakes,
    start: async (signal) => ({ stopped: untilAborted(signal) }),
  };
}

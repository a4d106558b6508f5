// Fails a suite that leaves something open: a timer, a socket, a pipe, a child. For suites that open real things;
// on the fake clock, pendingTimers() tells the same.
// Handles are counted by type, per thread of the test runner, which runs one file at a time. Timers are followed one
// by one instead: the runner has some of its own that come and go and would hide as many of ours; and so the place
// where a forgotten timer was made can be told.
import { createHook } from 'node:async_hooks';

/** As process.getActiveResourcesInfo() names them. */
const watchedTypes = ['TCPSocketWrap', 'TCPServerWrap', 'PipeWrap', 'PipeServerWrap', 'ProcessWrap'] as const;

type Counts = ReadonlyMap<string, number>;

export interface LeakCheck {
  /** Rejects when something made since the check began is still open, after giving closing things a little time. */
  assertNone(): Promise<void>;
}

interface LeakCheckOptions {
  /** How long closing things may take. */
  readonly settleMs?: number;
  /** The names of the open resources; for testing the check itself. */
  readonly active?: () => readonly string[];
}

/** For `active`: a thread that goes on shows as its port; told as one of the types that the check watches. */
export function threads(): readonly string[] {
  return process.getActiveResourcesInfo().map((name) => (name === 'MessagePort' ? 'PipeWrap' : name));
}

/** To be made in beforeEach and asserted in afterEach. */
export function checkLeaks(options: LeakCheckOptions = {}): LeakCheck {
  const active = options.active ?? (() => process.getActiveResourcesInfo());
  const settleMs = options.settleMs ?? 500;
  const before = count(active());
  const timers = followTimers();
  const leaks = (): string[] => [...more(before, count(active())), ...timers.open()];
  return {
    async assertNone() {
      const deadlineMs = performance.now() + settleMs;
      while (leaks().length > 0 && performance.now() < deadlineMs) await pause();
      const left = leaks();
      timers.stop();
      if (left.length > 0) throw new Error(`left open: ${left.join(', ')}`);
    },
  };
}

interface OpenTimer {
  readonly timer: WeakRef<NodeJS.Timeout>;
  readonly place: string;
}

function followTimers(): { open(): string[]; stop(): void } {
  const timers = new Map<number, OpenTimer>();
  const hook = createHook({
    init(id, type, _trigger, resource) {
      if (type !== 'Timeout') return;
      const place = callerPlace(new Error('made here').stack ?? '');
      if (!/[/\\]node_modules[/\\](@vitest|vitest)[/\\]/.test(place))
        timers.set(id, { timer: new WeakRef(resource as NodeJS.Timeout), place });
    },
    destroy(id) {
      timers.delete(id);
    },
  }).enable();
  return {
    // A timer that was unref'd holds nothing open: Node's own for idle connections are such.
    open: () =>
      [...timers.values()]
        .filter(({ timer }) => timer.deref()?.hasRef() === true)
        .map(({ place }) => `a timer made ${place}`),
    stop: () => {
      hook.disable();
    },
  };
}

/** The innermost frame that is neither Node's nor this file's. */
function callerPlace(stack: string): string {
  const frames = stack.split('\n').slice(1);
  const caller = frames.find((frame) => !frame.includes('node:') && !/[/\\]leaks[/\\]leaks\.ts/.test(frame));
  return caller?.trim() ?? 'at an unknown place';
}

function count(names: readonly string[]): Counts {
  const counts = new Map<string, number>();
  for (const type of watchedTypes) counts.set(type, names.filter((name) => name === type).length);
  return counts;
}

function more(before: Counts, after: Counts): string[] {
  return [...after]
    .map(([type, now]) => [type, now - (before.get(type) ?? 0)] as const)
    .filter(([, extra]) => extra > 0)
    .map(([type, extra]) => `${extra} ${type}`);
}

/** The timer of the wait itself is made here, so it is never open when the count is taken: it has fired. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(() => setImmediate(resolve), 10));
}

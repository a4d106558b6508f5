// Fails a suite that leaks a timer, a socket, a pipe or a child process. For suites with real resources; on the fake
// clock, pendingTimers() serves the same purpose.
// Handles are counted by type, per worker of the test runner, which runs one file at a time. Timers are tracked one by
// one instead: the runner sets and clears timers of its own, which would hide as many of ours, and so the report can
// name the line that set a leaked timer.
import { createHook } from 'node:async_hooks';

/** As process.getActiveResourcesInfo() names them. */
const watchedTypes = ['TCPSocketWrap', 'TCPServerWrap', 'PipeWrap', 'PipeServerWrap', 'ProcessWrap'] as const;

type Counts = ReadonlyMap<string, number>;

export interface LeakCheck {
  /** Rejects if anything opened since the check began is still open after `settleMs`. */
  assertNone(): Promise<void>;
}

interface LeakCheckOptions {
  /** How long closing may take. */
  readonly settleMs?: number;
  /** The types of the open resources, for tests of the check itself. */
  readonly active?: () => readonly string[];
}

/** For `active`: a running thread appears as its message port, mapped to one of the watched types. */
export function threads(): readonly string[] {
  return process.getActiveResourcesInfo().map((name) => (name === 'MessagePort' ? 'PipeWrap' : name));
}

/** Call in beforeEach and assert in afterEach. */
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
      const place = callerPlace(new Error('set here').stack ?? '');
      if (!/[/\\]node_modules[/\\](@vitest|vitest)[/\\]/.test(place))
        timers.set(id, { timer: new WeakRef(resource as NodeJS.Timeout), place });
    },
    destroy(id) {
      timers.delete(id);
    },
  }).enable();
  return {
    // An unref'd timer does not keep the process alive; Node's own for idle connections are unref'd.
    open: () =>
      [...timers.values()]
        .filter(({ timer }) => timer.deref()?.hasRef() === true)
        .map(({ place }) => `a timer set ${place}`),
    stop: () => {
      hook.disable();
    },
  };
}

/** The innermost frame that is neither Node's nor this file's. */
function callerPlace(stack: string): string {
  const frames = stack.split('\n').slice(1);
  const caller = frames.find((frame) => !frame.includes('node:') && !/[/\\]leaks[/\\]leaks\.ts/.test(frame));
  return caller?.trim() ?? 'at an unknown location';
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

/** The timer of this wait has fired before the next count, so it is never counted. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(() => setImmediate(resolve), 10));
}

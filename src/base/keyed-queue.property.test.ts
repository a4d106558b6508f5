import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { KeyedQueue } from './keyed-queue.ts';

type Command =
  | { readonly do: 'add'; readonly key: number }
  | { readonly do: 'cancel'; readonly key: number }
  | { readonly do: 'addAfter'; readonly key: number; readonly ms: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'end-run'; readonly nth: number; readonly fails: boolean };

const key = fc.nat({ max: 4 });
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key }),
  fc.record({ do: fc.constant('cancel' as const), key }),
  fc.record({ do: fc.constant('addAfter' as const), key, ms: fc.nat({ max: 50 }) }),
  fc.record({ do: fc.constant('advance' as const), ms: fc.nat({ max: 60 }) }),
  fc.record({ do: fc.constant('end-run' as const), nth: fc.nat({ max: 4 }), fails: fc.boolean() }),
);

/** Checks the queue's invariants while it replays a random history. */
class World {
  readonly clock = new FakeClock();
  readonly inFlight = new Map<number, (failed: boolean) => void>();
  readonly violations: string[] = [];
  /** Keys added, directly or by a due wake, and not run since. */
  readonly owed = new Set<number>();
  readonly queue: KeyedQueue<number>;

  constructor(parallel: number) {
    this.queue = new KeyedQueue<number>({
      clock: this.clock,
      parallel,
      backoff: { initialMs: 7, maxMs: 30, jitter: 0.5 },
      random: () => 0.3,
      run: (key, signal) => {
        if (this.inFlight.has(key)) this.violations.push(`two runs of ${key}`);
        if (this.inFlight.size >= parallel) this.violations.push('more runs than the cap');
        this.owed.delete(key);
        return new Promise((resolve, reject) => {
          this.inFlight.set(key, (failed) => {
            this.inFlight.delete(key);
            if (signal.aborted) reject(signal.reason);
            else if (failed) reject(new Error('no'));
            else resolve();
          });
        });
      },
    });
    this.queue.start();
  }

  async play(step: Command): Promise<void> {
    if (step.do === 'add') {
      this.owed.add(step.key);
      this.queue.add(step.key);
    } else if (step.do === 'cancel') this.queue.cancel(step.key);
    else if (step.do === 'addAfter') {
      this.owed.add(step.key);
      this.queue.addAfter(step.key, step.ms);
    } else if (step.do === 'advance') await this.clock.advance(step.ms);
    else [...this.inFlight.values()][step.nth]?.(step.fails);
    await Promise.resolve();
  }

  /** Lets every run succeed until the queue is idle. */
  async finish(): Promise<void> {
    for (let round = 0; round < 100 && this.#busy(); round++) {
      await this.clock.advance(60);
      for (const end of this.inFlight.values()) end(false);
    }
    await this.clock.settle();
  }

  #busy(): boolean {
    return [0, 1, 2, 3, 4].some((each) => this.queue.isActive(each));
  }
}

test('KeyedQueue keeps its invariants in any sequence of adds, cancels and failures', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.array(command, { maxLength: 60 }),
      async (parallel, steps) => {
        const world = new World(parallel);
        for (const step of steps) await world.play(step);
        await world.finish();
        expect({
          violations: world.violations,
          notRunAfterTheirLastAdd: [...world.owed],
          inFlight: world.inFlight.size,
          timers: world.clock.pendingTimers(),
        }).toEqual({ violations: [], notRunAfterTheirLastAdd: [], inFlight: 0, timers: 0 });
      },
    ),
    { numRuns: 300 },
  );
});

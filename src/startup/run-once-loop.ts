// --runonce: waits until the pods are up or have ended, then stops the kubelet.
// Invariant: the kubelet is stopped once, at the latest after longestWaitMs, and not at all if it was stopped before.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { type Component, on } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import {
  longestWaitMs,
  manifestDelayMs,
  type RunOnceEnd,
  type RunOncePod,
  runOnceOutcome,
  runOnceTimeout,
} from './run-once.ts';

interface RunOnceDeps {
  readonly desired: {
    all(): readonly { readonly uid: PodUid; readonly pod: Pod }[];
    sourcesReady(): boolean;
    readonly changed: Subscribable<unknown>;
    readonly ready: Subscribable<unknown>;
  };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined; readonly changed: Subscribable<unknown> };
  /** Stops the kubelet; containers keep running. */
  readonly stop: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export class RunOnce implements Component {
  readonly name = 'run-once';
  readonly wakes;
  readonly #deps: RunOnceDeps;
  #end: RunOnceEnd | undefined;
  #isRunning = false;
  #timers: readonly Timer[] = [];

  constructor(deps: RunOnceDeps) {
    this.#deps = deps;
    const { desired, statuses } = deps;
    const check = (): void => this.#check();
    this.wakes = [on(desired.changed, check), on(desired.ready, check), on(statuses.changed, check)];
  }

  /** Undefined until all pods are up or have ended. */
  get end(): RunOnceEnd | undefined {
    return this.#end;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { clock, desired, log } = this.#deps;
    this.#isRunning = true;
    this.#timers = [
      clock.setTimer(manifestDelayMs, () => {
        if (!desired.sourcesReady())
          this.#finish('No pod source has reported in time', { exit: 1, failed: [] });
      }),
      clock.setTimer(longestWaitMs, () => {
        const outcome = runOnceTimeout(this.#pods());
        const message = outcome.exit === 0 ? 'Pods started, some still run' : 'Pods did not start in time';
        this.#finish(message, outcome);
      }),
    ];
    log.info('Waiting for pods to start, then exiting', { longestWaitMs });
    this.#check();
    return { stopped: untilAborted(signal).then(() => this.#cancelTimers()) };
  }

  #check(): void {
    if (!this.#isRunning || !this.#deps.desired.sourcesReady()) return;
    const outcome = runOnceOutcome(this.#pods());
    if (outcome === 'wait') return;
    this.#finish(outcome.exit === 0 ? 'Pods started' : 'Some pods did not start', outcome);
  }

  #finish(message: string, end: RunOnceEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#cancelTimers();
    const { desired, log, stop } = this.#deps;
    if (end.exit === 0) log.info(message, { pods: desired.all().length });
    else log.error(message, { failed: end.failed });
    stop();
  }

  #cancelTimers(): void {
    for (const timer of this.#timers) timer.cancel();
  }

  #pods(): readonly RunOncePod[] {
    const { desired, statuses } = this.#deps;
    return desired.all().map(({ uid, pod }) => ({ pod, status: statuses.get(uid) }));
  }
}

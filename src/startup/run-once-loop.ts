// Waits until the pods of a kubelet that runs them once are up or have ended, and says with what code to exit.
// Invariant: `outcome` settles once, at the latest after longestWaitMs, or never when stopped before.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
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
  readonly clock: Clock;
  readonly log: Logger;
}

export class RunOnce implements Component {
  readonly name = 'run-once';
  /** When it settles, the kubelet is to be stopped; containers go on running. */
  readonly outcome: Promise<RunOnceEnd>;
  readonly #deps: RunOnceDeps;
  readonly #settle: (end: RunOnceEnd) => void;

  constructor(deps: RunOnceDeps) {
    this.#deps = deps;
    let settle: (end: RunOnceEnd) => void;
    this.outcome = new Promise((resolve) => {
      settle = resolve;
    });
    this.#settle = (end) => settle(end);
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { clock, desired, statuses, log } = this.#deps;
    let done = false;
    const end = (message: string, how: RunOnceEnd): void => {
      if (done) return;
      done = true;
      letGo();
      if (how.exit === 0) log.info(message, { pods: desired.all().length });
      else log.error(message, { failed: how.failed });
      this.#settle(how);
    };
    const look = (): void => {
      const outcome = desired.sourcesReady() ? runOnceOutcome(this.#pods()) : 'wait';
      if (outcome === 'wait') return;
      end(outcome.exit === 0 ? 'Pods started' : 'Some pods did not start', outcome);
    };
    const timers = [
      clock.setTimer(manifestDelayMs, () => {
        if (!desired.sourcesReady()) end('No source has named its pods', { exit: 1, failed: [] });
      }),
      clock.setTimer(longestWaitMs, () => {
        const outcome = runOnceTimeout(this.#pods());
        end(outcome.exit === 0 ? 'Pods started, some still run' : 'Pods did not start in time', outcome);
      }),
    ];
    const unsubscribe = [desired.changed, desired.ready, statuses.changed].map((each) =>
      each.subscribe(look),
    );
    const letGo = (): void => {
      for (const timer of timers) timer.cancel();
      for (const each of unsubscribe) each();
    };
    log.info('Waiting for pods to start, then exiting', { longestWaitMs });
    look();
    return { stopped: untilAborted(signal).then(letGo) };
  }

  #pods(): readonly RunOncePod[] {
    const { desired, statuses } = this.#deps;
    return desired.all().map(({ uid, pod }) => ({ pod, status: statuses.get(uid) }));
  }
}

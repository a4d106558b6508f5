// Keeps systemd's watchdog alive between two kubelets of a process, while neither of them has components that could.
// Invariant: not for longer than a start may take, so that a kubelet that hangs between two runs is killed.
import type { Clock } from '../base/clock.ts';
import { startComponent } from '../base/component.ts';
import { Aborted, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { Watchdog, watchdogIntervalMs } from '../startup/watchdog.ts';

interface RestartGapDeps {
  readonly notify: (state: string, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

const longestMs = 5 * 60_000;

export class RestartGap {
  readonly #deps: RestartGapDeps;
  #running: AbortController | undefined;

  constructor(deps: RestartGapDeps) {
    this.#deps = deps;
  }

  /** Nothing without a watchdog. A gap continues over kubelets that fail to start. */
  begin(): void {
    const intervalMs = watchdogIntervalMs(process.env, process.pid);
    if (intervalMs === undefined || this.#running !== undefined) return;
    const { clock, log } = this.#deps;
    const sinceMs = clock.monotonic();
    const check = (): void => {
      if (clock.monotonic() - sinceMs > longestMs)
        throw new KubeletError('timeout', 'RestartTooLong', 'the kubelet did not start again in time');
    };
    this.#running = new AbortController();
    const watchdog = new Watchdog({ ...this.#deps, intervalMs, check });
    void startComponent(watchdog, this.#running.signal)
      .then(({ stopped }) => stopped)
      .catch((err: unknown) => log.error('Failed to notify the systemd watchdog', { err }));
  }

  /** The components of a kubelet run again, or the process ends. */
  end(): void {
    this.#running?.abort(new Aborted('the kubelet runs again'));
    this.#running = undefined;
  }
}

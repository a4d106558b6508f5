// Sends keep-alives to systemd's watchdog, which kills and restarts a service that stops sending them.
// Upstream: pkg/kubelet/watchdog. Invariant: nothing is sent while the health check fails or hangs.
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { isAbortOf, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

/** The variables that systemd sets. */
export interface WatchdogEnvironment {
  readonly WATCHDOG_USEC?: string | undefined;
  readonly WATCHDOG_PID?: string | undefined;
}

/** A shorter timeout cannot be met reliably. */
const shortestTimeoutMs = 1_000;

/** Half of systemd's timeout. Undefined without a watchdog, or when it watches another process. Throws on invalid variables. */
export function watchdogIntervalMs(env: WatchdogEnvironment, pid: number): number | undefined {
  const { WATCHDOG_USEC: timeout = '', WATCHDOG_PID: watched = '' } = env;
  if (timeout === '') return undefined;
  if (!/^[+-]?[0-9]+$/.test(timeout) || Number(timeout) <= 0)
    throw invalid('WATCHDOG_USEC', timeout, 'is not a positive number of microseconds');
  if (watched !== '') {
    if (!/^[+-]?[0-9]+$/.test(watched)) throw invalid('WATCHDOG_PID', watched, 'is not a process id');
    if (Number(watched) !== pid) return undefined;
  }
  const timeoutMs = Number(timeout) / 1_000;
  if (timeoutMs <= shortestTimeoutMs) throw invalid('WATCHDOG_USEC', timeout, 'is not more than a second');
  return timeoutMs / 2;
}

function invalid(variable: string, value: string, problem: string): KubeletError {
  return new KubeletError('invalid', 'InvalidWatchdog', `${variable}=${value} ${problem}`, {
    details: { variable, value },
  });
}

export interface WatchdogDeps {
  readonly intervalMs: number;
  /** Throws or rejects when the kubelet is unhealthy. */
  readonly check: (signal: AbortSignal) => Promise<void> | void;
  /** False when there is no socket to notify. */
  readonly notify: (state: string, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

/** The reason of a failed check of the sync loop. */
const syncLoopReason = 'SyncLoop';
const retryMs = 1_000;
const retryJitter = 0.1;

/** Must be the first component, so that keep-alives continue until all others have stopped. */
export class Watchdog implements Component {
  readonly name = 'systemd-watchdog';
  readonly #deps: WatchdogDeps;

  constructor(deps: WatchdogDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { intervalMs, log } = this.#deps;
    log.info('Starting systemd watchdog', { intervalMs });
    return { stopped: this.#run(signal) };
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, intervalMs, log } = this.#deps;
    try {
      for (let isFirst = true; ; isFirst = false) {
        const failure = await this.#checkAndNotify(signal);
        signal.throwIfAborted();
        // The sync loop starts after the watchdog. systemd expects no keep-alive before READY=1, and one that is still missing at the
        // next check is a failure.
        if (isFirst && isSyncLoop(failure?.cause))
          log.v(2).info('Waiting for the sync loop before notifying the systemd watchdog');
        else if (failure !== undefined) log.error(failure.message, { err: failure.cause });
        await clock.sleep(intervalMs, signal);
      }
    } catch (err) {
      if (!isAbortOf(err, signal)) throw err;
    }
  }

  /** Returns what to log, or undefined when systemd was notified. */
  async #checkAndNotify(signal: AbortSignal): Promise<{ message: string; cause: unknown } | undefined> {
    const { check, clock, intervalMs } = this.#deps;
    try {
      await withDeadline({ clock, ms: intervalMs, signal, what: 'the health check' }, async (inner) =>
        check(inner),
      );
    } catch (cause) {
      return { message: 'Kubelet is unhealthy, not notifying the systemd watchdog', cause };
    }
    try {
      await this.#notify(signal);
      return undefined;
    } catch (cause) {
      return { message: 'Failed to notify the systemd watchdog', cause };
    }
  }

  /** Retries once; a second failure is left to the next interval. */
  async #notify(signal: AbortSignal): Promise<void> {
    const { clock, log, notify, random } = this.#deps;
    const isSent = await notify('WATCHDOG=1', signal).catch(async (err: unknown) => {
      log.v(5).info('Failed to notify the systemd watchdog, retrying', { err });
      await clock.sleep(retryMs * (1 + retryJitter * random()), signal);
      return notify('WATCHDOG=1', signal);
    });
    if (!isSent) throw new KubeletError('unavailable', 'NoNotifySocket', 'NOTIFY_SOCKET is not set');
    log.v(5).info('Notified the systemd watchdog');
  }
}

function isSyncLoop(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === syncLoopReason;
}

/** Throws while the check of the sync loop fails. */
export function checkSyncLoop(
  checks: readonly { readonly name: string; check(): string | undefined }[],
): void {
  const problem = checks.find(({ name }) => name === 'syncloop')?.check();
  if (problem !== undefined) throw new KubeletError('unavailable', syncLoopReason, problem);
}

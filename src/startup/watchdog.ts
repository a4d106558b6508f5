// Tells systemd that the kubelet lives, for as long as it really does: a service that stops telling is killed and
// started again. Upstream: pkg/kubelet/watchdog.
// Invariant: nothing is sent while the health check fails or hangs.

import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { isAbortOf, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

/** The environment systemd gives. */
export interface WatchdogEnvironment {
  readonly WATCHDOG_USEC?: string | undefined;
  readonly WATCHDOG_PID?: string | undefined;
}

/** A shorter one cannot be kept reliably. */
const shortestTimeoutMs = 1_000;

/** How often systemd wants to hear from us: half its timeout. Undefined: there is no watchdog, or not for this process. */
export function watchdogIntervalMs(env: WatchdogEnvironment, pid: number): number | undefined {
  const { WATCHDOG_USEC: timeout = '', WATCHDOG_PID: whom = '' } = env;
  if (timeout === '') return undefined;
  if (!/^[+-]?[0-9]+$/.test(timeout) || Number(timeout) <= 0)
    throw refuse('WATCHDOG_USEC', timeout, 'is not a positive number of microseconds');
  if (whom !== '') {
    if (!/^[+-]?[0-9]+$/.test(whom)) throw refuse('WATCHDOG_PID', whom, 'is not a process id');
    if (Number(whom) !== pid) return undefined;
  }
  const timeoutMs = Number(timeout) / 1_000;
  if (timeoutMs <= shortestTimeoutMs) throw refuse('WATCHDOG_USEC', timeout, 'is not more than a second');
  return timeoutMs / 2;
}

function refuse(variable: string, value: string, why: string): KubeletError {
  return new KubeletError('invalid', 'InvalidWatchdog', `${variable}=${value} ${why}`, {
    details: { variable, value },
  });
}

export interface WatchdogDeps {
  readonly intervalMs: number;
  /** Throws or rejects when the kubelet is not healthy: the sync loop does not turn. */
  readonly check: (signal: AbortSignal) => Promise<void> | void;
  /** False when there is no socket to notify. */
  readonly notify: (state: string, signal: AbortSignal) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

const retryMs = 1_000;
const retryJitter = 0.1;

/** To be started first, so that it goes on until everything else has stopped. */
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
      for (;;) {
        const problem = await this.#turn(signal);
        signal.throwIfAborted();
        if (problem !== undefined) log.error(problem.message, { err: problem.cause });
        await clock.sleep(intervalMs, signal);
      }
    } catch (err) {
      if (!isAbortOf(err, signal)) throw err;
    }
  }

  /** What is to be logged, or undefined when systemd was told. */
  async #turn(signal: AbortSignal): Promise<{ message: string; cause: unknown } | undefined> {
    const { check, clock, intervalMs } = this.#deps;
    try {
      await withDeadline({ clock, ms: intervalMs, signal, what: 'the health check' }, async (inner) =>
        check(inner),
      );
    } catch (cause) {
      return { message: 'Not healthy, so the systemd watchdog is not notified', cause };
    }
    try {
      await this.#notify(signal);
      return undefined;
    } catch (cause) {
      return { message: 'Failed to notify the systemd watchdog', cause };
    }
  }

  /** Twice at most: two in a row that fail are left to the next turn. */
  async #notify(signal: AbortSignal): Promise<void> {
    const { clock, log, notify, random } = this.#deps;
    const told = await notify('WATCHDOG=1', signal).catch(async (err: unknown) => {
      log.v(5).info('Failed to notify the systemd watchdog, retrying', { err });
      await clock.sleep(retryMs * (1 + retryJitter * random()), signal);
      return notify('WATCHDOG=1', signal);
    });
    if (!told) throw new KubeletError('unavailable', 'NoNotifySocket', 'NOTIFY_SOCKET is not set');
    log.v(5).info('Systemd watchdog notified');
  }
}

// Notifies systemd when the kubelet is ready and when it stops. Upstream: the READY=1 at the end of run in
// cmd/kubelet/app/server.go. Must be the last component: it starts when all others are ready, and stops first.
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';

interface SystemdReadyDeps {
  /** False when there is no socket to notify. */
  readonly notify: (state: string) => Promise<boolean>;
  /** What to send at the stop: STOPPING=1, or RELOADING=1 if the kubelet restarts in place. */
  readonly stopState?: () => string;
  readonly log: Logger;
}

export class SystemdReady implements Component {
  readonly name = 'systemd-ready';
  readonly #deps: SystemdReadyDeps;

  constructor(deps: SystemdReadyDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    await this.#notify('READY=1');
    return { stopped: this.#stop(signal) };
  }

  async #stop(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.#notify(this.#deps.stopState?.() ?? 'STOPPING=1');
  }

  /** A failure is only logged: the kubelet runs without systemd too. */
  async #notify(state: string): Promise<void> {
    const { notify, log } = this.#deps;
    try {
      if (await notify(state)) log.v(2).info('Notified systemd', { state });
    } catch (err) {
      log.warn('Failed to notify systemd', { state, err });
    }
  }
}

// Tells systemd that the kubelet is up, and that it goes down. As the last component it is started when all others are
// ready, and asked first to stop. Upstream: the READY=1 at the end of run in cmd/kubelet/app/server.go.

import { untilAborted } from '../base/abort/race-abort.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';

interface SystemdReadyDeps {
  /** False when there is no socket to notify. */
  readonly notify: (state: string) => Promise<boolean>;
  readonly log: Logger;
}

export class SystemdReady implements Component {
  readonly name = 'systemd-ready';
  readonly #deps: SystemdReadyDeps;

  constructor(deps: SystemdReadyDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    await this.#tell('READY=1');
    return { stopped: this.#stop(signal) };
  }

  async #stop(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.#tell('STOPPING=1');
  }

  /** That systemd does not hear is no reason not to run. */
  async #tell(state: string): Promise<void> {
    const { notify, log } = this.#deps;
    try {
      if (await notify(state)) log.v(2).info('Systemd notified', { state });
    } catch (err) {
      log.warn('Systemd could not be notified', { state, err });
    }
  }
}

// Notifies the service manager of a reload. Invariants: every begin is followed by one end; nothing is announced while the kubelet
// starts, since its own readiness ends a restart in place.

interface ReloadNoticeDeps {
  /** Never rejects. */
  readonly notify: (state: 'reloading' | 'ready') => Promise<void>;
  readonly isStarting: () => boolean;
}

export class ReloadNotice {
  readonly #deps: ReloadNoticeDeps;
  #isAnnounced = false;

  constructor(deps: ReloadNoticeDeps) {
    this.#deps = deps;
  }

  async begin(): Promise<void> {
    if (this.#isAnnounced || this.#deps.isStarting()) return;
    this.#isAnnounced = true;
    await this.#deps.notify('reloading');
  }

  async end(): Promise<void> {
    if (!this.#isAnnounced || this.#deps.isStarting()) return;
    this.#isAnnounced = false;
    await this.#deps.notify('ready');
  }

  /** The kubelet has started, which ends a reload as well. */
  reset(): void {
    this.#isAnnounced = false;
  }
}

// For a kubelet that keeps nothing: removes what an earlier one kept, if --autonomy is off; otherwise pods that were deleted meanwhile
// would start once it is on again. Without a kubeconfig there is nothing to keep, which is no reason to lose what a start with one
// needs: a kubelet that was started without it by mistake changes nothing.
import { raceAbort, untilAborted } from '../base/abort/race-abort.ts';
import type { Component } from '../base/component.ts';
import { isAbortOf } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

interface ForgetKeptDeps {
  readonly autonomy: 'Off' | 'WithoutSecrets' | 'WithSecrets';
  /** False if there was nothing. */
  readonly records: { forgetAll(): Promise<boolean> };
  readonly log: Logger;
}

export class ForgetKept implements Component {
  readonly name = 'forget-kept-state';
  readonly #deps: ForgetKeptDeps;

  constructor(deps: ForgetKeptDeps) {
    this.#deps = deps;
  }

  /** Does not wait for the disk. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { autonomy, log } = this.#deps;
    if (autonomy !== 'Off') {
      log.warn('Keeping nothing for a cut-off, since there is no kubeconfig', { autonomy });
      return { stopped: untilAborted(signal) };
    }
    const stopped = Promise.all([untilAborted(signal), this.#forget(signal)]);
    return { stopped: stopped.then(() => undefined) };
  }

  async #forget(signal: AbortSignal): Promise<void> {
    const { log, records } = this.#deps;
    try {
      if (await raceAbort(records.forgetAll(), signal))
        log.info('Removed what was kept for a cut-off, since --autonomy is off');
    } catch (err) {
      if (!isAbortOf(err, signal)) log.error('Failed to remove what was kept for a cut-off', { err });
    }
  }
}

// Removes what an earlier kubelet kept, where nothing is kept any more. Invariant: what is kept follows the API server or does not
// exist; otherwise pods that were deleted meanwhile would start once autonomy is switched on again.
import { raceAbort, untilAborted } from '../base/abort/race-abort.ts';
import type { Component } from '../base/component.ts';
import { isAbortOf } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';

interface ForgetKeptDeps {
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

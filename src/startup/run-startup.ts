// Runs the steps of start-up one after the other. Invariants: after the first failure that counts nothing more is
// tried, and nothing stays held; an abort during any step, even one that does not listen to it, is a clean stop.

import { raceAbort } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import { isAbortOf, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { Closable, StartupFacts, StartupStep, StepResult } from './startup-step.ts';

interface RunStartupOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface StartedUp extends StartupFacts {
  readonly kind: 'ready';
  /** Lets go of what start-up holds. The end of the process does the same. */
  close(): void;
}

/** Told to stop before start-up was through, the kubelet has nothing to undo: exit 0. */
export type StartupOutcome = StartedUp | { readonly kind: 'stopped' };

export async function runStartup(
  steps: readonly StartupStep[],
  options: RunStartupOptions,
): Promise<StartupOutcome> {
  const { signal } = options;
  const held: Closable[] = [];
  const close = (): void => {
    for (const each of held.splice(0).toReversed()) each.close();
  };
  let facts: StartupFacts = { nodeName: '', nodeIps: [], standalone: true };
  try {
    for (const step of steps) {
      signal.throwIfAborted();
      const { hold, ...found } = await runStep(step, options);
      if (hold !== undefined) held.push(hold);
      facts = { ...facts, ...found };
    }
    signal.throwIfAborted();
    return { kind: 'ready', ...facts, close };
  } catch (err) {
    close();
    if (isAbortOf(err, signal)) return { kind: 'stopped' };
    throw err;
  }
}

async function runStep(step: StartupStep, options: RunStartupOptions): Promise<StepResult> {
  const { log, clock, signal } = options;
  const begunMs = clock.monotonic();
  const running = step.run(signal);
  try {
    const result = await raceAbort(running, signal);
    log.v(2).info('Start-up step done', { step: step.name, tookMs: Math.round(clock.monotonic() - begunMs) });
    return result;
  } catch (err) {
    if (isAbortOf(err, signal)) {
      void closeLate(running);
      throw err;
    }
    const failure = stepFailed(step, err);
    if (step.onFailure === 'fail') throw failure;
    log.warn('Start-up step failed, going on without it', { step: step.name, err: failure });
    return {};
  }
}

/** A step that did not listen to the abort may still come back with something, which nobody is there to hold. */
async function closeLate(running: Promise<StepResult>): Promise<void> {
  const late = await running.catch((): StepResult => ({}));
  late.hold?.close();
}

function stepFailed({ name, setting }: StartupStep, cause: unknown): KubeletError {
  const kind = cause instanceof KubeletError ? cause.kind : 'internal';
  const look = setting === undefined ? '' : ` (${setting})`;
  return new KubeletError(kind, 'StartupFailed', `start-up failed at "${name}"${look}`, {
    cause,
    details: { step: name, ...(setting === undefined ? {} : { setting }) },
  });
}

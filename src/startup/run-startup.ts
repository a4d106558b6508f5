// Runs the start-up steps one after the other. Invariants: after the first fatal failure no further step runs and nothing
// stays held; an abort during any step, even one that ignores its signal, is a clean stop.
import { raceAbort } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import { isAbortOf, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import {
  type Closable,
  noFacts,
  type StartupFacts,
  type StartupStep,
  type StepResult,
} from './startup-step.ts';

interface RunStartupOptions {
  readonly log: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

interface StartedUp<Cluster> extends StartupFacts<Cluster> {
  readonly kind: 'ready';
  /** Releases what start-up holds, as the end of the process does. */
  close(): void;
}

/** `stopped`: the kubelet was stopped during start-up and has nothing to undo; it exits with 0. */
export type StartupOutcome<Cluster> = StartedUp<Cluster> | { readonly kind: 'stopped' };

export async function runStartup<Cluster>(
  steps: readonly StartupStep<Cluster>[],
  options: RunStartupOptions,
): Promise<StartupOutcome<Cluster>> {
  const { signal } = options;
  const held: Closable[] = [];
  const close = (): void => {
    for (const each of held.splice(0).toReversed()) each.close();
  };
  let facts: StartupFacts<Cluster> = noFacts;
  try {
    for (const step of steps) {
      signal.throwIfAborted();
      const { hold, ...found } = await runStep(step, facts, options);
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

async function runStep<Cluster>(
  step: StartupStep<Cluster>,
  facts: StartupFacts<Cluster>,
  { log, clock, signal }: RunStartupOptions,
): Promise<StepResult<Cluster>> {
  const startedMs = clock.monotonic();
  const running = step.run(signal, facts);
  try {
    const result = await raceAbort(running, signal);
    const tookMs = Math.round(clock.monotonic() - startedMs);
    log.v(2).info('Completed start-up step', { step: step.name, tookMs });
    return result;
  } catch (err) {
    if (isAbortOf(err, signal)) {
      void closeLate(running);
      throw err;
    }
    const failure = stepFailed(step, err);
    if (step.onFailure === 'fail') throw failure;
    log.warn('Start-up step failed, continuing without it', { step: step.name, err: failure });
    return {};
  }
}

/** A step that ignored the abort may still return something to hold. */
async function closeLate<Cluster>(running: Promise<StepResult<Cluster>>): Promise<void> {
  const late = await running.catch((): StepResult<Cluster> => ({}));
  late.hold?.close();
}

function stepFailed<Cluster>({ name, setting }: StartupStep<Cluster>, cause: unknown): KubeletError {
  const kind = cause instanceof KubeletError ? cause.kind : 'internal';
  const hint = setting === undefined ? '' : ` (${setting})`;
  return new KubeletError(kind, 'StartupFailed', `start-up failed at "${name}"${hint}`, {
    cause,
    details: { step: name, ...(setting === undefined ? {} : { setting }) },
  });
}

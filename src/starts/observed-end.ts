// When a stage ended that no step reports: the run of an init container, and the wait for a container's first successful probe. Pure.
import type { ObservedContainer } from '../api/pod/observed.ts';
import type { StageName } from '../api/ports/node-page.ts';
import { exitFailure } from './rebuild-starts.ts';

interface StageEnd {
  readonly atMs: number;
  readonly failure: string | undefined;
}

/** Undefined while the stage is in progress. `seen`: the container as last inspected. */
export function observedEnd(
  stage: StageName,
  seen: ObservedContainer | undefined,
  probe: { readonly hasSucceeded: boolean; readonly nowMs: number },
): StageEnd | undefined {
  const hasExited = seen?.state === 'exited';
  if (stage === 'run')
    return hasExited
      ? { atMs: seen.finishedAtMs, failure: exitFailure(seen.exitCode, seen.reason) }
      : undefined;
  if (probe.hasSucceeded) return { atMs: probe.nowMs, failure: undefined };
  return hasExited ? { atMs: seen.finishedAtMs, failure: 'the container exited before' } : undefined;
}

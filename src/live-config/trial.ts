// The configuration that is on trial, and what was observed of it so far.
import type { Clock } from '../base/clock.ts';
import type { Candidate, RunningKubelet } from './candidate.ts';
import { computeVerdict, type TrialVerdict } from './trial-verdict.ts';

interface TrialOptions<Run> {
  readonly candidate: Candidate<Run>;
  readonly periodMs: number;
  /** Some of its changes are not in force and wait for a restart. */
  readonly isPending: boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export class Trial<Run> {
  readonly #options: TrialOptions<Run>;
  #isPending: boolean;
  #candidate: Candidate<Run>;
  #sinceMs: number;
  #symptom: { reason: string; readonly sinceMs: number } | undefined;

  constructor(options: TrialOptions<Run>) {
    this.#options = options;
    this.#candidate = options.candidate;
    this.#isPending = options.isPending;
    this.#sinceMs = options.clock.monotonic();
  }

  /** Begins the period again: there is no alternative, or the observations do not count. */
  extend(): void {
    this.#sinceMs = this.#options.clock.monotonic();
    this.#symptom = undefined;
  }

  /** Another text of the same configuration, all of which is in force. */
  retarget(candidate: Candidate<Run>): void {
    this.#candidate = candidate;
    this.#isPending = false;
  }

  get candidate(): Candidate<Run> {
    return this.#candidate;
  }

  get isPending(): boolean {
    return this.#isPending;
  }

  /** As of the last check. */
  get isHealthy(): boolean {
    return this.#symptom === undefined;
  }

  /** `startingSinceMs`: undefined once all components are ready. */
  check(
    kubelet: Pick<RunningKubelet<Run>, 'symptom' | 'isNodeReady'> | undefined,
    {
      startingSinceMs,
      wasReady,
    }: { readonly startingSinceMs: number | undefined; readonly wasReady: boolean },
  ): TrialVerdict {
    const { clock, periodMs } = this.#options;
    const nowMs = clock.monotonic();
    this.#observe(startingSinceMs === undefined ? symptomOf(kubelet, wasReady) : undefined, nowMs);
    const symptom = this.#symptom;
    return computeVerdict({
      periodMs,
      elapsedMs: nowMs - this.#sinceMs,
      // The trial may have been extended since.
      startingForMs:
        startingSinceMs === undefined ? undefined : nowMs - Math.max(startingSinceMs, this.#sinceMs),
      symptom: symptom && { reason: symptom.reason, forMs: nowMs - symptom.sinceMs },
    });
  }

  /** The reason may change while the kubelet stays unhealthy. */
  #observe(reason: string | undefined, nowMs: number): void {
    if (reason === undefined) this.#symptom = undefined;
    else this.#symptom = { reason, sinceMs: this.#symptom?.sinceMs ?? nowMs };
  }
}

function symptomOf(
  kubelet: Pick<RunningKubelet<unknown>, 'symptom' | 'isNodeReady'> | undefined,
  wasReady: boolean,
): string | undefined {
  if (kubelet === undefined) return 'the kubelet is restarting';
  const symptom = kubelet.symptom();
  if (symptom !== undefined) return symptom;
  return wasReady && kubelet.isNodeReady() === false ? 'the node is no longer ready' : undefined;
}

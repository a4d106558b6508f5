// One start while it is recorded: its stages in the order in which they began, bounded.
// Invariant: a start never has more stages than its bound; the oldest failed stage makes room for a new one, and if there is
// none, the new one is not recorded.
import type { PodStart, StageName, StartStage } from '../api/ports/node-page.ts';
import { describeError } from '../base/errors.ts';
import { shortText } from '../base/short-text.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export type RecordedStage = Mutable<StartStage>;

const maxPodStages = 64;
/** Of one container. */
const maxRestartStages = 16;
const maxTextBytes = 200;

export class RecordedStart {
  readonly restartOf: string | undefined;
  readonly #from: PodStart['from'];
  readonly #beginMs: number;
  readonly #stages: RecordedStage[];
  #readyMs: number | undefined;

  constructor({ beginMs, from, restartOf, stages = [] }: Partial<PodStart> & Pick<PodStart, 'beginMs'>) {
    this.restartOf = restartOf;
    this.#from = from ?? 'recorded';
    this.#beginMs = beginMs;
    this.#stages = stages.slice(0, maxPodStages);
  }

  /** An earlier process of the kubelet began it. */
  get isResumed(): boolean {
    return this.#from === 'status';
  }

  get isReady(): boolean {
    return this.#readyMs !== undefined;
  }

  /** A stage has not ended yet. */
  get isBusy(): boolean {
    return this.#stages.some(({ endMs }) => endMs === undefined);
  }

  /** When the last stage ended, or the start began. */
  get lastMs(): number {
    return Math.max(this.#beginMs, ...this.#stages.map(({ beginMs, endMs }) => endMs ?? beginMs));
  }

  /** The stage is in the list, unless there is no room for it. One that is in progress already is continued. */
  begin(stage: StageName, beginMs: number, container?: string, detail?: string): RecordedStage {
    const begun: RecordedStage = {
      stage,
      beginMs,
      ...(container !== undefined && { container }),
      ...(detail !== undefined && { detail: shortText(detail, maxTextBytes) }),
    };
    const open = this.#stages.find((each) => each.endMs === undefined && isSame(each, begun));
    if (open !== undefined) return open;
    const max = this.restartOf === undefined ? maxPodStages : maxRestartStages;
    if (this.#stages.length >= max) {
      const failed = this.#stages.findIndex(({ endMs, error }) => endMs !== undefined && error !== undefined);
      if (failed < 0) return begun;
      this.#stages.splice(failed, 1);
    }
    this.#stages.push(begun);
    return begun;
  }

  becomesReady(atMs: number): void {
    const beginMs = Math.min(this.lastMs, atMs);
    this.begin('ready', beginMs).endMs = atMs;
    this.#readyMs = atMs;
  }

  /** A copy. `waitsForReady`: all containers run, and the pod is not ready yet. */
  view(waitsForReady: boolean): PodStart {
    const stages: readonly StartStage[] = this.#stages.map((stage) => ({ ...stage }));
    const waiting: readonly StartStage[] = waitsForReady ? [{ stage: 'ready', beginMs: this.lastMs }] : [];
    return {
      beginMs: this.#beginMs,
      ...(this.#readyMs !== undefined && { readyMs: this.#readyMs }),
      from: this.#from,
      ...(this.restartOf !== undefined && { restartOf: this.restartOf }),
      stages: [...stages, ...waiting],
    };
  }
}

function isSame(a: StartStage, b: StartStage): boolean {
  return a.stage === b.stage && a.container === b.container && a.detail === b.detail;
}

/** A clock that was set back must not make a stage end before it began. */
export function endStage(stage: RecordedStage, atMs: number, failure?: unknown): void {
  // Runtimes report nanoseconds.
  stage.endMs = Math.max(stage.beginMs, Math.round(atMs));
  if (failure !== undefined) stage.error = shortText(describeError(failure), maxTextBytes);
}

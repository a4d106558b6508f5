// Where the steps of a pod's start report that they begin and end, for the node's page. starts/ implements it; a component
// without it records nothing. Reporting is synchronous: it never delays the step. No counterpart upstream, where only traces have
// the steps of a start.
import type { ContainerId, PodUid } from '../pod/pod-ref.ts';
import type { StageName } from './node-page.ts';

/** A step in progress. */
export interface OpenStage {
  /** `failure`: why the step failed; undefined if it succeeded. Only the first call counts. */
  end(failure?: unknown): void;
}

/** The stages that steps report; the others are derived from what is observed. */
type ReportedStage = Exclude<StageName, 'run' | 'first-probe' | 'ready'>;

export interface StartStages {
  /** `container`: absent for the pod as a whole. A stage that is open already is continued. */
  begin(uid: PodUid, stage: ReportedStage, container?: string, detail?: string): OpenStage;
  /** The runtime has started this container. */
  started(uid: PodUid, container: string, id: ContainerId): void;
}

/** Ends the stage with the outcome of `work`, before the caller that awaits the result continues. */
export function staged<T>(stage: OpenStage | undefined, work: Promise<T>): Promise<T> {
  if (stage !== undefined) {
    work.then(
      () => stage.end(),
      (err: unknown) => stage.end(err),
    );
  }
  return work;
}

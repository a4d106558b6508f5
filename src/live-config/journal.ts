// Records what happens to configurations: in ConfigStatus, in the state files, in the log and as notices for events.
// Invariant: the state files are written before the caller continues.
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { Candidate, InvalidConfig, LoadResult } from './candidate.ts';
import type { ConfigStatus, Notice, Outcome } from './config-status.ts';
import type { StartDecision, TrialMarker } from './decide-start.ts';
import type { DescribedChange } from './described-changes.ts';
import type { StateFiles } from './state-files.ts';

interface JournalDeps {
  readonly status: ConfigStatus;
  readonly state: StateFiles;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
}

type Source = Pick<Candidate<unknown>, 'checksum' | 'sources'>;
type FallBackCause = Extract<StartDecision, { run: 'last-known-good' }>['because'];
type Known = Pick<Candidate<unknown>, 'checksum' | 'sources' | 'content'>;

const shortLength = 12;
/** What the API accepts as the note of an event. */
const longestMessage = 1_024;
const loggedProblems = 100;

export class Journal {
  readonly #deps: JournalDeps;
  #marker: TrialMarker | undefined;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
  }

  /** From the disk. */
  restore(marker: TrialMarker | undefined): void {
    this.#marker = marker;
  }

  /** The files have this content; `error`: why it is not in force. */
  assigned({ checksum }: Source, error?: string): void {
    this.#deps.status.setCurrent({ assigned: checksum, error });
  }

  active({ checksum }: Source, pendingRestart: readonly string[] = []): void {
    this.#deps.status.setCurrent({ active: checksum, pendingRestart });
  }

  async rejected({ checksum, problems, sources }: InvalidConfig): Promise<void> {
    const { log, status } = this.#deps;
    const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`;
    status.setCurrent({ assigned: checksum, error: `the configuration files have ${count}` });
    this.#add({ checksum, sources }, [], 'rejected', problems);
    this.#notify(
      'Warning',
      'KubeletConfigRejected',
      `Configuration ${short(checksum)} is invalid: ${problems.join('; ')}`,
    );
    log.error('Rejected the configuration files, the configuration in force stays', {
      checksum,
      sources,
      problems: bounded(problems),
    });
    await this.save();
  }

  /** Of files that were handled before, after a request of the operator. */
  unchanged(files: LoadResult<unknown>): void {
    const { log, status } = this.#deps;
    const { checksum, sources } = files;
    if (files.kind === 'invalid')
      log.error('The configuration files are still invalid, the configuration in force stays', {
        checksum,
        sources,
        problems: bounded(files.problems),
      });
    else {
      const { pendingRestart: pending } = status.current();
      log.info('The configuration files have not changed', { checksum, sources, pending });
    }
  }

  deferred({ checksum }: Source): void {
    this.#deps.log.info('A changed configuration waits for the end of the first trial', { checksum });
  }

  /** Before the configuration is put in force. `good`: it has passed its trial before. */
  async trying(
    source: Source,
    changes: readonly DescribedChange[],
    outcome: 'on-trial' | 'good',
  ): Promise<void> {
    const { checksum } = source;
    if (outcome === 'on-trial') await this.#mark({ checksum, state: 'trying', reason: '' });
    else await this.#unmark();
    this.#add(source, changes, outcome);
    await this.save();
  }

  restarting({ checksum }: Source, changed: readonly string[]): void {
    this.#notify(
      'Normal',
      'KubeletConfigChanged',
      `Kubelet restarting to use configuration ${short(checksum)}, changed: ${changed.join(', ')}`,
    );
    this.#deps.log.info('Restarting the kubelet in place for a changed configuration', { checksum, changed });
  }

  applied({ checksum }: Source, changed: readonly string[], pending: readonly string[]): void {
    const parts = [
      ...(changed.length === 0 ? [] : [`changed: ${changed.join(', ')}`]),
      ...(pending.length === 0 ? [] : [`waiting for a restart: ${pending.join(', ')}`]),
    ];
    this.#notify(
      'Normal',
      'KubeletConfigChanged',
      `Kubelet using configuration ${short(checksum)}, ${parts.join('; ')}`,
    );
    this.#deps.log.info('Applied a changed configuration', { checksum, changed, pending });
  }

  /** From now on it is the last known good one. */
  async good(known: Known): Promise<void> {
    const { log, state, status } = this.#deps;
    const { checksum } = known;
    await state.saveLastKnownGood(known.content);
    const { assigned } = status.current();
    status.setCurrent({ lastKnownGood: checksum, ...(assigned === checksum ? { error: undefined } : {}) });
    log.info('Configuration passed its trial and is the last known good one', { checksum });
    await this.ended(known, 'good');
  }

  /** What is in force of it passed the trial. */
  async pending(source: Source): Promise<void> {
    const { checksum } = source;
    this.#deps.log.info('Configuration passed its trial; some of its changes wait for a restart', {
      checksum,
    });
    await this.ended(source, 'pending-restart');
  }

  /** There is nothing to fall back to. */
  async unhealthy(source: Source, reason: string): Promise<void> {
    const { checksum } = source;
    this.#deps.log.error('Configuration failed its trial, and there is no last known good one', {
      checksum,
      reason,
    });
    this.#deps.status.setCurrent({ error: reason });
    await this.ended(source, 'unhealthy', reason);
  }

  /** A kubelet that starts with the last known good configuration instead of the files. `changes`: between the two. */
  async startedWithout(
    files: LoadResult<unknown>,
    known: Source,
    { because, changes }: { readonly because: FallBackCause; readonly changes: readonly DescribedChange[] },
  ): Promise<void> {
    if (files.kind === 'invalid') await this.rejected(files);
    else {
      this.assigned(files);
      const reason =
        this.#marker?.state === 'failed' ? this.#marker.reason : 'the kubelet crashed in the trial';
      // The process may have been killed between the marker and the history.
      const isListed = this.#deps.status.entries().some(({ checksum }) => checksum === files.checksum);
      if (!isListed) this.#add(files, changes, 'on-trial');
      await this.fellBack(files, known, reason);
    }
    this.#deps.log.error('Using the last known good configuration instead of the configuration files', {
      because,
      checksum: files.checksum,
      lastKnownGood: known.checksum,
    });
  }

  async fellBack({ checksum }: Source, to: Source, reason: string): Promise<void> {
    const { log, status } = this.#deps;
    await this.#mark({ checksum, state: 'failed', reason });
    status.setCurrent({ error: reason, pendingRestart: [] });
    this.#setOutcome(checksum, 'fell-back', [reason]);
    this.#notify(
      'Warning',
      'KubeletConfigFellBack',
      `Configuration ${short(checksum)} failed, kubelet using last known good configuration ${short(to.checksum)}: ${reason}`,
    );
    log.error('Configuration failed its trial, falling back to the last known good one', {
      checksum,
      lastKnownGood: to.checksum,
      reason,
    });
    await this.save();
  }

  /** Ends the trial of a configuration without a verdict, or without an alternative. */
  async ended({ checksum }: Source, outcome: Outcome, reason?: string): Promise<void> {
    this.#setOutcome(checksum, outcome, reason === undefined ? [] : [reason]);
    await this.#unmark();
    await this.save();
  }

  async save(): Promise<void> {
    const { state, status } = this.#deps;
    await state.saveHistory(status.entries());
  }

  #add(
    { checksum, sources }: Source,
    changes: readonly DescribedChange[],
    outcome: Outcome,
    reasons: readonly string[] = [],
  ): void {
    this.#deps.status.add({ time: this.#now(), checksum, sources, changes, outcome, reasons });
  }

  #setOutcome(checksum: string, outcome: Outcome, reasons: readonly string[] = []): void {
    this.#deps.status.setOutcome(checksum, outcome, this.#now(), reasons);
  }

  #notify(type: Notice['type'], reason: Notice['reason'], message: string): void {
    this.#deps.status.notify({ type, reason, message: truncated(message) });
  }

  async #mark(marker: TrialMarker): Promise<void> {
    this.#marker = marker;
    await this.#deps.state.saveMarker(marker);
  }

  async #unmark(): Promise<void> {
    this.#marker = undefined;
    await this.#deps.state.removeMarker();
  }

  #now(): string {
    return new Date(this.#deps.clock.now()).toISOString();
  }
}

function truncated(message: string): string {
  return message.length <= longestMessage ? message : `${message.slice(0, longestMessage - 1)}…`;
}

function bounded(problems: readonly string[]): readonly string[] {
  const more = problems.length - loggedProblems;
  return more <= 0 ? problems : [...problems.slice(0, loggedProblems), `and ${more} more`];
}

function short(checksum: string): string {
  return checksum.slice(0, shortLength);
}

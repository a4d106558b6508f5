// The configuration of a kubelet over the life of its process: reads changed files, puts a new configuration in force without or
// with a restart in place, watches it while it is on trial, and falls back to the last known good one.
// Upstream (until 1.23): pkg/kubelet/kubeletconfig, for configurations from the API server, each with a restart of the process.
// Invariants: the marker of a trial is on disk before the configuration is in force; an invalid configuration changes nothing;
// a configuration that failed is tried again only when the files change or the operator requests it.
import type { Clock } from '../base/clock.ts';
import { Aborted, describeError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { Candidate, InvalidConfig, LiveConfigDeps, LoadResult, RunningKubelet } from './candidate.ts';
import { chooseStart } from './choose-start.ts';
import type { ConfigStatus } from './config-status.ts';
import { computeAdoption } from './decide-adoption.ts';
import { FileLoads } from './file-loads.ts';
import { Journal } from './journal.ts';
import { KubeletRuns } from './kubelet-runs.ts';
import { ReloadNotice } from './reload-notice.ts';
import { ReloadTimer } from './reload-timer.ts';
import type { StateFiles } from './state-files.ts';
import { Trial } from './trial.ts';
import { computeStopVerdict } from './trial-verdict.ts';

interface Deps<Run> extends LiveConfigDeps<Run> {
  readonly status: ConfigStatus;
  readonly state: StateFiles;
  readonly clock: Clock;
  readonly log: Logger;
}

const checksPerTrial = 20;
const tickLimitsMs = { shortest: 100, longest: 5_000 };

export class LiveConfig<Run> {
  readonly #deps: Deps<Run>;
  readonly #journal: Journal;
  readonly #timer: ReloadTimer;
  readonly #files: FileLoads<Run>;
  readonly #runs: KubeletRuns<Run>;
  readonly #notice: ReloadNotice;
  #lastKnownGood: Candidate<Run> | undefined;
  /** What runs; while changes are pending, what ran before them. */
  #active: Candidate<Run> | undefined;
  #trial: Trial<Run> | undefined;
  /** Waits for the end of the first trial, so that there is something to fall back to. */
  #deferred: Candidate<Run> | undefined;
  #fallingBack: Promise<Candidate<Run> | undefined> | undefined;
  #wasReady = false;

  constructor(deps: Deps<Run>) {
    const { clock, load, runKubelet, state, status } = deps;
    this.#deps = deps;
    this.#journal = new Journal(deps);
    this.#timer = new ReloadTimer(clock);
    this.#files = new FileLoads({ load, status, again: () => this.#timer.request({ forced: false }) });
    this.#runs = new KubeletRuns({
      runKubelet,
      clock,
      onBegin: (candidate) => {
        this.#active = candidate;
        this.#journal.active(candidate);
      },
      onStarted: () => {
        this.#notice.reset();
        state.allowWrites();
      },
      onFailure: (failure) => this.#fallBack(describeError(failure)),
    });
    this.#notice = new ReloadNotice({
      notify: deps.notify,
      isStarting: () => this.#runs.startingSinceMs !== undefined,
    });
  }

  /** The operator wants the files to be read now, and a configuration that failed to be tried again. */
  requestReload(): void {
    this.#timer.request({ forced: true });
  }

  /** `first`: what the files contain at the start of the process. Undefined: there is nothing to run. */
  async run(first: LoadResult<Run>, signal: AbortSignal): Promise<number | undefined> {
    const candidate = await this.#start(first);
    if (candidate === undefined) return undefined;
    const watcher = this.#deps.watch(() => this.#timer.change());
    const inner = new AbortController();
    const looking = this.#look(inner.signal);
    let hasFailed = true;
    try {
      const exitCode = await this.#runs.run(candidate, signal);
      hasFailed = false;
      return exitCode;
    } finally {
      watcher.close();
      inner.abort(new Aborted('the kubelet is stopping'));
      await looking;
      if (signal.aborted || !hasFailed) await this.#interrupt();
    }
  }

  async #interrupt(): Promise<void> {
    const trial = this.#trial;
    if (trial === undefined) return;
    const { startingSinceMs } = this.#runs;
    const nowMs = this.#deps.clock.monotonic();
    const reason = computeStopVerdict(startingSinceMs === undefined ? undefined : nowMs - startingSinceMs);
    const known = this.#lastKnownGood;
    if (reason === undefined || known === undefined)
      await this.#journal.ended(trial.candidate, 'interrupted');
    else await this.#journal.fellBack(trial.candidate, known, reason);
  }

  async #start(first: LoadResult<Run>): Promise<Candidate<Run> | undefined> {
    const { candidate, isOnTrial, lastKnownGood } = await chooseStart(this.#deps, this.#journal, first);
    this.#lastKnownGood = lastKnownGood;
    this.#files.begin(first.checksum);
    if (candidate !== undefined && isOnTrial) this.#beginTrial(candidate, false);
    return candidate;
  }

  /** Reads the files when they change, and looks after the trial. */
  async #look(signal: AbortSignal): Promise<void> {
    const { log, periodMs } = this.#deps;
    const { longest, shortest } = tickLimitsMs;
    const tickMs = Math.min(longest, Math.max(shortest, periodMs / checksPerTrial));
    while (!signal.aborted) {
      const due = await this.#timer.next(
        this.#trial === undefined ? Number.POSITIVE_INFINITY : tickMs,
        signal,
      );
      if (signal.aborted) return;
      try {
        if (this.#isShuttingDown()) this.#waitForCancellation(due);
        else {
          if (due !== undefined) await this.#reload(due);
          await this.#checkTrial();
        }
      } catch (err) {
        log.error('Failed to handle a changed configuration', { err });
      }
    }
  }

  #isShuttingDown(): boolean {
    return this.#runs.kubelet?.isShuttingDown() === true;
  }

  /** A restart in place would release the lock that delays the shutdown. */
  #waitForCancellation(due: { readonly forced: boolean } | undefined): void {
    this.#trial?.extend();
    if (due !== undefined) this.#timer.request(due);
  }

  async #reload({ forced }: { readonly forced: boolean }): Promise<void> {
    if (forced) await this.#notice.begin();
    const { isChanged, loaded } = await this.#files.load(forced);
    if (isChanged && loaded.kind === 'valid') await this.#adopt(loaded);
    else if (isChanged && loaded.kind === 'invalid') await this.#reject(loaded);
    else if (forced) await this.#answer(loaded);
    await this.#notice.end();
  }

  /** The operator requested the files to be read, which have not changed. */
  async #answer(loaded: LoadResult<Run>): Promise<void> {
    const isUnused = this.#deps.status.current().error !== undefined && this.#trial === undefined;
    if (loaded.kind === 'valid' && isUnused) await this.#adopt(loaded);
    else this.#journal.unchanged(loaded);
  }

  async #reject(invalid: InvalidConfig): Promise<void> {
    this.#deferred = undefined;
    await this.#journal.rejected(invalid);
  }

  async #adopt(candidate: Candidate<Run>): Promise<void> {
    const { kubelet } = this.#runs;
    this.#deferred = undefined;
    this.#journal.assigned(candidate);
    if (this.#mustWait()) {
      this.#deferred = candidate;
      this.#journal.deferred(candidate);
      return;
    }
    const isStarting = this.#runs.startingSinceMs !== undefined;
    const compared = this.#compare(candidate);
    const adoption = computeAdoption({ ...compared, mode: this.#deps.mode, isStarting });
    if (adoption.do === 'nothing') return await this.#adoptUnchanged(candidate);
    if (adoption.do === 'reject')
      return await this.#reject({ ...candidate, kind: 'invalid', problems: [adoption.fault] });
    const { changes } = compared;
    await this.#supersede();
    const isOnTrial = candidate.checksum !== this.#lastKnownGood?.checksum;
    const isPending = adoption.do === 'apply' && adoption.pending.length > 0;
    this.#wasReady ||= kubelet?.isNodeReady() === true;
    await this.#journal.trying(candidate, changes, isOnTrial ? 'on-trial' : 'good');
    if (isOnTrial) this.#beginTrial(candidate, isPending);
    if (adoption.do === 'restart') {
      this.#journal.restarting(
        candidate,
        changes.map(({ path }) => path),
      );
      this.#runs.restart(candidate);
      return;
    }
    const { now, pending } = adoption;
    if (!isPending) this.#active = candidate;
    this.#journal.active(this.#active ?? candidate, pending);
    this.#journal.applied(candidate, now, pending);
    if (now.length > 0) await this.#apply(candidate);
  }

  /** For something to fall back to. A kubelet that has not started yet begins again instead, as if it had not been started. */
  #mustWait(): boolean {
    const hasStarted = this.#runs.startingSinceMs === undefined;
    return this.#lastKnownGood === undefined && this.#trial?.isHealthy === true && hasStarted;
  }

  #compare(candidate: Candidate<Run>): ReturnType<RunningKubelet<Run>['compare']> {
    const { kubelet } = this.#runs;
    if (kubelet !== undefined) return kubelet.compare(candidate.run);
    const changes = this.#active === undefined ? [] : this.#deps.compare(this.#active.run, candidate.run);
    return { changes, isPartlyApplicable: false, fault: undefined };
  }

  /** Other text, or the text of what runs already. */
  async #adoptUnchanged(candidate: Candidate<Run>): Promise<void> {
    const wasActive = this.#active?.checksum === candidate.checksum;
    this.#active = candidate;
    this.#journal.active(candidate);
    if (this.#trial !== undefined) {
      if (this.#trial.candidate.checksum === candidate.checksum) return;
      await this.#journal.ended(this.#trial.candidate, 'superseded');
      await this.#journal.trying(candidate, [], 'on-trial');
      this.#trial.retarget(candidate);
    } else if (!wasActive) {
      await this.#journal.trying(candidate, [], 'good');
      await this.#promote(candidate);
    }
  }

  async #apply(candidate: Candidate<Run>): Promise<void> {
    await this.#notice.begin();
    this.#runs.kubelet?.apply(candidate.run);
    await this.#notice.end();
  }

  async #supersede(): Promise<void> {
    const trial = this.#trial;
    this.#trial = undefined;
    if (trial !== undefined) await this.#journal.ended(trial.candidate, 'superseded');
  }

  #beginTrial(candidate: Candidate<Run>, isPending: boolean): void {
    const { clock, periodMs } = this.#deps;
    this.#trial = new Trial({ candidate, isPending, periodMs, clock });
  }

  async #checkTrial(): Promise<void> {
    const trial = this.#trial;
    if (trial === undefined) return;
    const { kubelet, startingSinceMs } = this.#runs;
    this.#wasReady ||= kubelet?.isNodeReady() === true;
    const verdict = trial.check(kubelet, { startingSinceMs, wasReady: this.#wasReady });
    if (verdict.kind === 'good') {
      this.#trial = undefined;
      if (trial.isPending) await this.#journal.pending(trial.candidate);
      else await this.#promote(trial.candidate);
    } else if (verdict.kind === 'bad') {
      const back = await this.#fallBack(verdict.reason);
      if (back !== undefined) await this.#use(back);
    }
    if (this.#deferred !== undefined && this.#trial?.isHealthy !== true) await this.#adopt(this.#deferred);
  }

  async #promote(candidate: Candidate<Run>): Promise<void> {
    this.#lastKnownGood = candidate;
    await this.#journal.good(candidate);
  }

  /** Ends the trial. Returns what to run instead; undefined if nothing is on trial, or there is no alternative. */
  #fallBack(reason: string): Promise<Candidate<Run> | undefined> {
    this.#fallingBack ??= this.#endBadTrial(reason).finally(() => {
      this.#fallingBack = undefined;
    });
    return this.#fallingBack;
  }

  async #endBadTrial(reason: string): Promise<Candidate<Run> | undefined> {
    const trial = this.#trial;
    if (trial === undefined) return undefined;
    const known = this.#lastKnownGood;
    if (known === undefined) {
      trial.extend();
      await this.#journal.unhealthy(trial.candidate, reason);
      return undefined;
    }
    this.#trial = undefined;
    await this.#journal.fellBack(trial.candidate, known, reason);
    return known;
  }

  /** Live if possible, or by a restart in place, which a fall back may use in every mode. */
  async #use(known: Candidate<Run>): Promise<void> {
    const { kubelet, startingSinceMs } = this.#runs;
    // A failed kubelet was replaced already.
    if (this.#active === known && kubelet === undefined) return;
    const changes = startingSinceMs === undefined ? kubelet?.compare(known.run).changes : undefined;
    if (changes === undefined || changes.some(({ applies }) => applies === 'restart')) {
      this.#runs.restart(known);
      return;
    }
    this.#active = known;
    this.#journal.active(known);
    await this.#apply(known);
  }
}

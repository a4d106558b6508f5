// Starts the components in list order and stops them in reverse, each with a deadline. Upstream has no counterpart: its
// components are goroutines that end with the process.
// Invariants: a component starts only after all before it are ready; when run() settles, every started component has stopped
// or exceeded its stop deadline; run() rejects with the first failure and logs the others.
import type { Clock } from './clock.ts';
import { type Component, startComponent } from './component.ts';
import { Aborted, isAbortOf, KubeletError } from './errors.ts';
import type { Logger } from './log/log.ts';

interface SupervisorOptions {
  readonly components: readonly Component[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly startDeadlineMs: number;
  readonly stopDeadlineMs: number;
}

export class Supervisor {
  readonly #options: SupervisorOptions;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Resolves after a clean stop on abort; rejects with the first failure once all components are stopped. */
  async run(signal: AbortSignal): Promise<void> {
    const run = new Run(this.#options);
    const onAbort = (): void => run.requestStop();
    if (signal.aborted) return;
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await run.start();
      await run.stopRequested;
      await run.stop();
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
    if (run.failure !== undefined) throw run.failure.err;
  }
}

/** One started component. None of its promises reject. */
interface Member {
  readonly name: string;
  readonly abort: AbortController;
  /** Resolves when start() has settled. */
  readonly started: Promise<void>;
  /** Resolves when start() failed or `stopped` settled, after the outcome was recorded. */
  readonly ended: Promise<void>;
  ready: boolean;
  /** Its stop deadline has passed; the supervisor no longer waits for it. */
  abandoned: boolean;
}

class Run {
  readonly #options: SupervisorOptions;
  readonly #members: Member[] = [];
  readonly stopRequested: Promise<void>;
  readonly requestStop: () => void;
  #stopping = false;
  failure: { readonly err: unknown } | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    let request: () => void;
    this.stopRequested = new Promise((resolve) => {
      request = resolve;
    });
    this.requestStop = () => {
      this.#stopping = true;
      request();
    };
  }

  async start(): Promise<void> {
    const { components, clock, log, startDeadlineMs } = this.#options;
    for (const component of components) {
      if (this.#stopping) return;
      const member = this.#begin(component);
      const deadline = clock.setTimer(startDeadlineMs, () =>
        this.#fail(startedTooLate(member, startDeadlineMs)),
      );
      await Promise.race([member.started, this.stopRequested]);
      deadline.cancel();
      if (member.ready) log.v(2).info('Component became ready', { component: member.name });
    }
  }

  async stop(): Promise<void> {
    for (const member of this.#members.toReversed()) await this.#stopOne(member);
  }

  #begin(component: Component): Member {
    const abort = new AbortController();
    const start = startComponent(component, abort.signal);
    const member: Member = {
      name: component.name,
      abort,
      ready: false,
      abandoned: false,
      started: settledStart(start, () => {
        member.ready = true;
      }),
      ended: start
        .then(({ stopped }) => stopped)
        .then(
          () => this.#ended(member),
          (err: unknown) => this.#endedWith(member, err),
        ),
    };
    this.#members.push(member);
    return member;
  }

  #ended(member: Member): void {
    if (!member.abort.signal.aborted)
      this.#fail(new KubeletError('internal', 'ComponentEnded', `${member.name} stopped unexpectedly`));
  }

  #endedWith(member: Member, err: unknown): void {
    if (isAbortOf(err, member.abort.signal)) return;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const what = member.ready ? 'failed' : 'failed to start';
    const failure = new KubeletError(kind, 'ComponentFailed', `${member.name} ${what}`, { cause: err });
    if (member.abandoned)
      this.#options.log.error('Component failed after its stop deadline', { err: failure });
    else this.#fail(failure);
  }

  #fail(err: unknown): void {
    if (this.failure === undefined) this.failure = { err };
    else this.#options.log.error('Another component failed while stopping', { err });
    this.requestStop();
  }

  async #stopOne(member: Member): Promise<void> {
    const { clock, log, stopDeadlineMs } = this.#options;
    const begunMs = clock.monotonic();
    member.abort.abort(new Aborted(`${member.name} is stopping`));
    await new Promise<void>((resolve) => {
      const deadline = clock.setTimer(stopDeadlineMs, () => {
        member.abandoned = true;
        log.error('Component did not stop before its deadline, continuing without it', {
          component: member.name,
          stopDeadlineMs,
        });
        resolve();
      });
      void member.ended.finally(() => {
        deadline.cancel();
        resolve();
      });
    });
    if (!member.abandoned)
      log.v(2).info('Component stopped', {
        component: member.name,
        tookMs: Math.round(clock.monotonic() - begunMs),
      });
  }
}

/** Resolves when start() has settled. `ended` reports a failure. */
async function settledStart(start: Promise<unknown>, onReady: () => void): Promise<void> {
  try {
    await start;
    onReady();
  } catch {
    // Reported by `ended`.
  }
}

function startedTooLate(member: Member, startDeadlineMs: number): KubeletError {
  return new KubeletError(
    'timeout',
    'StartDeadlineExceeded',
    `${member.name} was not ready within ${startDeadlineMs} ms`,
    { details: { component: member.name, startDeadlineMs } },
  );
}

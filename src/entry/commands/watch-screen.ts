// Shows what changes: on a terminal by drawing over the text, otherwise by a line for each change. Ends with the signal.
// Invariant: a kubelet that does not answer is shown as such, and the next answer replaces it.
import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import { safeText } from '../../terminal/safe-text.ts';
import { fitTo } from '../../terminal/width.ts';
import type { CommandOutput, CommandResult } from './command-call.ts';

interface WatchOptions<T> {
  readonly first: T;
  /** Rejects if the kubelet does not answer. */
  readonly read: () => Promise<T>;
  /** No longer than the terminal is wide. */
  readonly linesOf: (state: T) => readonly string[];
  readonly changesBetween: (before: T | readonly [], after: T) => readonly string[];
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  readonly refreshMs: number;
  readonly output: CommandOutput;
  readonly signal: AbortSignal;
}

export async function watchScreen<T>(options: WatchOptions<T>): Promise<CommandResult> {
  const { clock, first, output, read, refreshMs, signal } = options;
  const show = output.columns() === undefined ? changeView(options) : screenView(options);
  let next: T | undefined = first;
  let problem = '';
  for (;;) {
    await show(next, problem);
    await clock.sleep(refreshMs, signal);
    try {
      next = await read();
      problem = '';
    } catch (err) {
      signal.throwIfAborted();
      problem = safeText(describeError(err));
    }
  }
}

type View<T> = (state: T | undefined, problem: string) => Promise<void>;

function screenView<T>({ linesOf, output }: WatchOptions<T>): View<T> {
  let shown = '';
  return async (state, problem) => {
    const columns = output.columns() ?? 80;
    const all = [
      ...(problem === '' ? [] : [fitTo(problem, columns), '']),
      ...(state === undefined ? [] : linesOf(state)),
    ];
    const room = Math.max(1, (output.rows() ?? 24) - 1);
    const lines =
      all.length <= room
        ? all
        : [...all.slice(0, room - 1), fitTo(`… ${all.length - room + 1} more`, columns)];
    // Each line clears the remainder of the old one, which avoids flicker.
    const text = lines.map((line) => `${line}\u001b[K`).join('\n');
    if (text !== shown) await output.print(`${shown === '' ? '\u001b[2J' : ''}\u001b[H${text}\n\u001b[J`);
    shown = text;
  };
}

function changeView<T>({ changesBetween, clock, output }: WatchOptions<T>): View<T> {
  let before: T | readonly [] = [];
  let problemBefore = '';
  return async (state, problem) => {
    const time = new Date(clock.now()).toISOString().slice(11, 19);
    const lines = problem === problemBefore || problem === '' ? [] : [problem];
    if (state !== undefined) {
      lines.push(...changesBetween(before, state));
      before = state;
    }
    problemBefore = problem;
    if (lines.length > 0) await output.print(lines.map((line) => `${time} ${line}\n`).join(''));
  };
}

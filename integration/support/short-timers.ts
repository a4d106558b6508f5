// Shortens timers of one length, or between two, in a kubelet process, so that a test does not wait for a period of minutes. The clock is not
// affected.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The environment of a process in which timers of `ms`, or from `fromMs` to `ms`, fire after `insteadMs`. */
export function shortTimers(
  directory: string,
  ms: number,
  insteadMs: number,
  fromMs = ms,
): Readonly<Record<string, string>> {
  const file = join(directory, 'short-timers.cjs');
  writeFileSync(
    file,
    `const real = globalThis.setTimeout;
globalThis.setTimeout = Object.assign((fn, ms, ...args) => real(fn, ms >= ${fromMs} && ms <= ${ms} ? ${insteadMs} : ms, ...args), real);
`,
  );
  return { NODE_OPTIONS: `--require=${file}` };
}

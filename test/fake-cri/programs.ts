// Finds the program of a command line in the fake containers: the shell, an applet, or nothing.
// Invariant: what is not there fails as runc says it, before the container runs.
import { applets } from './applets.ts';
import type { Program } from './process.ts';
import { runShell } from './shell-run.ts';

type Found = { readonly program: Program } | { readonly error: string };

const shells = new Set(['sh', 'ash']);

export function findProgram(args: readonly string[]): Found {
  const [name = '', ...rest] = args;
  if (name === '') return { error: 'args must not be empty' };
  const base = /^\/(?:usr\/)?s?bin\/([^/]+)$/.exec(name)?.[1] ?? name;
  if (shells.has(base)) return { program: shellProgram(rest) };
  const applet = applets.get(base);
  if (applet !== undefined) {
    return {
      program: (process) =>
        applet(process, rest, {
          stdout: (text) => process.write('stdout', text),
          stderr: (text) => process.write('stderr', text),
        }),
    };
  }
  const why = name.includes('/')
    ? `stat ${name}: no such file or directory`
    : 'executable file not found in $PATH';
  return { error: `unable to start container process: exec: "${name}": ${why}` };
}

/** Without -c a shell reads its input, which has ended before it began. */
function shellProgram(args: readonly string[]): Program {
  const flag = args.findIndex((each) => /^-\w*c$/.test(each));
  const text = flag < 0 ? undefined : args[flag + 1];
  return async (process) => (text === undefined ? 0 : runShell(process, text));
}

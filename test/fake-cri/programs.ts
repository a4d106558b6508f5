// The programs of the fake containers: the busybox commands and shell scripts that the tests' pods run.
// A script is a list of these commands separated by `; `, optionally after one TERM trap. Pods that are shared with a
// real containerd need no more; there is no shell.
// Invariants: time passes only on the process's clock; a missing executable fails with runc's message before the
// container runs; any other script fails to start, with an error that quotes it.
import type { FakeProcess, Program } from './process.ts';

type Found = { readonly program: Program } | { readonly error: string };
type Print = (text: string) => void;
type Command = (process: FakeProcess, args: readonly string[], print: Print) => Promise<number>;

const succeed: Command = async () => 0;

const printing =
  (textOf: (deps: FakeProcess['deps'], args: readonly string[]) => string): Command =>
  async ({ deps }, args, print) => {
    print(textOf(deps, args));
    return 0;
  };

const sleep: Command = async (process, args) => {
  const ms = Number(args[0]) * 1000;
  if (Number.isNaN(ms)) throw new Error(`sleep: invalid number '${args.join(' ')}'`);
  await process.sleep(ms);
  return 0;
};

const touch: Command = async ({ deps }, [path = '']) => {
  deps.files.set(path, '');
  return 0;
};

const rm: Command = async (process, [path = '']) =>
  process.deps.files.delete(path) ? 0 : complain(process, `rm: can't remove '${path}'`);

const cat: Command = async (process, paths, print) => {
  let status = 0;
  for (const path of paths) {
    const text = process.deps.files.get(path);
    if (text !== undefined) print(text);
    // The files of /etc come from the image and the runtime; no test reads them in the fake.
    else if (!path.startsWith('/etc/')) status = complain(process, `cat: can't open '${path}'`);
  }
  return status;
};

function complain(process: FakeProcess, what: string): number {
  process.write('stderr', `${what}: No such file or directory\n`);
  return 1;
}

function notFound(process: FakeProcess, name: string): number {
  process.write('stderr', `sh: ${name}: not found\n`);
  return 127;
}

/** By the words that a command line begins with. */
const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ['true', succeed],
  ['false', async () => 1],
  ['sleep', sleep],
  ['echo', printing((_deps, args) => `${args.join(' ')}\n`)],
  ['printf', printing((_deps, [text = '']) => text)],
  ['env', printing(({ env }) => [...env].map(([key, value]) => `${key}=${value}\n`).join(''))],
  ['hostname', printing(({ env }) => `${env.get('HOSTNAME') ?? ''}\n`)],
  ['id', printing(() => 'uid=0(root) gid=0(root)\n')],
  ['touch', touch],
  ['rm', rm],
  ['cat', cat],
  ['test -e', async ({ deps }, [path = '']) => (deps.files.has(path) ? 0 : 1)],
  ['tail /dev/zero', (process) => process.exhaustMemory()],
  ['ls -ln / | grep e', succeed],
  ['no-such-command', async (process) => notFound(process, 'no-such-command')],
]);

/** Finds what a command line runs: a script of the shell or one of the commands. */
export function findProgram(args: readonly string[]): Found {
  const [path = '', ...rest] = args;
  if (path === '') return { error: 'args must not be empty' };
  const name = path.replace(/^\/bin\//, '');
  if (name === 'sh') return findScript(rest);
  const known = commandOf([name, ...rest]);
  if (known !== undefined) {
    return {
      program: (process) => known.command(process, known.args, (text) => process.write('stdout', text)),
    };
  }
  const why = path.includes('/')
    ? `stat ${path}: no such file or directory`
    : 'executable file not found in $PATH';
  return { error: `unable to start container process: exec: "${path}": ${why}` };
}

function commandOf(words: readonly string[]): { command: Command; args: readonly string[] } | undefined {
  // The longest name first: `test -e` before `test`.
  for (let length = words.length; length > 0; length--) {
    const command = commands.get(words.slice(0, length).join(' '));
    if (command !== undefined) return { command, args: words.slice(length) };
  }
  return undefined;
}

/** A shell without -c reads its standard input, which is empty. */
function findScript([flag, text = '']: readonly string[]): Found {
  const program = flag === '-c' ? scriptOf(text) : async () => 0;
  return program === undefined
    ? {
        error: `unable to start container process: fake runtime: no program for script ${JSON.stringify(text)}`,
      }
    : { program };
}

function scriptOf(text: string): Program | undefined {
  const [, , onTerm, body = ''] = /^(?:trap (["'])(.*)\1 TERM; )?(.*)$/.exec(text) ?? [];
  const loop = /^while true; do sleep ([\d.]+); done$/.exec(body)?.[1];
  if (onTerm) {
    const handler = sequence(onTerm);
    // A loop runs the trap when its sleep has ended, `wait` runs it at once.
    const periodMs = body === 'sleep 1000 & wait' ? 0 : Number(loop) * 1000;
    return handler === undefined || Number.isNaN(periodMs) ? undefined : untilTerm(periodMs, handler);
  }
  // No timer per turn of a loop that only sleeps.
  const program = loop === undefined ? sequence(body) : (process: FakeProcess) => process.forever();
  if (program === undefined || onTerm === undefined) return program;
  return (process) => {
    process.onSignal('TERM', () => undefined);
    return program(process);
  };
}

function untilTerm(periodMs: number, handler: Program): Program {
  return async (process) => {
    const { clock } = process.deps;
    const startMs = clock.monotonic();
    await new Promise<void>((resolve, reject) => {
      process.onSignal('TERM', resolve);
      process.whenEnded(reject);
    });
    if (periodMs > 0) await process.sleep(periodMs - ((clock.monotonic() - startMs) % periodMs));
    return handler(process);
  };
}

/** Runs one step after the other; the status of the last one counts. */
function sequence(text: string): Program | undefined {
  const steps = text.split('; ').map(stepOf);
  return steps.includes(undefined)
    ? undefined
    : async (process) => {
        let status = 0;
        for (const step of steps) {
          if (typeof step === 'number') return step;
          status = (await step?.(process)) ?? 0;
        }
        return status;
      };
}

/** A number for `exit`, a program for a command, undefined for anything else. */
function stepOf(text: string): Program | number | undefined {
  const exit = /^exit (\d+)$/.exec(text)?.[1];
  if (exit !== undefined) return Number(exit);
  const [, line = text, toStderr, file] = /^(\w+ \S+) (?:(>&2)|> (\S+))$/.exec(text) ?? [];
  const known = commandOf(line.split(' '));
  if (known === undefined || known.args.some((word) => !/^(?:\$\w+|[\w./-]+)$/.test(word))) return undefined;
  return (process) => {
    const { env, files } = process.deps;
    const args = known.args
      .map((word) => (word.startsWith('$') ? (env.get(word.slice(1)) ?? '') : word))
      .filter((word) => word !== '');
    return known.command(process, args, (output) => {
      if (file === undefined) process.write(toStderr === undefined ? 'stdout' : 'stderr', output);
      else files.set(file, output);
    });
  };
}

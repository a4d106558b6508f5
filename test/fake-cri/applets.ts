// The commands that exist in the fake containers, as in the busybox image that tests use.
// Invariant: an applet touches only its process, its arguments and its output; what takes time takes it from the clock.
import type { FakeProcess } from './process.ts';

export interface Output {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

type Applet = (process: FakeProcess, args: readonly string[], output: Output) => Promise<number>;

/** In milliseconds; busybox takes s, m, h and d. */
function durationMs(text: string): number {
  const match = /^([\d.]+)([smhd]?)$/.exec(text);
  if (match === null) return Number.NaN;
  const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }[match[2] || 's'] ?? 1000;
  return Number(match[1]) * unitMs;
}

const cat: Applet = async (process, args, output) => {
  let status = 0;
  for (const path of args) {
    const text = path === '/etc/hostname' ? `${process.deps.hostname}\n` : process.deps.files.get(path);
    if (text !== undefined) output.stdout(text);
    else if (!path.startsWith('/etc/')) {
      output.stderr(`cat: can't open '${path}': No such file or directory\n`);
      status = 1;
    }
  }
  return status;
};

const sleep: Applet = async (process, args, output) => {
  const ms = args.map(durationMs).reduce((sum, each) => sum + each, 0);
  if (args.length === 0 || Number.isNaN(ms)) {
    output.stderr(`sleep: invalid number '${args.join(' ')}'\n`);
    return 1;
  }
  await process.sleep(ms);
  return 0;
};

const test: Applet = async (process, args) => {
  const words = args.at(-1) === ']' ? args.slice(0, -1) : args;
  const { files } = process.deps;
  const holds = (list: readonly string[]): boolean => {
    const [a = '', b = '', c = ''] = list;
    if (a === '!') return !holds(list.slice(1));
    if (a === '-e' || a === '-f' || a === '-d' || a === '-s') return files.has(b);
    if (a === '-n') return b !== '';
    if (a === '-z') return b === '';
    if (b === '=' || b === '==') return a === c;
    if (b === '!=') return a !== c;
    const order = { '-eq': [0], '-ne': [-1, 1], '-lt': [-1], '-gt': [1], '-le': [-1, 0], '-ge': [0, 1] }[b];
    return order === undefined ? a !== '' : order.includes(Math.sign(Number(a) - Number(c)));
  };
  return holds(words) ? 0 : 1;
};

const rm: Applet = async (process, args, output) => {
  const force = args.some((each) => /^-\w*f/.test(each));
  let status = 0;
  for (const path of args.filter((each) => !each.startsWith('-'))) {
    if (process.deps.files.delete(path) || force) continue;
    output.stderr(`rm: can't remove '${path}': No such file or directory\n`);
    status = 1;
  }
  return status;
};

const env: Applet = async (process, _args, output) => {
  for (const [name, value] of process.deps.env) output.stdout(`${name}=${value}\n`);
  return 0;
};

const print =
  (text: (process: FakeProcess, args: readonly string[]) => string): Applet =>
  async (process, args, output) => {
    output.stdout(text(process, args));
    return 0;
  };

/** Reading /dev/zero to its end takes all the memory there is. */
const tail: Applet = async (process, args) =>
  args.includes('/dev/zero') ? process.exhaustMemory() : args.includes('-f') ? process.forever() : 0;

const succeed: Applet = async () => 0;
const forever: Applet = (process) => process.forever();

export const applets: ReadonlyMap<string, Applet> = new Map<string, Applet>([
  [':', succeed],
  ['true', succeed],
  ['false', async () => 1],
  ['sleep', sleep],
  [
    'echo',
    print(
      (_process, args) => `${args.filter((each) => each !== '-n').join(' ')}${args[0] === '-n' ? '' : '\n'}`,
    ),
  ],
  ['printf', print((_process, [format = '', ...args]) => fill(format, args))],
  ['cat', cat],
  ['rm', rm],
  ['test', test],
  ['[', test],
  ['touch', async (process, args) => (args.forEach((path) => process.deps.files.set(path, '')), 0)],
  ['env', env],
  ['hostname', print((process) => `${process.deps.hostname}\n`)],
  ['id', print(() => 'uid=0(root) gid=0(root)\n')],
  ['pwd', print(() => '/\n')],
  ['tail', tail],
  ['httpd', forever],
  ['nc', forever],
  ['top', forever],
  ...[
    'date',
    'find',
    'grep',
    'head',
    'ls',
    'mkdir',
    'mount',
    'ps',
    'sort',
    'sync',
    'uname',
    'wc',
    'wget',
  ].map((name) => [name, succeed] as const),
]);

function fill(format: string, args: readonly string[]): string {
  const left = [...args];
  return format
    .replace(/%[sd]/g, () => left.shift() ?? '')
    .replace(/\\n/g, '\n')
    .replace(/\\t/g, '\t');
}

// Runs a shell script inside a fake process, in the time of its clock. A trap runs when the foreground command has
// ended, as in a real shell; `wait` is interrupted by it at once.
// Invariant: a loop that lets no time pass is given some, so that no script can keep the test from going on.
import { applets, type Output } from './applets.ts';
import { type FakeProcess, type SignalName, signalNumbers } from './process.ts';
import { literal, parseShell, type Redirect, type Script } from './shell-parse.ts';
import { Variables } from './shell-words.ts';

/** How long a turn of a loop takes that does nothing which takes time. */
const idleTurnMs = 10;

/** `exit` and `exec` unwind to the top. */
class ShellExit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

export async function runShell(process: FakeProcess, text: string): Promise<number> {
  const shell = new Shell(process, process.deps.env);
  try {
    return await shell.run(parseShell(text));
  } catch (err) {
    if (err instanceof ShellExit) return err.code;
    throw err;
  }
}

class Shell {
  readonly #process: FakeProcess;
  readonly #variables: Variables;
  readonly #traps = new Map<SignalName, string>();
  readonly #pending: SignalName[] = [];
  readonly #jobs = new Set<Promise<unknown>>();
  #wake: (() => void) | undefined;

  constructor(process: FakeProcess, variables: ReadonlyMap<string, string>) {
    this.#process = process;
    this.#variables = new Variables(variables, process.deps.isInit ? 1 : 7);
  }

  async run(script: Script, output: Output = this.#ownOutput()): Promise<number> {
    const status = await this.#dispatch(script, output);
    this.#variables.status = status;
    await this.#runTraps(output);
    return status;
  }

  #ownOutput(): Output {
    return {
      stdout: (text) => this.#process.write('stdout', text),
      stderr: (text) => this.#process.write('stderr', text),
    };
  }

  async #dispatch(script: Script, output: Output): Promise<number> {
    switch (script.kind) {
      case 'list': {
        let status = 0;
        for (const item of script.items) status = await this.run(item, output);
        return status;
      }
      case 'and':
      case 'or': {
        const left = await this.run(script.left, output);
        return (left === 0) === (script.kind === 'and') ? this.run(script.right, output) : left;
      }
      case 'pipe':
        return this.#pipe(script.commands, output);
      case 'not':
        return (await this.run(script.body, output)) === 0 ? 1 : 0;
      case 'background': {
        // A subshell: it has the variables, and neither the traps nor a way to end the shell.
        const job = new Shell(this.#process, this.#variables.values).run(script.body, output).catch(() => 0);
        this.#jobs.add(job);
        void job.finally(() => this.#jobs.delete(job));
        return 0;
      }
      case 'while':
        return this.#while(script, output);
      case 'if': {
        if ((await this.run(script.condition, output)) === 0) return this.run(script.body, output);
        return script.otherwise === undefined ? 0 : this.run(script.otherwise, output);
      }
      case 'for': {
        let status = 0;
        for (const value of script.words.flatMap((word) => this.#variables.expand(word))) {
          this.#variables.values.set(script.name, value);
          status = await this.run(script.body, output);
        }
        return status;
      }
      case 'command':
        return this.#command(script, output);
    }
  }

  /** The parts of a pipe run one after the other here; the last one's output and status count. */
  async #pipe(commands: readonly Script[], output: Output): Promise<number> {
    let status = 0;
    for (const [index, command] of commands.entries()) {
      const isLast = index === commands.length - 1;
      status = await this.run(command, isLast ? output : { ...output, stdout: () => undefined });
    }
    return status;
  }

  async #while(loop: Extract<Script, { kind: 'while' }>, output: Output): Promise<number> {
    const periodMs = idlePeriodMs(loop);
    const { clock } = this.#process.deps;
    for (;;) {
      if (periodMs !== undefined) await this.#idle(periodMs);
      const beforeMs = clock.monotonic();
      if (((await this.run(loop.condition, output)) === 0) === loop.until) return 0;
      if (periodMs === undefined) await this.run(loop.body, output);
      if (periodMs === undefined && clock.monotonic() === beforeMs) await this.#process.sleep(idleTurnMs);
      else await this.#runTraps(output);
    }
  }

  /** A loop that only sleeps needs no timer per turn: it is waited out until a signal comes, then its turn ends. */
  async #idle(periodMs: number): Promise<void> {
    const { clock } = this.#process.deps;
    const startMs = clock.monotonic();
    await this.#interrupted();
    const elapsedMs = (clock.monotonic() - startMs) % periodMs;
    await this.#process.sleep(periodMs - elapsedMs);
  }

  /** Resolves when a trap is due. */
  #interrupted(): Promise<void> {
    if (this.#pending.length > 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#wake = resolve;
      this.#process.whenEnded(reject);
    });
  }

  async #runTraps(output: Output): Promise<void> {
    for (let name = this.#pending.shift(); name !== undefined; name = this.#pending.shift()) {
      const script = this.#traps.get(name);
      if (script !== undefined) await this.#dispatch(parseShell(script), output);
    }
  }

  async #command(command: Extract<Script, { kind: 'command' }>, output: Output): Promise<number> {
    for (const [name, value] of command.assignments)
      this.#variables.values.set(name, this.#variables.expand(value).join(' '));
    const [name, ...args] = command.words.flatMap((word) => this.#variables.expand(word));
    const flushed: (() => void)[] = [];
    const target = command.redirects.reduce((inner, each) => this.#redirect(each, inner, flushed), output);
    if (name === undefined) return 0;
    const status = await this.#call(name, args, target);
    for (const flush of flushed) flush();
    return status;
  }

  async #call(name: string, args: readonly string[], output: Output): Promise<number> {
    switch (name) {
      case 'exit':
        throw new ShellExit(args[0] === undefined ? this.#variables.status : Number(args[0]));
      case 'exec':
        throw new ShellExit(args[0] === undefined ? 0 : await this.#call(args[0], args.slice(1), output));
      case 'trap':
        return this.#trap(args);
      case 'wait':
        if (this.#jobs.size > 0) await Promise.race([Promise.all(this.#jobs), this.#interrupted()]);
        return 0;
      case 'kill':
        return this.#kill(args);
      default: {
        const applet = applets.get(name.replace(/^(?:\/usr)?\/bin\//, ''));
        if (applet !== undefined) return applet(this.#process, args, output);
        output.stderr(`sh: ${name}: not found\n`);
        return 127;
      }
    }
  }

  #trap([script, ...names]: readonly string[]): number {
    for (const name of names.map((each) => each.replace(/^SIG/, '') as SignalName)) {
      if (!(name in signalNumbers)) continue;
      if (script === undefined || script === '-') {
        this.#traps.delete(name);
        this.#process.onSignal(name, undefined);
        continue;
      }
      this.#traps.set(name, script);
      this.#process.onSignal(name, () => {
        if (script === '') return;
        this.#pending.push(name);
        this.#wake?.();
      });
    }
    return 0;
  }

  #kill(args: readonly string[]): number {
    const given = args.find((each) => each.startsWith('-'))?.slice(1) ?? 'TERM';
    const name = Object.entries(signalNumbers).find(
      ([key, number]) => key === given || String(number) === given,
    )?.[0];
    // The first process of a namespace cannot be killed from within, not even by itself.
    if (name !== undefined && !(this.#process.deps.isInit && name === 'KILL'))
      this.#process.signal(name as SignalName);
    return 0;
  }

  #redirect({ fd, to, append }: Redirect, inner: Output, flushed: (() => void)[]): Output {
    const stream = fd === 1 ? 'stdout' : 'stderr';
    if (to === 1 || to === 2) return { ...inner, [stream]: to === 1 ? inner.stdout : inner.stderr };
    const path = this.#variables.expand(to).join(' ');
    const { files } = this.#process.deps;
    let text = append ? (files.get(path) ?? '') : '';
    flushed.push(() => path !== '/dev/null' && files.set(path, text));
    return { ...inner, [stream]: (more: string) => (text += more) };
  }
}

/** The period of `while true; do sleep N; done`, the commonest way to do nothing. */
function idlePeriodMs(loop: Extract<Script, { kind: 'while' }>): number | undefined {
  const plain = (script: Script): readonly (string | undefined)[] | undefined =>
    script.kind === 'command' && script.redirects.length + script.assignments.length === 0
      ? script.words.map(literal)
      : undefined;
  const condition = plain(loop.condition);
  const body = plain(loop.body);
  const idle = (condition?.[0] === 'true' || condition?.[0] === ':') && body?.[0] === 'sleep' && !loop.until;
  const ms = Number(body?.[1]) * 1000;
  return idle && ms > 0 ? ms : undefined;
}

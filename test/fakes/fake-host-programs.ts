// Programs and devices of the host in memory: scripted programs, and a tree of files, links and writes to sysfs.
// Invariant: rejects what the real edge rejects: a missing program, a missing file of sysfs, a path outside /sys.
import type {
  HostDevices,
  HostPrograms,
  ProgramResult,
  ProgramRun,
} from '../../src/api/ports/host-programs.ts';
import { KubeletError } from '../../src/base/errors.ts';

/** Returns what differs from success without output. May be asynchronous, and may wait for the signal. */
type FakeProgram = (
  args: readonly string[],
  signal: AbortSignal,
) => Partial<ProgramResult> | undefined | Promise<Partial<ProgramResult> | undefined>;

export class FakeHostPrograms implements HostPrograms {
  /** By name or path; a program that is not here does not exist on the host. */
  readonly programs = new Map<string, FakeProgram>();
  /** Command lines, with `***` for sensitive arguments. */
  readonly lines: string[] = [];
  readonly runs: ProgramRun[] = [];

  find(program: string): Promise<string | undefined> {
    return Promise.resolve(this.programs.has(program) ? `/usr/sbin/${program}` : undefined);
  }

  async run(run: ProgramRun, signal: AbortSignal): Promise<ProgramResult> {
    signal.throwIfAborted();
    const { program, args, sensitive = [] } = run;
    this.runs.push(run);
    this.lines.push([program, ...args].map((each) => (sensitive.includes(each) ? '***' : each)).join(' '));
    const handler = this.programs.get(program);
    if (handler === undefined)
      throw new KubeletError('not-found', 'ProgramNotFound', `${program} not found on the node`);
    const done = await handler(args, signal);
    return { code: 0, stdout: '', stderr: '', ...done };
  }
}

/** A program that never exits: at its deadline, which this fake reaches at once, the edge rejects with `timeout`. */
export function hanging(program: string): FakeProgram {
  return () =>
    Promise.reject(new KubeletError('timeout', 'ProgramTimeout', `${program} did not exit within 1 ms`));
}

export class FakeHostDevices implements HostDevices {
  /** Texts by path. Directories follow from them. */
  readonly files = new Map<string, string>();
  /** Targets by path: links to devices, and nodes in /dev as links to themselves. */
  readonly links = new Map<string, string>();
  /** Devices by mount point. */
  readonly mounted = new Map<string, string>();
  readonly writes: string[] = [];
  /** What the kernel does on a write to sysfs. */
  onWrite: (path: string, text: string) => void | Promise<void> = () => undefined;

  list(path: string): Promise<readonly string[]> {
    const prefix = `${path}/`;
    const names = [...this.files.keys(), ...this.links.keys()]
      .filter((each) => each.startsWith(prefix))
      .map((each) => each.slice(prefix.length).split('/')[0] ?? '');
    return Promise.resolve([...new Set(names)]);
  }

  async exists(path: string): Promise<boolean> {
    return this.files.has(path) || this.links.has(path) || (await this.list(path)).length > 0;
  }

  async resolve(path: string): Promise<string | undefined> {
    return this.links.get(path) ?? ((await this.exists(path)) ? path : undefined);
  }

  read(path: string, limitBytes: number): Promise<string | undefined> {
    const text = this.files.get(path);
    if (text !== undefined && text.length > limitBytes)
      return Promise.reject(new KubeletError('invalid', 'TooLarge', `refusing to read ${path}`));
    return Promise.resolve(text);
  }

  async writeSysfs(path: string, text: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!path.startsWith('/sys/') || path.split('/').includes('..'))
      throw new KubeletError('invalid', 'OutsideSysfs', `refusing to write ${path}: not below /sys`);
    if (!this.files.has(path)) throw new KubeletError('not-found', 'ENOENT', `${path} does not exist`);
    this.writes.push(`${text} > ${path}`);
    await this.onWrite(path, text);
  }

  mountedDevice(path: string): Promise<string | undefined> {
    return Promise.resolve(this.mounted.get(path));
  }
}

// FlexVolume drivers in memory: their files, and executables whose answers a test scripts by command.
// Invariant: replacing a driver changes its identity and is announced, as by the watch of the real directory.
import type { DriverFile, DriverFiles } from '../../src/volumes/flex-volume/drivers.ts';
import { FakeHostPrograms } from './fake-host-programs.ts';

/** A JSON answer, or text printed as it is. */
type FakeAnswer = object | string;
/** By command. A command that is not here is not supported. */
export type FakeCommands = Readonly<Record<string, FakeAnswer | ((args: readonly string[]) => FakeAnswer)>>;

export class FakeFlexDrivers implements DriverFiles {
  readonly programs = new FakeHostPrograms();
  /** Call-outs as `<command> <arguments>`, without options. */
  readonly calls: string[] = [];
  readonly #files = new Map<string, DriverFile>();
  readonly #watchers = new Set<(stamps: ReadonlyMap<string, string>) => void>();
  #incarnation = 0;

  /** `vendor/driver`. The answer to init defaults to success. */
  install(name: string, commands: FakeCommands = {}): void {
    const directory = name.replaceAll('/', '~');
    const path = `/exec/${directory}/${name.slice(name.lastIndexOf('/') + 1)}`;
    this.#incarnation += 1;
    this.programs.programs.set(path, ([command = '', ...args]) => {
      const plain = args.map((each) => (each.startsWith('{') ? '{}' : each));
      this.calls.push([command, ...plain].join(' '));
      const all: FakeCommands = { init: { status: 'Success' }, ...commands };
      const answer = all[command] ?? { status: 'Not supported' };
      const given =
        typeof answer === 'function' ? (answer as (args: readonly string[]) => FakeAnswer)(args) : answer;
      return { stdout: typeof given === 'string' ? given : JSON.stringify(given) };
    });
    this.put(directory, { is: 'executable', path, identity: `${this.#incarnation}` });
  }

  remove(name: string): void {
    this.put(name.replaceAll('/', '~'), { is: 'missing' });
  }

  put(directory: string, file: DriverFile): void {
    if (file.is === 'missing') this.#files.delete(directory);
    else this.#files.set(directory, file);
    for (const watcher of this.#watchers) watcher(this.#stamps());
  }

  inspect(directory: string): Promise<DriverFile> {
    return Promise.resolve(this.#files.get(directory) ?? { is: 'missing' });
  }

  watch(onDrivers: (stamps: ReadonlyMap<string, string>) => void): { close(): void } {
    this.#watchers.add(onDrivers);
    onDrivers(this.#stamps());
    return { close: () => void this.#watchers.delete(onDrivers) };
  }

  #stamps(): ReadonlyMap<string, string> {
    return new Map([...this.#files].map(([directory, file]) => [directory, JSON.stringify(file)]));
  }
}

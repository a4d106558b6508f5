// Files of container logs in memory, for the rotation. Writes of a runtime go to the file that it has open, whatever its name.
import type { LogEntry } from '../../src/logs/plan-rotation.ts';
import type { LiveLog, LogDirectory, RotationHost } from '../../src/logs/rotation-host.ts';

class MemoryLog {
  bytes = 0;
  names = 1;
  changedAtMs = 0;
  readonly identity: string;
  readonly watchers = new Set<() => void>();

  constructor(identity: string) {
    this.identity = identity;
  }

  notify(): void {
    const watchers = [...this.watchers];
    this.watchers.clear();
    for (const each of watchers) each();
  }
}

export class MemoryRotation implements RotationHost {
  /** By path. */
  readonly files = new Map<string, MemoryLog>();
  /** The files that the runtime has open, by the path it opened. */
  readonly #open = new Map<string, MemoryLog>();
  readonly #now: () => number;
  #nextIdentity = 1;
  /** Whether writes are notified. */
  canWatch = true;
  /** How often a size was read. */
  stats = 0;
  /** How long a compression takes. */
  compression: (signal: AbortSignal) => Promise<void> = async () => undefined;
  /** Fails each operation that it throws for. */
  before: (operation: string, name: string) => void = () => undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The runtime opens its log. */
  open(path: string): void {
    const file = this.files.get(path) ?? new MemoryLog(`m${this.#nextIdentity++}`);
    this.files.set(path, file);
    this.#open.set(path, file);
  }

  write(path: string, bytes: number): void {
    const file = this.#open.get(path);
    if (file === undefined) return;
    file.bytes += bytes;
    file.changedAtMs = this.#now();
    file.notify();
  }

  /** The names in the log's directory, sorted. */
  names(path: string): readonly string[] {
    const directory = path.slice(0, path.lastIndexOf('/') + 1);
    const paths = [...this.files.keys()].filter((each) => each.startsWith(directory));
    return paths.map((each) => each.slice(directory.length)).toSorted();
  }

  async start(): Promise<void> {
    // Nothing to load.
  }

  async openLive(path: string): Promise<LiveLog | undefined> {
    this.before('open', path);
    const file = this.files.get(path);
    if (file === undefined) return undefined;
    return {
      identity: file.identity,
      stat: () => {
        this.stats += 1;
        return { bytes: file.bytes, hasName: file.names > 0 };
      },
      whenWritten: (onWrite) => {
        if (!this.canWatch) return undefined;
        file.watchers.add(onWrite);
        return { close: () => void file.watchers.delete(onWrite) };
      },
      close: () => undefined,
    };
  }

  async openDirectory(path: string): Promise<LogDirectory> {
    const at = path.lastIndexOf('/') + 1;
    const [directory, live] = [path.slice(0, at), path.slice(at)];
    const move = (from: string, to: string): void => {
      this.before('move', from);
      const file = this.files.get(directory + from);
      if (file === undefined) throw new Error(`no file ${from}`);
      this.files.delete(directory + from);
      this.files.set(directory + to, file);
      file.changedAtMs = this.#now();
      file.notify();
    };
    return {
      list: async () => {
        this.before('list', live);
        const own = [...this.files].filter(([each]) => each.startsWith(directory + live));
        return own.map(
          ([each, { changedAtMs, identity }]): LogEntry => ({
            name: each.slice(directory.length),
            identity,
            changedAtMs,
          }),
        );
      },
      move: async (from, to) => move(from, to),
      moveBack: async (from, to) => {
        if (this.files.has(directory + to)) return false;
        move(from, to);
        return true;
      },
      remove: async (name) => {
        this.before('remove', name);
        const file = this.files.get(directory + name);
        this.files.delete(directory + name);
        if (file !== undefined) file.names -= 1;
      },
      compress: async (from, to, signal) => {
        this.before('compress', from);
        await this.compression(signal);
        const file = new MemoryLog(`m${this.#nextIdentity++}`);
        file.bytes = Math.ceil((this.files.get(directory + from)?.bytes ?? 0) / 10);
        this.files.set(directory + to, file);
      },
      close: () => undefined,
    };
  }
}

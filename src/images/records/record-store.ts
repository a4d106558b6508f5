// One directory of record files with a bounded cache in memory. Upstream: fs_pullrecords.go and mem_pullrecords.go of
// pkg/kubelet/images/pullmanager.
// Owns its directory. Invariants: the file is written before the cache; an invalid file is logged once, stays until it is
// replaced, and never fails the caller; a lookup of a key without a file reads nothing.
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { isRecordFileName, recordFileName } from './pull-record.ts';

export interface RecordFiles {
  /** Names in the directory; empty if it does not exist. */
  list(directory: string): Promise<readonly string[]>;
  /** Undefined if the file does not exist. Rejects if it is longer than the limit. */
  read(path: string, limitBytes?: number): Promise<string | undefined>;
  /** Writes atomically; creates the directory. */
  write(path: string, text: string): Promise<void>;
  /** Succeeds if the file does not exist. */
  remove(path: string): Promise<void>;
}

interface RecordFormat<V> {
  readonly keyOf: (value: V) => string;
  readonly encode: (value: V) => string;
  /** Throws if the text is invalid. */
  readonly decode: (text: string) => { readonly value: V; readonly isCurrent: boolean };
}

interface RecordStoreDeps<V> {
  readonly files: RecordFiles;
  readonly directory: string;
  readonly format: RecordFormat<V>;
  /** How many records the cache holds; the others are read when they are needed. */
  readonly capacity: number;
  readonly observe: (sizes: RecordSizes) => void;
  readonly log: Logger;
}

export interface RecordSizes {
  readonly onDisk: number;
  readonly cachedPercent: number;
}

/** Larger than any record that the kubelet writes. A larger file would block the thread while it is parsed. */
export const recordLimitBytes = 1024 * 1024;

export class RecordStore<V> {
  readonly #deps: RecordStoreDeps<V>;
  /** The most recently used last. */
  readonly #cache = new Map<string, V>();
  /** Files that cannot be read or decoded. */
  readonly #invalid = new Set<string>();
  /** All record files; undefined until the directory was listed. */
  #names: Set<string> | undefined;

  constructor(deps: RecordStoreDeps<V>) {
    this.#deps = deps;
  }

  /** Names of the record files. Rejects if the directory cannot be listed. */
  async names(): Promise<readonly string[]> {
    return [...(await this.#list())];
  }

  /** 'invalid': there is a file for this key, but its content is unknown. */
  async get(key: string): Promise<V | 'invalid' | undefined> {
    const cached = this.#cache.get(key);
    if (cached !== undefined) return this.#remember(key, cached);
    const name = recordFileName(key);
    if (!(await this.#list()).has(name)) return undefined;
    const value = await this.load(name);
    return value === undefined || value === 'invalid' || this.#deps.format.keyOf(value) === key
      ? value
      : undefined;
  }

  /** The content of a file; rewritten if it is of an older version. */
  async load(name: string): Promise<V | 'invalid' | undefined> {
    const { files, format, log } = this.#deps;
    const path = this.#path(name);
    try {
      const text = await files.read(path, recordLimitBytes);
      if (text === undefined) {
        this.#forget(name);
        return undefined;
      }
      const { isCurrent, value } = format.decode(text);
      if (!isCurrent) await this.#migrate(name, value);
      return this.#remember(format.keyOf(value), value);
    } catch (err) {
      if (!this.#invalid.has(name)) log.error('Failed to read image pull record', { path, err });
      this.#invalid.add(name);
      return 'invalid';
    }
  }

  async set(value: V): Promise<void> {
    const { files, format } = this.#deps;
    const key = format.keyOf(value);
    const name = recordFileName(key);
    await files.write(this.#path(name), format.encode(value));
    (await this.#list()).add(name);
    this.#invalid.delete(name);
    this.#remember(key, value);
    this.#report();
  }

  async delete(key: string): Promise<void> {
    const name = recordFileName(key);
    await this.#deps.files.remove(this.#path(name));
    this.#cache.delete(key);
    this.#forget(name);
  }

  async #migrate(name: string, value: V): Promise<void> {
    const { files, format, log } = this.#deps;
    // A file under another name is no record of the kubelet.
    if (recordFileName(format.keyOf(value)) !== name) return;
    await files.write(this.#path(name), format.encode(value)).catch((err: unknown) => {
      log.warn('Failed to convert image pull record', { path: this.#path(name), err: describeError(err) });
    });
  }

  async #list(): Promise<Set<string>> {
    if (this.#names !== undefined) return this.#names;
    const names = (await this.#deps.files.list(this.#deps.directory)).filter(isRecordFileName);
    this.#names ??= new Set(names);
    this.#report();
    return this.#names;
  }

  #remember(key: string, value: V): V {
    this.#cache.delete(key);
    this.#cache.set(key, value);
    if (this.#cache.size > this.#deps.capacity) {
      const [oldest] = this.#cache.keys();
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
    return value;
  }

  #forget(name: string): void {
    this.#names?.delete(name);
    this.#invalid.delete(name);
    this.#report();
  }

  #report(): void {
    const cachedPercent = Math.floor((this.#cache.size * 100) / this.#deps.capacity);
    this.#deps.observe({ onDisk: this.#names?.size ?? 0, cachedPercent });
  }

  #path(name: string): string {
    return `${this.#deps.directory}/${name}`;
  }
}

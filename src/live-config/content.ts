// The files that make up a configuration, as they were read at one moment: what is checked, run, and kept as last known good.
// Invariants: the same argv loads the same configuration from the same content; what is read is bounded, whatever the files
// contain; the checksum covers every text and every failure to read one.
import { createHash } from 'node:crypto';
import { join } from 'node:path/posix';
import { describeError, KubeletError } from '../base/errors.ts';
import { isObject } from '../base/guards.ts';

interface DirectoryEntry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** What loading a configuration reads. */
export interface SourceFiles {
  read(path: string): Promise<string>;
  list(directory: string): Promise<readonly DirectoryEntry[]>;
  readonly workingDirectory: string;
}

export interface ConfigContent {
  /** Texts by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly directories: Readonly<Record<string, readonly DirectoryEntry[]>>;
  /** Why a path could not be read. */
  readonly failures: Readonly<Record<string, string>>;
}

/** Of all files together, and of all directories. */
const limits = { bytes: 1024 * 1024, entries: 1_000 };

/** Hexadecimal SHA-256. */
export function checksumOf({ directories, failures, files }: ConfigContent): string {
  const parts = [files, directories, failures].map((part) => Object.entries(part).toSorted(byKey));
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Reads through to the files and records what was read. For one load. */
export class RecordingFiles implements SourceFiles {
  readonly workingDirectory: string;
  readonly #files: SourceFiles;
  readonly #read: Record<string, string> = {};
  readonly #listed: Record<string, readonly DirectoryEntry[]> = {};
  readonly #failures: Record<string, string> = {};
  #bytes = 0;
  #entries = 0;

  constructor(files: SourceFiles) {
    this.#files = files;
    this.workingDirectory = files.workingDirectory;
  }

  /** Without names that loading passed over, such as the swap file of an editor. */
  content(): ConfigContent {
    const isRead = (path: string): boolean =>
      Object.hasOwn(this.#read, path) || Object.hasOwn(this.#failures, path);
    const directories = Object.entries(this.#listed).map(([directory, entries]) => [
      directory,
      entries.filter(({ isDirectory, name }) => isDirectory || isRead(join(directory, name))),
    ]);
    return {
      files: this.#read,
      directories: Object.fromEntries(directories) as ConfigContent['directories'],
      failures: this.#failures,
    };
  }

  async read(path: string): Promise<string> {
    return await this.#record(path, async () => {
      const text = await this.#files.read(path);
      this.#bytes += Buffer.byteLength(text);
      if (this.#bytes > limits.bytes) throw tooMuch(`the files have more than ${limits.bytes} bytes`);
      this.#read[path] = text;
      return text;
    });
  }

  async list(directory: string): Promise<readonly DirectoryEntry[]> {
    return await this.#record(directory, async () => {
      const found = await this.#files.list(directory);
      this.#entries += found.length;
      if (this.#entries > limits.entries)
        throw tooMuch(`the directories have more than ${limits.entries} entries`);
      const entries = found.map(({ isDirectory, name }) => ({ name, isDirectory }));
      this.#listed[directory] = entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      return entries;
    });
  }

  async #record<T>(path: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (err) {
      this.#failures[path] = describeError(err);
      throw err;
    }
  }
}

/** Reads what was recorded, instead of the disk. */
export function recordedFiles(content: ConfigContent, workingDirectory: string): SourceFiles {
  const find = async <T>(values: Readonly<Record<string, T>>, path: string): Promise<T> => {
    const value = ownValue(values, path);
    if (value !== undefined) return value;
    const why = ownValue(content.failures, path) ?? 'it is not part of the recorded configuration';
    throw new KubeletError('not-found', 'NotRecorded', why, { details: { path } });
  };
  return {
    workingDirectory,
    read: (path) => find(content.files, path),
    list: (directory) => find(content.directories, directory),
  };
}

function ownValue<T>(values: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** Undefined if the value is not recorded content. */
export function parseContent(value: unknown): ConfigContent | undefined {
  if (!isObject(value)) return undefined;
  const { directories, failures, files } = value;
  if (!isObject(files) || !isObject(directories) || !isObject(failures)) return undefined;
  const areTexts = [files, failures].every((part) =>
    Object.values(part).every((text) => typeof text === 'string'),
  );
  const areLists = Object.values(directories).every((list) => Array.isArray(list) && list.every(isEntry));
  return areTexts && areLists ? (value as unknown as ConfigContent) : undefined;
}

function isEntry(value: unknown): boolean {
  return isObject(value) && typeof value['name'] === 'string' && typeof value['isDirectory'] === 'boolean';
}

function tooMuch(message: string): KubeletError {
  return new KubeletError('invalid', 'TooLarge', message);
}

// What survives the process, in <root-dir>/live-config: the last known good configuration with its texts, the marker of the
// configuration on trial, and the history. Upstream (until 1.23): pkg/kubelet/kubeletconfig/checkpoint/store.
// Invariants: a damaged file is reported and ignored; nothing is written before the root directory exists, so that start-up
// creates it with its own mode; a failed write changes nothing but the log.
import { isObject } from '../base/guards.ts';
import type { Logger } from '../base/log/log.ts';
import type { HistoryEntry } from './config-status.ts';
import { type ConfigContent, checksumOf, parseContent } from './content.ts';
import type { TrialMarker } from './decide-start.ts';

/** Files with mode 0600 that are replaced atomically. */
interface LiveConfigFiles {
  /** Undefined if it does not exist. */
  read(path: string, limitBytes: number): Promise<string | undefined>;
  write(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
}

interface StateFilesDeps {
  readonly directory: string;
  readonly files: LiveConfigFiles;
  readonly log: Logger;
}

interface SavedState {
  readonly lastKnownGood: ConfigContent | undefined;
  readonly marker: TrialMarker | undefined;
  readonly history: readonly HistoryEntry[];
}

const version = 'v1';
const limitBytes = 4 * 1024 * 1024;
const names = {
  lastKnownGood: 'last-known-good.json',
  marker: 'trial.json',
  history: 'history.json',
} as const;

export class StateFiles {
  readonly #deps: StateFilesDeps;
  #mayWrite = false;

  constructor(deps: StateFilesDeps) {
    this.#deps = deps;
  }

  async load(): Promise<SavedState> {
    const lastKnownGood = await this.#read('lastKnownGood', parseLastKnownGood);
    const marker = await this.#read('marker', parseMarker);
    const history = await this.#read('history', parseHistory);
    if (lastKnownGood !== undefined) this.allowWrites();
    return { lastKnownGood, marker, history: history ?? [] };
  }

  /** The root directory exists. */
  allowWrites(): void {
    this.#mayWrite = true;
  }

  async saveLastKnownGood(content: ConfigContent): Promise<void> {
    await this.#write('lastKnownGood', { version, checksum: checksumOf(content), content });
  }

  async saveMarker(marker: TrialMarker): Promise<void> {
    await this.#write('marker', { version, ...marker });
  }

  async removeMarker(): Promise<void> {
    const { directory, files, log } = this.#deps;
    try {
      if (this.#mayWrite) await files.remove(`${directory}/${names.marker}`);
    } catch (err) {
      log.error('Failed to remove a file of the live configuration', { file: names.marker, err });
    }
  }

  async saveHistory(entries: readonly HistoryEntry[]): Promise<void> {
    await this.#write('history', { version, entries });
  }

  async #write(name: keyof typeof names, value: object): Promise<void> {
    const { directory, files, log } = this.#deps;
    if (!this.#mayWrite) return;
    try {
      await files.write(`${directory}/${names[name]}`, `${JSON.stringify(value)}\n`);
    } catch (err) {
      log.error('Failed to write a file of the live configuration', { file: names[name], err });
    }
  }

  async #read<T>(name: keyof typeof names, parse: (value: unknown) => T | undefined): Promise<T | undefined> {
    const { directory, files, log } = this.#deps;
    const path = `${directory}/${names[name]}`;
    try {
      const text = await files.read(path, limitBytes);
      if (text === undefined) return undefined;
      const parsed = parse(JSON.parse(text));
      if (parsed === undefined) log.error('Ignoring a damaged file of the live configuration', { path });
      return parsed;
    } catch (err) {
      log.error('Ignoring an unreadable file of the live configuration', { path, err });
      return undefined;
    }
  }
}

function parseLastKnownGood(value: unknown): ConfigContent | undefined {
  if (!isObject(value) || value['version'] !== version) return undefined;
  const content = parseContent(value['content']);
  return content !== undefined && checksumOf(content) === value['checksum'] ? content : undefined;
}

function parseMarker(value: unknown): TrialMarker | undefined {
  if (!isObject(value) || value['version'] !== version) return undefined;
  const { checksum, reason, state } = value;
  if (typeof checksum !== 'string' || typeof reason !== 'string') return undefined;
  return state === 'trying' || state === 'failed' ? { checksum, state, reason } : undefined;
}

const texts = ['time', 'checksum', 'outcome', 'outcomeTime'] as const;
const lists = ['sources', 'changes', 'reasons'] as const;

function parseHistory(value: unknown): readonly HistoryEntry[] | undefined {
  if (!isObject(value) || value['version'] !== version) return undefined;
  const { entries } = value;
  if (!Array.isArray(entries)) return undefined;
  const isEntry = (entry: unknown): entry is HistoryEntry =>
    isObject(entry) &&
    texts.every((name) => typeof entry[name] === 'string') &&
    lists.every((name) => Array.isArray(entry[name]));
  return entries.every(isEntry) ? entries : undefined;
}

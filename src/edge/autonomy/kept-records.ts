// The records of one node: <directory>/<kind>/<name>, the key, and damaged/ with what was set aside.
// Invariants: every record is judged by itself; one that cannot be used is moved away, so that it is reported once; a disk that fails to
// read moves nothing; the number and size of files that are read, and of those that are set aside, are bounded.
import { describeError, isKind, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { DurableFiles } from './durable-files.ts';
import {
  decodeRecord,
  encodeRecord,
  ForeignRecord,
  machineMark,
  recordName,
  type Sealer,
} from './envelope.ts';
import { isKeyText, newKeyText, sealerOf } from './sealing-key.ts';

export interface KeptRecordsOptions {
  readonly directory: string;
  readonly nodeName: string;
  /** Kinds that are only ever written encrypted. */
  readonly sealedKinds: readonly string[];
  readonly files: DurableFiles;
  readonly machineId: () => Promise<string>;
  readonly log: Logger;
}

/** Above etcd's limit of an object, in base64; a collection has many objects. */
const maxBytes = 32 * 1024 * 1024;
const maxFiles = 10_000;
const maxSetAside = 100;
/** Records read at the same time. */
const parallel = 8;
const temporarySuffix = '.tmp';

export class KeptRecords {
  readonly #options: KeptRecordsOptions;
  readonly #created = new Set<string>();
  #machineId: Promise<string> | undefined;
  #sealer: Promise<Sealer> | undefined;
  #foreign = 0;

  constructor(options: KeptRecordsOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { directory, files } = this.#options;
    await files.makeDirectory(directory);
    await this.#readMachineId();
  }

  async load(kind: string, use: (key: string, text: string) => void): Promise<void> {
    const { files } = this.#options;
    const names = [...(await files.list(this.#directoryOf(kind)))];
    if (names.length > maxFiles)
      this.#options.log.warn('Too many kept records, the rest is ignored', { kind });
    const wanted = names.slice(0, maxFiles);
    for (let at = 0; at < wanted.length; at += parallel) {
      const read = await Promise.all(wanted.slice(at, at + parallel).map((name) => this.#read(kind, name)));
      for (const record of read) if (record !== undefined) this.#use(kind, record, use);
    }
  }

  async read(kind: string, key: string): Promise<string | undefined> {
    return (await this.#read(kind, recordName(kind, key)))?.text;
  }

  async write(kind: string, key: string, text: string): Promise<void> {
    const { files, nodeName } = this.#options;
    const sealer = this.#isSealed(kind) ? await this.#openSealer() : undefined;
    const place = { node: nodeName, machine: machineMark(await this.#readMachineId()), kind, key };
    const content = encodeRecord(place, text, sealer);
    if (content.length > maxBytes)
      throw new KubeletError('invalid', 'TooLarge', `a record of ${content.length} bytes is not kept`);
    await this.#makeDirectory(kind);
    await files.write(this.#pathOf(kind, recordName(kind, key)), content);
  }

  async remove(kind: string, key: string): Promise<void> {
    await this.#options.files.remove(this.#pathOf(kind, recordName(kind, key)));
  }

  async forgetSecrets(kinds: readonly string[]): Promise<void> {
    const { files } = this.#options;
    for (const kind of kinds) {
      const names = await files.list(this.#directoryOf(kind));
      for (const name of names) await files.remove(this.#pathOf(kind, name));
    }
    await files.remove(this.#keyPath);
    this.#sealer = undefined;
  }

  async forgetAll(): Promise<boolean> {
    return await this.#options.files.removeTree(this.#options.directory);
  }

  get #keyPath(): string {
    return `${this.#options.directory}/key`;
  }

  #directoryOf(kind: string): string {
    return `${this.#options.directory}/${kind}`;
  }

  #pathOf(kind: string, name: string): string {
    return `${this.#directoryOf(kind)}/${name}`;
  }

  #isSealed(kind: string): boolean {
    return this.#options.sealedKinds.includes(kind);
  }

  #use(
    kind: string,
    { key, text, name }: { readonly key: string; readonly text: string; readonly name: string },
    use: (key: string, text: string) => void,
  ): void {
    try {
      use(key, text);
    } catch (err) {
      void this.#setAside(kind, name, err);
    }
  }

  async #read(
    kind: string,
    name: string,
  ): Promise<{ readonly key: string; readonly text: string; readonly name: string } | undefined> {
    const { files, nodeName } = this.#options;
    if (name.endsWith(temporarySuffix)) {
      // A write that was cut off.
      await files.remove(this.#pathOf(kind, name)).catch(() => undefined);
      return undefined;
    }
    const found = await this.#contentOf(kind, name);
    if (found === undefined) return undefined;
    const { content, machineId, sealer } = found;
    try {
      const own = { node: nodeName, machine: machineMark(machineId), kind, nameOf: recordName };
      return { ...decodeRecord(content, name, own, sealer), name };
    } catch (err) {
      await this.#setAside(kind, name, err);
      return undefined;
    }
  }

  /** The record, and what it takes to decode it. A disk that fails is no fault of the record, which stays. */
  async #contentOf(kind: string, name: string) {
    const { files, log } = this.#options;
    const path = this.#pathOf(kind, name);
    try {
      const content = await files.read(path, maxBytes);
      if (content === undefined) return undefined;
      const machineId = await this.#readMachineId();
      return { content, machineId, sealer: this.#isSealed(kind) ? await this.#openSealer() : undefined };
    } catch (err) {
      const isNoRecord = err instanceof KubeletError && isKind(err.cause, 'invalid');
      if (isNoRecord) await this.#setAside(kind, name, err);
      else log.warn('Failed to read a kept record', { path, err });
      return undefined;
    }
  }

  #readMachineId(): Promise<string> {
    this.#machineId ??= this.#options.machineId().catch((err: unknown) => {
      this.#machineId = undefined;
      throw err;
    });
    return this.#machineId;
  }

  /** Shared by all callers, so that only one key is created. */
  #openSealer(): Promise<Sealer> {
    this.#sealer ??= this.#readOrCreateKey().catch((err: unknown) => {
      this.#sealer = undefined;
      throw err;
    });
    return this.#sealer;
  }

  async #readOrCreateKey(): Promise<Sealer> {
    const { files, log, nodeName } = this.#options;
    let text = await files.read(this.#keyPath, 1024);
    if (text !== undefined && !isKeyText(text)) {
      log.warn('The key of the kept secrets is damaged, a new one is created', { path: this.#keyPath });
      text = undefined;
    }
    if (text === undefined) {
      text = newKeyText();
      await files.write(this.#keyPath, text);
    }
    return sealerOf(text, { machineId: await this.#readMachineId(), nodeName });
  }

  /** Never rejects. State of another node is reported once. */
  async #setAside(kind: string, name: string, err: unknown): Promise<void> {
    const { directory, files, log } = this.#options;
    const path = this.#pathOf(kind, name);
    const setAside = `${directory}/damaged/${kind}-${name}`;
    try {
      await this.#makeDirectory('damaged');
      const isFull = (await files.list(this.#directoryOf('damaged'))).length >= maxSetAside;
      await (isFull ? files.remove(path) : files.move(path, setAside));
    } catch (cause) {
      log.warn('Failed to set a kept record aside', { path, err: cause });
    }
    if (!(err instanceof ForeignRecord)) {
      log.warn('A kept record cannot be used and was set aside', { path, setAside, why: describeError(err) });
      return;
    }
    this.#foreign += 1;
    if (this.#foreign > 1) return;
    const why = describeError(err);
    log.error('The kept state is of another node or machine and was set aside', { directory, why });
  }

  async #makeDirectory(kind: string): Promise<void> {
    if (this.#created.has(kind)) return;
    await this.#options.files.makeDirectory(this.#directoryOf(kind));
    this.#created.add(kind);
  }
}

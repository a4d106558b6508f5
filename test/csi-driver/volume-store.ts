// What the driver knows of its volumes: one file per volume, and a list of events that only grows. Everything is on disk and read
// again for each call, so that the driver may be killed at any time and two processes of it may work side by side.
// What is mounted is never recorded, but read from the mount table.
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { VolumeKind } from './options.ts';

/** A path that the volume was staged to or published at, with what later calls for it must agree with. */
export interface Use {
  /** The capability of the request as JSON. */
  readonly capability: string;
  readonly readonly: boolean;
}

export interface VolumeRecord {
  readonly handle: string;
  readonly kind: VolumeKind;
  readonly sizeBytes: number;
  /** Belongs to a pod's inline volume, so that it is deleted when it is unpublished. */
  readonly ephemeral: boolean;
  /** By staging path. */
  readonly staged: Readonly<Record<string, Use>>;
  /** By target path. */
  readonly published: Readonly<Record<string, Use>>;
}

export interface VolumeEvent {
  readonly event: 'create' | 'mount' | 'unmount' | 'delete' | 'violation';
  readonly volume: string;
  /** The path that was mounted or unmounted. */
  readonly path: string;
  readonly detail: string;
  readonly pid: number;
  readonly atMs: number;
}

/** Handles that are file names as they are; others are hashed. */
const plainHandle = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

function volumeFolder(dataDir: string, handle: string): string {
  const name = plainHandle.test(handle) ? handle : createHash('sha256').update(handle).digest('hex');
  return join(dataDir, 'volumes', name);
}

export class VolumeStore {
  readonly #dataDir: string;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  folder(handle: string): string {
    return volumeFolder(this.#dataDir, handle);
  }

  get(handle: string): VolumeRecord | undefined {
    return readRecord(join(this.folder(handle), 'volume.json'));
  }

  put(record: VolumeRecord): void {
    const path = join(this.folder(record.handle), 'volume.json');
    mkdirSync(this.folder(record.handle), { recursive: true });
    writeFileSync(`${path}.new`, JSON.stringify(record));
    renameSync(`${path}.new`, path);
  }

  remove(handle: string): void {
    rmSync(this.folder(handle), { recursive: true, force: true });
  }

  all(): readonly VolumeRecord[] {
    const dir = join(this.#dataDir, 'volumes');
    return (existsSync(dir) ? readdirSync(dir) : [])
      .map((name) => readRecord(join(dir, name, 'volume.json')))
      .filter((record) => record !== undefined);
  }

  note(event: VolumeEvent['event'], volume: string, path: string, detail = ''): void {
    const line: VolumeEvent = { event, volume, path, detail, pid: process.pid, atMs: Date.now() };
    appendFileSync(join(this.#dataDir, 'events.jsonl'), `${JSON.stringify(line)}\n`);
  }

  events(): readonly VolumeEvent[] {
    return readLines(join(this.#dataDir, 'events.jsonl')) as readonly VolumeEvent[];
  }
}

function readRecord(path: string): VolumeRecord | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as VolumeRecord;
  } catch {
    return undefined;
  }
}

/** The JSON lines of a file that another process may be appending to; none if it does not exist. */
export function readLines(path: string): readonly unknown[] {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

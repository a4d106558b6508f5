// One small file per disk of this node, beside its directory: what the directory's name cannot hold. The file that upstream keeps
// for iSCSI is inside the directory, where the mount hides it. Upstream: persistISCSIFile, and parsing directory names.
// Invariants: what is read from disk is bounded and checked, a damaged record is as good as none; the record exists before
// anything is attached, and is removed after everything was detached.
import type { VolumeHost } from '../../api/ports/volume-host.ts';
import { isObject } from '../../base/guards.ts';
import type { DiskKind, DiskPlace, DiskRecord, FoundDisk } from './disk-kind.ts';

const limitBytes = 64 * 1024;
const maxItems = 256;
const maxLength = 1024;

export class DiskRecords<P extends DiskPlace> {
  readonly #host: VolumeHost;
  readonly #kind: DiskKind<P>;

  constructor(host: VolumeHost, kind: DiskKind<P>) {
    this.#host = host;
    this.#kind = kind;
  }

  async list(): Promise<readonly FoundDisk<P>[]> {
    const found: FoundDisk<P>[] = [];
    for (const place of await this.#kind.list()) found.push({ place, record: await this.read(place) });
    return found;
  }

  async read(place: P): Promise<DiskRecord | undefined> {
    const text = await this.#host.readOwnFile(recordPath(place), limitBytes).catch(() => undefined);
    const record = text === undefined ? undefined : parseRecord(text);
    return record !== undefined && this.#kind.isNameOf(place, record.attachName) ? record : undefined;
  }

  /** Adds the volume to the record of a place, whose directory exists. */
  async add(place: P, { attachName, identifiers, volumes }: DiskRecord): Promise<void> {
    const old = await this.read(place);
    // The last ones: the names of persistent volumes that were deleted long ago may stay behind.
    const all = [...new Set([...(old?.volumes ?? []), ...volumes])].slice(-maxItems);
    // The name that was attached first stays: the record is also the lock's name for those who find the disk later.
    const record = { attachName: old?.attachName ?? attachName, volumes: all, identifiers };
    const text = `${JSON.stringify(record)}\n`;
    if (old !== undefined && JSON.stringify(old) === JSON.stringify(record)) return;
    await this.#host.writeOwnFile(recordPath(place), text);
  }

  /** Removes the record and the place. `conflict` if the place is not empty. */
  async remove(place: P): Promise<void> {
    for (const file of this.#kind.files) await this.#host.removeOwnFile(`${place.path}/${file}`);
    await this.#host.removeOwnFile(recordPath(place));
    await this.#host.removeEmptyOfPlugin(place.path);
  }
}

export function nameOf<P extends DiskPlace>({ place, record }: FoundDisk<P>): string {
  return record?.attachName ?? place.derivedName;
}

/** Upstream takes every name in this directory that begins with the portal of a volume for a volume. */
function recordPath({ path }: DiskPlace): string {
  const end = path.lastIndexOf('/');
  return `${path.slice(0, end)}/record-${path.slice(end + 1)}`;
}

function parseRecord(text: string): DiskRecord | undefined {
  const value = parseJson(text);
  if (!isObject(value)) return undefined;
  const { attachName, volumes, identifiers } = value;
  if (!isShort(attachName) || !isShortList(volumes) || !isShortList(identifiers)) return undefined;
  return { attachName, volumes, identifiers };
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxLength;
}

export function isShortList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= maxItems && value.every(isShort);
}

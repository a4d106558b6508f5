// The format of a record: a header in one line, then the text, in clear with a checksum or encrypted and authenticated.
// Invariant: a record is accepted only whole, in its own place, and on the node and machine that wrote it.
import { createHash } from 'node:crypto';
import { isObject } from '../../base/guards.ts';

/** Where a record belongs. */
interface RecordPlace {
  readonly node: string;
  /** Identifies the machine without its ID, which is confidential. */
  readonly machine: string;
  readonly kind: string;
  readonly key: string;
}

export interface Sealer {
  /** `bound` is authenticated, not encrypted. */
  seal(text: string, bound: string): string;
  /** Throws if the text was not sealed with this key for the same `bound`. */
  open(sealed: string, bound: string): string;
}

/** The record is whole, but of another node or machine. */
export class ForeignRecord extends Error {
  override readonly name = 'ForeignRecord';
}

const version = 1;

/** Sealed with a sealer, in clear without. */
export function encodeRecord(place: RecordPlace, text: string, sealer: Sealer | undefined): string {
  const bound = boundText(place);
  const header =
    sealer === undefined
      ? { version, ...place, sha256: digest(bound, text) }
      : { version, ...place, sealed: true };
  return `${JSON.stringify(header)}\n${sealer === undefined ? text : sealer.seal(text, bound)}`;
}

interface OwnPlace extends Pick<RecordPlace, 'node' | 'machine' | 'kind'> {
  /** The name of the file for a key. */
  readonly nameOf: (kind: string, key: string) => string;
}

/** Throws an error that states why the record cannot be used. */
export function decodeRecord(
  content: string,
  name: string,
  own: OwnPlace,
  sealer: Sealer | undefined,
): { readonly key: string; readonly text: string } {
  const end = content.indexOf('\n');
  const header = headerOf(end < 0 ? '' : content.slice(0, end));
  if (header.node !== own.node) throw new ForeignRecord(`it belongs to node ${JSON.stringify(header.node)}`);
  if (header.machine !== own.machine) throw new ForeignRecord('it was written on another machine');
  if (header.kind !== own.kind || own.nameOf(own.kind, header.key) !== name)
    throw new Error('it was written under another name');
  const body = content.slice(end + 1);
  const bound = boundText(header);
  if (sealer !== undefined) {
    if (!header.sealed) throw new Error('it is not encrypted');
    return { key: header.key, text: sealer.open(body, bound) };
  }
  if (header.sha256 !== digest(bound, body)) throw new Error('its checksum does not match its content');
  return { key: header.key, text: body };
}

interface Header extends RecordPlace {
  readonly sealed: boolean;
  readonly sha256: string | undefined;
}

function headerOf(line: string): Header {
  const parsed = parseLine(line);
  if (!isObject(parsed)) throw new Error('it has no header');
  if (parsed['version'] !== version)
    throw new Error(`its format, version ${JSON.stringify(parsed['version'])}, is not known`);
  const { key, kind, machine, node, sealed, sha256 } = parsed;
  if (typeof node !== 'string' || typeof machine !== 'string') throw new Error('its header is incomplete');
  if (typeof kind !== 'string' || typeof key !== 'string') throw new Error('its header is incomplete');
  return {
    node,
    machine,
    kind,
    key,
    sealed: sealed === true,
    sha256: typeof sha256 === 'string' ? sha256 : undefined,
  };
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function boundText({ key, kind, machine, node }: RecordPlace): string {
  return JSON.stringify([version, node, machine, kind, key]);
}

function digest(bound: string, text: string): string {
  return createHash('sha256').update(bound).update('\n').update(text).digest('hex');
}

/** The name of a record's file: keys may be longer than a file name, and have any character. */
export function recordName(kind: string, key: string): string {
  return createHash('sha256').update(`${kind}\n${key}`).digest('hex').slice(0, 40);
}

/** Identifies a machine by its ID without showing it. */
export function machineMark(machineId: string): string {
  return createHash('sha256').update(`kubelet autonomy machine\n${machineId}`).digest('hex').slice(0, 16);
}

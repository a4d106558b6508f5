// Encodes and decodes kubelet_internal_checkpoint, byte for byte as the Go kubelet. Pure.
// Upstream: pkg/kubelet/cm/devicemanager/checkpoint. Invariants: entries, device IDs and resources are sorted, where upstream
// leaves them in random order; the response of a plugin is kept as the bytes that were read.
import { goJsonString } from '../../api/k8s/go-json.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { corruptCheckpoint } from '../checkpoint/checkpoint-file.ts';
import { parseObject, printedChecksum, printList, printMap } from '../checkpoint/printed.ts';

/** The key of devices without a NUMA node. */
export const withoutNumaNode = -1;

export interface DeviceEntry {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
  /** IDs by NUMA node. A device of several nodes is listed under each. */
  readonly devices: ReadonlyMap<number, readonly string[]>;
  /** The plugin's ContainerAllocateResponse as protobuf. */
  readonly response: Uint8Array;
}

export interface DeviceCheckpoint {
  readonly entries: readonly DeviceEntry[];
  /** The healthy devices by resource. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
}

/** An entry in both of its forms: part of the file and part of the text under the checksum. */
export interface RenderedEntry {
  readonly json: string;
  readonly printed: string;
}

/** As the file has it. Null and an empty list differ in Go, and so do their checksums. */
interface RawEntry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[] | null>> | null;
  readonly AllocResp: string | null;
}

export function renderEntry(entry: DeviceEntry): RenderedEntry {
  const devices = [...entry.devices].map(([node, ids]) => [String(node), ids.toSorted()] as const);
  const raw = {
    PodUID: entry.podUid,
    ContainerName: entry.container,
    ResourceName: entry.resource,
    DeviceIDs: Object.fromEntries(devices),
    AllocResp: Buffer.from(entry.response).toString('base64'),
  };
  const names = `"PodUID":${goJsonString(raw.PodUID)},"ContainerName":${goJsonString(raw.ContainerName)},"ResourceName":${goJsonString(raw.ResourceName)}`;
  const json = `{${names},"DeviceIDs":${jsonLists(devices)},"AllocResp":"${raw.AllocResp}"}`;
  return { json, printed: printEntry(raw) };
}

/** The entries are written in the given order. */
export function encodeDeviceCheckpoint(
  entries: readonly RenderedEntry[],
  registered: ReadonlyMap<string, readonly string[]>,
): string {
  const devices = [...registered].map(([resource, ids]) => [resource, ids.toSorted()] as const);
  const printedEntries = entries.length === 0 ? '<nil>' : printList(entries, ({ printed }) => printed);
  const checksum = printedChecksum(printData(printedEntries, printLists(Object.fromEntries(devices))));
  const json = entries.length === 0 ? 'null' : `[${entries.map((each) => each.json).join(',')}]`;
  return `{"Data":{"PodDeviceEntries":${json},"RegisteredDevices":${jsonLists(devices)}},"Checksum":${checksum}}`;
}

/** Throws `invalid` if the text is malformed or its checksum does not match. */
export function decodeDeviceCheckpoint(text: string): DeviceCheckpoint {
  const { Data: data, Checksum: checksum } = parseObject(text);
  if (!isObject(data)) throw corrupt();
  const entries = rawEntries(data['PodDeviceEntries'] ?? null);
  const registered = rawLists(data['RegisteredDevices'] ?? null);
  const printed = printData(
    entries === null ? '<nil>' : printList(entries, printEntry),
    printLists(registered),
  );
  if (checksum !== printedChecksum(printed)) throw corrupt();
  return {
    entries: (entries ?? []).map(entryOf),
    registered: new Map(Object.entries(registered ?? {}).map(([name, ids]) => [name, ids ?? []])),
  };
}

function entryOf(raw: RawEntry): DeviceEntry {
  const devices = Object.entries(raw.DeviceIDs ?? {}).map(
    ([node, ids]) => [Number(node), ids ?? []] as const,
  );
  return {
    podUid: raw.PodUID,
    container: raw.ContainerName,
    resource: raw.ResourceName,
    devices: new Map(devices),
    response: bytesOf(raw.AllocResp ?? ''),
  };
}

function printData(entries: string, registered: string): string {
  return `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${entries} RegisteredDevices:(map[string][]string)${registered}}`;
}

function printEntry({ AllocResp, ContainerName, DeviceIDs, PodUID, ResourceName }: RawEntry): string {
  const names = `PodUID:(string)${PodUID} ContainerName:(string)${ContainerName} ResourceName:(string)${ResourceName}`;
  const response = AllocResp === null ? '<nil>' : `[${bytesOf(AllocResp).join(' ')}]`;
  return `{${names} DeviceIDs:(checkpoint.DevicesPerNUMA)${printNodes(DeviceIDs)} AllocResp:([]uint8)${response}}`;
}

/** Nodes in numerical order, negative ones included. */
function printNodes(lists: RawEntry['DeviceIDs']): string {
  if (lists === null) return '<nil>';
  const nodes = Object.keys(lists).toSorted((a, b) => Number(a) - Number(b));
  return `map[${nodes.map((node) => `${node}:${printIds(lists[node] ?? null)}`).join(' ')}]`;
}

function printLists(lists: Readonly<Record<string, readonly string[] | null>> | null): string {
  return lists === null ? '<nil>' : printMap(lists, printIds);
}

function printIds(ids: readonly string[] | null): string {
  return ids === null ? '<nil>' : printList(ids, (id) => id);
}

/** Go sorts the keys of a JSON object as text, numbers too. */
function jsonLists(lists: readonly (readonly [string, readonly string[]])[]): string {
  const sorted = lists.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, ids]) => `${goJsonString(key)}:[${ids.map(goJsonString).join(',')}]`).join(',')}}`;
}

function rawEntries(value: unknown): readonly RawEntry[] | null {
  if (value === null) return null;
  if (!Array.isArray(value)) throw corrupt();
  return value.map((each: unknown) => {
    if (!isObject(each)) throw corrupt();
    return {
      PodUID: textOf(each['PodUID']),
      ContainerName: textOf(each['ContainerName']),
      ResourceName: textOf(each['ResourceName']),
      DeviceIDs: rawLists(each['DeviceIDs'] ?? null),
      AllocResp: each['AllocResp'] === null ? null : textOf(each['AllocResp']),
    };
  });
}

function rawLists(value: unknown): Readonly<Record<string, readonly string[] | null>> | null {
  if (value === null) return null;
  if (!isObject(value) || !Object.values(value).every(isIdList)) throw corrupt();
  return value as Readonly<Record<string, readonly string[] | null>>;
}

function isIdList(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.every((each) => typeof each === 'string'));
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw corrupt();
  return value;
}

function bytesOf(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, 'base64'));
}

function corrupt(): KubeletError {
  return new KubeletError('invalid', 'CorruptCheckpoint', corruptCheckpoint);
}

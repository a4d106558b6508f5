// Encodes and decodes memory_manager_state, byte for byte as the Go kubelet. Pure. Written in the third format (v1.37), which
// earlier kubelets read too: it is the first one with the state once more as text. Earlier formats are read.
// Invariant: what is decoded has the declared shape, whatever the text was; amounts may be any integer.
// Upstream: pkg/kubelet/cm/memorymanager/state (checkpoint.go, state.go).
import { goJsonString } from '../../api/k8s/go-json.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { corruptCheckpoint } from '../checkpoint/checkpoint-file.ts';
import {
  decodeData,
  encodeData,
  parseObject,
  printedChecksum,
  printList,
  printMap,
} from '../checkpoint/printed.ts';

export interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  readonly reserved: number;
  readonly free: number;
}

export interface NumaNodeState {
  readonly numberOfAssignments: number;
  /** By resource: memory, hugepages-2Mi. */
  readonly memoryMap: Readonly<Record<string, MemoryTable>>;
  /** The NUMA nodes that are used together with this one, itself included. */
  readonly cells: readonly number[];
}

/** By ID of the NUMA node. */
export type MachineState = Readonly<Record<string, NumaNodeState>>;

export interface MemoryBlock {
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
}

/** By container name, which may be `constructor`: read with Object.hasOwn. */
type PodMemory = Readonly<Record<string, readonly MemoryBlock[]>>;
/** By pod UID. */
export type MemoryEntries = Readonly<Record<string, PodMemory>>;

export interface MemoryState {
  readonly policyName: string;
  readonly machineState: MachineState;
  readonly entries: MemoryEntries;
}

export function encodeMemoryState(state: MemoryState): string {
  const { entries, machineState, policyName } = state;
  const machine = `"machineState":${encodeMap(machineState, encodeNode)}`;
  const pods = encodeMap(entries, (pod) => encodeMap(pod, (blocks) => encodeList(blocks, encodeBlock)));
  const assigned = Object.keys(entries).length === 0 ? '' : `,"entries":${pods}`;
  const body = `"policyName":${goJsonString(policyName)},${machine}${assigned}`;
  return `{${body},"checksum":${checksumOf(state, '')},${encodeData(`{${body}}`)}}`;
}

/** Throws `invalid` if the text is malformed or its checksum does not match. */
export function decodeMemoryState(text: string): MemoryState {
  const fields = parseObject(text);
  const data = decodeData(fields, 'v3');
  const state = stateOf(data ?? fields);
  // Every kubelet names its policy; without it this is some other JSON object.
  if (state.policyName !== '' && (data !== undefined || isTrusted(state, fields))) return state;
  throw corrupt();
}

/** Of the first format, where no checksum is one too, and of the second (v1.36 with PodLevelResourceManagers). */
function isTrusted(state: MemoryState, { checksum = 0, podEntries }: Fields): boolean {
  if (checksum === 0 || checksum === checksumOf(state, '')) return true;
  const pods = mapOf(podEntries, (pod) => fieldsOf(pod)['memoryBlocks']);
  const print = (blocks: unknown): string =>
    `{MemoryBlocks:([]state.Block)${blocks === undefined ? '<nil>' : printList(listOf(blocks, blockOf), printBlock)}}`;
  return (
    checksum === checksumOf(state, ` PodEntries:(state.PodMemoryAssignments)${printMap(pods, print, 'text')}`)
  );
}

function checksumOf({ entries, machineState, policyName }: MemoryState, podEntries: string): number {
  const printPod = (pod: (typeof entries)[string]): string =>
    printMap(pod, (blocks) => printList(blocks, printBlock), 'text');
  const assigned = printMap(entries, printPod, 'text');
  return printedChecksum(
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policyName} MachineState:(state.NUMANodeMap)${printMap(machineState, printNode)} Entries:(state.ContainerMemoryAssignments)${assigned}${podEntries} Checksum:(checksum.Checksum)0}`,
  );
}

function printNode({ cells, memoryMap, numberOfAssignments }: NumaNodeState): string {
  return `<*>{NumberOfAssignments:(int)${numberOfAssignments} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${printMap(memoryMap, printTable)} Cells:([]int)${printList(cells, String)}}`;
}

function printTable({ allocatable, free, reserved, systemReserved, total }: MemoryTable): string {
  return `<*>{TotalMemSize:(uint64)${total} SystemReserved:(uint64)${systemReserved} Allocatable:(uint64)${allocatable} Reserved:(uint64)${reserved} Free:(uint64)${free}}`;
}

function printBlock({ numaAffinity, size, type }: MemoryBlock): string {
  return `{NUMAAffinity:([]int)${printList(numaAffinity, String)} Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
}

/** As Go's encoding/json: keys of maps sorted as text, fields of structs in their order. */
function encodeMap<V>(map: Readonly<Record<string, V>>, encode: (value: V) => string): string {
  const entries = Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, value]) => `${goJsonString(key)}:${encode(value)}`).join(',')}}`;
}

function encodeList<V>(list: readonly V[], encode: (value: V) => string): string {
  return `[${list.map(encode).join(',')}]`;
}

function encodeNode({ cells, memoryMap, numberOfAssignments }: NumaNodeState): string {
  return `{"numberOfAssignments":${numberOfAssignments},"memoryMap":${encodeMap(memoryMap, encodeTable)},"cells":${encodeList(cells, String)}}`;
}

function encodeTable({ allocatable, free, reserved, systemReserved, total }: MemoryTable): string {
  return `{"total":${total},"systemReserved":${systemReserved},"allocatable":${allocatable},"reserved":${reserved},"free":${free}}`;
}

function encodeBlock({ numaAffinity, size, type }: MemoryBlock): string {
  return `{"numaAffinity":${encodeList(numaAffinity, String)},"type":${goJsonString(type)},"size":${size}}`;
}

type Fields = Readonly<Record<string, unknown>>;

function stateOf({ entries, machineState, policyName }: Fields): MemoryState {
  return {
    policyName: textOf(policyName),
    machineState: mapOf(machineState, nodeOf),
    entries: mapOf(entries, (pod) => mapOf(pod, (blocks) => listOf(blocks, blockOf))),
  };
}

function nodeOf(value: unknown): NumaNodeState {
  const { cells, memoryMap, numberOfAssignments } = fieldsOf(value);
  return {
    numberOfAssignments: integerOf(numberOfAssignments),
    memoryMap: mapOf(memoryMap, tableOf),
    cells: listOf(cells, integerOf),
  };
}

function tableOf(value: unknown): MemoryTable {
  const { allocatable, free, reserved, systemReserved, total } = fieldsOf(value);
  return {
    total: integerOf(total),
    systemReserved: integerOf(systemReserved),
    allocatable: integerOf(allocatable),
    reserved: integerOf(reserved),
    free: integerOf(free),
  };
}

function blockOf(value: unknown): MemoryBlock {
  const { numaAffinity, size, type } = fieldsOf(value);
  return { numaAffinity: listOf(numaAffinity, integerOf), type: textOf(type), size: integerOf(size) };
}

function mapOf<V>(value: unknown, read: (value: unknown) => V): Record<string, V> {
  const entries = Object.entries(fieldsOf(value ?? {}));
  return Object.fromEntries(entries.map(([key, each]) => [key, read(each)]));
}

function listOf<V>(value: unknown, read: (value: unknown) => V): readonly V[] {
  const list = value ?? [];
  if (!Array.isArray(list)) throw corrupt();
  return list.map(read);
}

function fieldsOf(value: unknown): Fields {
  if (isObject(value)) return value;
  throw corrupt();
}

/** As Go's encoding/json, a field that is absent is zero. */
function integerOf(value: unknown = 0): number {
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw corrupt();
}

function textOf(value: unknown = ''): string {
  if (typeof value === 'string') return value;
  throw corrupt();
}

function corrupt(): KubeletError {
  return new KubeletError('invalid', 'CorruptCheckpoint', corruptCheckpoint);
}

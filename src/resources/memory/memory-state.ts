// Encodes and decodes memory_manager_state, byte for byte as the Go kubelet. Pure. Written in the third format (v1.37), which
// earlier kubelets read too: it is the first one with the state once more as text. Earlier formats are read.
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

interface MemoryTable {
  readonly total: number;
  readonly systemReserved: number;
  readonly allocatable: number;
  readonly reserved: number;
  readonly free: number;
}

interface NumaNodeState {
  readonly numberOfAssignments: number;
  /** By resource: memory, hugepages-2Mi. */
  readonly memoryMap: Readonly<Record<string, MemoryTable>>;
  /** The NUMA nodes that are used together with this one. */
  readonly cells: readonly number[];
}

interface MemoryBlock {
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
}

interface MemoryState {
  readonly policyName: string;
  readonly machineState: Readonly<Record<string, NumaNodeState>>;
  /** By pod UID and container name. */
  readonly entries: Readonly<Record<string, Readonly<Record<string, readonly MemoryBlock[]>>>>;
}

export function encodeMemoryState(state: MemoryState): string {
  const { entries, machineState, policyName } = state;
  const machine = `"machineState":${json(machineState)}`;
  const assigned = Object.keys(entries).length === 0 ? '' : `,"entries":${json(entries)}`;
  const body = `"policyName":${goJsonString(policyName)},${machine}${assigned}`;
  return `{${body},"checksum":${checksumOf(state, '')},${encodeData(`{${body}}`)}}`;
}

/** Throws `invalid` if the text is malformed or its checksum does not match. */
export function decodeMemoryState(text: string): MemoryState {
  const fields = parseObject(text);
  const data = decodeData(fields, 'v3');
  try {
    const state = stateOf(data ?? fields);
    const { checksum } = fields;
    const isTrusted = data !== undefined || checksumsOf(state).includes(checksum);
    if (isObject(state.machineState) && isTrusted) return state;
  } catch (cause) {
    throw new KubeletError('invalid', 'CorruptCheckpoint', corruptCheckpoint, { cause });
  }
  throw new KubeletError('invalid', 'CorruptCheckpoint', corruptCheckpoint);
}

function stateOf(fields: Readonly<Record<string, unknown>>): MemoryState {
  const { entries, machineState, policyName = '' } = fields;
  return { policyName, machineState: machineState ?? {}, entries: entries ?? {} } as MemoryState;
}

/** Of the first format and of the second (v1.36 with PodLevelResourceManagers), without memory of whole pods. */
function checksumsOf(state: MemoryState): readonly unknown[] {
  return [checksumOf(state, ''), checksumOf(state, ' PodEntries:(state.PodMemoryAssignments)map[]')];
}

function checksumOf({ entries, machineState, policyName }: MemoryState, podEntries: string): number {
  const table = ({ allocatable, free, reserved, systemReserved, total }: MemoryTable): string =>
    `<*>{TotalMemSize:(uint64)${total} SystemReserved:(uint64)${systemReserved} Allocatable:(uint64)${allocatable} Reserved:(uint64)${reserved} Free:(uint64)${free}}`;
  const numbers = (list: readonly number[]): string => printList(list, String);
  const node = ({ cells, memoryMap, numberOfAssignments }: NumaNodeState): string =>
    `<*>{NumberOfAssignments:(int)${numberOfAssignments} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${printMap(memoryMap, table)} Cells:([]int)${numbers(cells)}}`;
  const block = ({ numaAffinity, size, type }: MemoryBlock): string =>
    `{NUMAAffinity:([]int)${numbers(numaAffinity)} Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
  const assigned = printMap(entries, (pod) => printMap(pod, (blocks) => printList(blocks, block)));
  return printedChecksum(
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policyName} MachineState:(state.NUMANodeMap)${printMap(machineState, node)} Entries:(state.ContainerMemoryAssignments)${assigned}${podEntries} Checksum:(checksum.Checksum)0}`,
  );
}

/** As Go's encoding/json: keys of maps sorted, fields of structs in their order. */
function json(map: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, value]) => `${goJsonString(key)}:${JSON.stringify(value)}`).join(',')}}`;
}

// Encodes and decodes cpu_manager_state, byte for byte as the Go kubelet. Pure. Written in the fourth format (v1.37), which
// kubelets from v1.18 on read too: it is the second one with the state once more as text. Earlier formats are read.
// Upstream: pkg/kubelet/cm/cpumanager/state/checkpoint.go.
import { goJsonString } from '../../api/k8s/go-json.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { corruptCheckpoint } from '../checkpoint/checkpoint-file.ts';
import { decodeData, encodeData, parseObject, printedChecksum, printMap } from '../checkpoint/printed.ts';

export interface CpuState {
  readonly policyName: string;
  /** The shared CPUs: `0-3,7`. */
  readonly defaultCpuSet: string;
  /** Exclusive CPUs by pod UID and container name. */
  readonly entries: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export function encodeCpuState(state: CpuState): string {
  const { defaultCpuSet, entries, policyName } = state;
  const pods = sorted(entries).map(([uid, containers]) => {
    const each = sorted(containers).map(([name, cpus]) => `${goJsonString(name)}:${goJsonString(cpus)}`);
    return `${goJsonString(uid)}:{${each.join(',')}}`;
  });
  const assigned = pods.length === 0 ? '' : `,"entries":{${pods.join(',')}}`;
  const names = `"policyName":${goJsonString(policyName)},"defaultCpuSet":${goJsonString(defaultCpuSet)}`;
  const body = `${names}${assigned}`;
  return `{${body},"checksum":${checksumOf(state)},${encodeData(`{${body}}`)}}`;
}

/** Throws `invalid` if the text is malformed or its checksum does not match. */
export function decodeCpuState(text: string): CpuState {
  const fields = parseObject(text);
  const data = decodeData(fields, 'v4');
  if (data !== undefined) return stateOf(data);
  const state = stateOf(fields);
  const { checksum } = fields;
  // The oldest format has no checksum.
  const isOld = checksum === undefined || checksum === 0;
  const isWithoutPods = Object.keys(state.entries).length === 0;
  const matches =
    checksum === checksumOf(state) ||
    checksum === checksumOf(state, 'CPUManagerCheckpointV2') ||
    checksum === thirdFormatChecksum(state) ||
    checksum === thirdFormatChecksum(state, 'CPUManagerCheckpointV3') ||
    (isWithoutPods && checksum === firstFormatChecksum(state));
  if (!isOld && !matches) throw new KubeletError('invalid', 'CorruptCheckpoint', corruptCheckpoint);
  return state;
}

function stateOf(fields: Readonly<Record<string, unknown>>): CpuState {
  return {
    policyName: textOf(fields['policyName']),
    // Go's decoder ignores the case of names, and older files have defaultCPUSet.
    defaultCpuSet: textOf(fields['defaultCpuSet'] ?? fields['defaultCPUSet']),
    entries: entriesOf(fields['entries']),
  };
}

/** `type`: releases differ in whether the checksum covers the name of the format. */
function checksumOf({ defaultCpuSet, entries, policyName }: CpuState, type?: string): number {
  return printedChecksum(printed(policyName, defaultCpuSet, printedEntries(entries), type));
}

/** The third format (v1.36 with PodLevelResourceManagers) has CPUs of whole pods, which only the static policy assigns. */
function thirdFormatChecksum({ defaultCpuSet, entries, policyName }: CpuState, type?: string): number {
  const all = `${printedEntries(entries)} PodEntries:(state.PodCPUAssignments)map[]`;
  return printedChecksum(printed(policyName, defaultCpuSet, all, type));
}

function printedEntries(entries: CpuState['entries']): string {
  const assigned = printMap(entries, (containers) => printMap(containers, (cpus) => cpus, 'text'), 'text');
  return `(map[string]map[string]string)${assigned}`;
}

/** The first format had entries by container ID only. */
function firstFormatChecksum({ defaultCpuSet, policyName }: CpuState): number {
  return printedChecksum(printed(policyName, defaultCpuSet, '(map[string]string)map[]'));
}

function printed(
  policyName: string,
  cpus: string,
  entries: string,
  type: string = 'CPUManagerCheckpoint',
): string {
  return `(*state.${type}){PolicyName:(string)${policyName} DefaultCPUSet:(string)${cpus} Entries:${entries} Checksum:(checksum.Checksum)0}`;
}

function entriesOf(value: unknown): CpuState['entries'] {
  if (value === undefined) return {};
  const pods = isObject(value) ? Object.entries(value) : [];
  const isValid =
    isObject(value) && pods.every(([, each]) => isObject(each) && Object.values(each).every(isText));
  if (!isValid) throw new KubeletError('invalid', 'CorruptCheckpoint', corruptCheckpoint);
  return value as CpuState['entries'];
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function textOf(value: unknown): string {
  return isText(value) ? value : '';
}

function sorted<V>(map: Readonly<Record<string, V>>): readonly (readonly [string, V])[] {
  return Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

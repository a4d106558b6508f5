// Encodes and decodes cpu_manager_state, byte for byte as the Go kubelet. Pure.
// Upstream: pkg/kubelet/cm/cpumanager/state/checkpoint.go.
import { goJsonString } from '../../api/k8s/go-json.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { corruptCheckpoint } from '../checkpoint/checkpoint-file.ts';
import { parseObject, printedChecksum, printMap } from '../checkpoint/printed.ts';

interface CpuState {
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
  const assigned = pods.length === 0 ? '' : `"entries":{${pods.join(',')}},`;
  const names = `"policyName":${goJsonString(policyName)},"defaultCpuSet":${goJsonString(defaultCpuSet)}`;
  return `{${names},${assigned}"checksum":${checksumOf(state)}}`;
}

/** Throws `invalid` if the text is malformed or its checksum does not match. */
export function decodeCpuState(text: string): CpuState {
  const fields = parseObject(text);
  const state: CpuState = {
    policyName: textOf(fields['policyName']),
    // Go's decoder ignores the case of names, and older files have defaultCPUSet.
    defaultCpuSet: textOf(fields['defaultCpuSet'] ?? fields['defaultCPUSet']),
    entries: entriesOf(fields['entries']),
  };
  const { checksum } = fields;
  // The oldest format has no checksum.
  const isOld = checksum === undefined || checksum === 0;
  const isWithoutPods = Object.keys(state.entries).length === 0;
  const matches =
    checksum === checksumOf(state) || (isWithoutPods && checksum === firstFormatChecksum(state));
  if (!isOld && !matches) throw new KubeletError('invalid', 'CorruptCheckpoint', corruptCheckpoint);
  return state;
}

function checksumOf({ defaultCpuSet, entries, policyName }: CpuState): number {
  const assigned = printMap(entries, (containers) => printMap(containers, (cpus) => cpus));
  return printedChecksum(printed(policyName, defaultCpuSet, `(map[string]map[string]string)${assigned}`));
}

/** The first format had entries by container ID only. */
function firstFormatChecksum({ defaultCpuSet, policyName }: CpuState): number {
  return printedChecksum(printed(policyName, defaultCpuSet, '(map[string]string)map[]'));
}

function printed(policyName: string, cpus: string, entries: string): string {
  return `(*state.CPUManagerCheckpoint){PolicyName:(string)${policyName} DefaultCPUSet:(string)${cpus} Entries:${entries} Checksum:(checksum.Checksum)0}`;
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

// The text of cpu_manager_state, byte for byte as the Go kubelet writes and reads it. Pure.
// Upstream: pkg/kubelet/cm/cpumanager/state/checkpoint.go.
import { goJsonString } from '../../api/k8s/go-json.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { corruptCheckpoint } from '../checkpoint/checkpoint-file.ts';
import { parseObject, printedChecksum, printMap } from '../checkpoint/printed.ts';

interface CpuState {
  readonly policyName: string;
  /** CPUs that nobody has of their own: `0-3,7`. */
  readonly defaultCpuSet: string;
  /** By pod UID and container name: CPUs of its own. */
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

/** Throws `invalid` when it is no such file or was damaged. */
export function decodeCpuState(text: string): CpuState {
  const given = parseObject(text);
  const state: CpuState = {
    policyName: textOf(given['policyName']),
    // Go's decoder takes names in any case, and older files have another one.
    defaultCpuSet: textOf(given['defaultCpuSet'] ?? given['defaultCPUSet']),
    entries: entriesOf(given['entries']),
  };
  const { checksum } = given;
  // A file of the oldest form has none.
  const isOld = checksum === undefined || checksum === 0;
  const isWithoutPods = Object.keys(state.entries).length === 0;
  const matches = checksum === checksumOf(state) || (isWithoutPods && checksum === firstFormChecksum(state));
  if (!isOld && !matches) throw new KubeletError('invalid', 'CorruptCheckpoint', corruptCheckpoint);
  return state;
}

function checksumOf({ defaultCpuSet, entries, policyName }: CpuState): number {
  const assigned = printMap(entries, (containers) => printMap(containers, (cpus) => cpus));
  return printedChecksum(printed(policyName, defaultCpuSet, `(map[string]map[string]string)${assigned}`));
}

/** The first form of the file knew containers by their IDs alone. */
function firstFormChecksum({ defaultCpuSet, policyName }: CpuState): number {
  return printedChecksum(printed(policyName, defaultCpuSet, '(map[string]string)map[]'));
}

function printed(policyName: string, cpus: string, entries: string): string {
  return `(*state.CPUManagerCheckpoint){PolicyName:(string)${policyName} DefaultCPUSet:(string)${cpus} Entries:${entries} Checksum:(checksum.Checksum)0}`;
}

function entriesOf(value: unknown): CpuState['entries'] {
  if (value === undefined) return {};
  const pods = isObject(value) ? Object.entries(value) : [];
  const isWhole =
    isObject(value) && pods.every(([, each]) => isObject(each) && Object.values(each).every(isText));
  if (!isWhole) throw new KubeletError('invalid', 'CorruptCheckpoint', corruptCheckpoint);
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

// Which devices a container takes. Pure: no clock, no I/O, no log. Upstream: devicesToAllocate and filterByAffinity in
// pkg/kubelet/cm/devicemanager/manager.go.
// Invariants: only reusable and available devices are taken, never an ID that only the plugin named; lists are sorted by ID, where
// upstream's order is random.
import { KubeletError } from '../../base/errors.ts';
import type { NumaMask, NumaNodes } from '../topology/numa-nodes.ts';
import { withoutNumaNode } from './device-checkpoint.ts';
import { type DeviceTable, hasTopology } from './device-hints.ts';

interface PickQuestion {
  readonly resource: string;
  readonly required: number;
  /** Of init containers that have ended when this container starts. Sorted. */
  readonly reusable: readonly string[];
  /** Healthy and not allocated to another container. Sorted. */
  readonly available: readonly string[];
  readonly devices: DeviceTable;
  /** The NUMA nodes of the merged hint; undefined if any will do. */
  readonly mask: NumaMask | undefined;
  readonly nodes: NumaNodes;
}

export interface PreferenceQuestion {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

export interface DevicePlan {
  readonly required: number;
  /** Taken whatever the plugin prefers. */
  readonly taken: readonly string[];
  /** The plugin chooses the others among these. */
  readonly choices: ReadonlySet<string>;
  /** Undefined if nothing is left to choose. */
  readonly question: PreferenceQuestion | undefined;
  /** In this order, if the plugin has no preference. */
  readonly fallback: readonly string[];
}

/** Throws if fewer devices are available than required. */
export function computeDevicePlan(question: PickQuestion): DevicePlan {
  const { available, required, resource, reusable } = question;
  const reused = reusable.slice(0, required);
  const needed = required - reused.length;
  const done = { required, choices: new Set<string>(), question: undefined, fallback: [] };
  if (needed === 0) return { ...done, taken: reused };
  const isReused = new Set(reused);
  const free = available.filter((id) => !isReused.has(id));
  if (free.length < needed) throw unavailable(resource, needed, free.length);
  const { aligned, unaligned, unplaced } = splitByAffinity(question, free);
  if (needed < aligned.length)
    return {
      required,
      taken: reused,
      choices: new Set(aligned),
      question: ask([...aligned, ...reused], reused, required),
      fallback: aligned,
    };
  const taken = [...reused, ...aligned];
  if (taken.length === required) return { ...done, taken };
  return {
    required,
    taken,
    choices: new Set(free),
    question: ask([...free, ...reused], taken, required),
    fallback: [...unaligned, ...unplaced],
  };
}

/** The devices to allocate, sorted. Unknown, duplicate and surplus IDs in the plugin's answer are ignored. */
export function computeDevicePick(plan: DevicePlan, preferred: Iterable<string>): readonly string[] {
  const picked = new Set(plan.taken);
  for (const list of [preferred, plan.fallback])
    for (const id of list) {
      if (picked.size >= plan.required) break;
      if (plan.choices.has(id)) picked.add(id);
    }
  return [...picked].toSorted();
}

interface Split {
  readonly aligned: readonly string[];
  readonly unaligned: readonly string[];
  readonly unplaced: readonly string[];
}

/** Splits devices by whether they have a node of the mask, other nodes, or none. */
export function splitByAffinity(
  { devices, mask, nodes }: Pick<PickQuestion, 'devices' | 'mask' | 'nodes'>,
  available: readonly string[],
): Split {
  if (mask === undefined || !hasTopology(devices)) return { aligned: [], unaligned: [], unplaced: available };
  const split = { aligned: [] as string[], unaligned: [] as string[], unplaced: [] as string[] };
  for (const id of available) {
    const numaNodes = devices.get(id)?.numaNodes ?? [];
    const isPlaced = numaNodes.some((node) => node !== withoutNumaNode);
    if ((nodes.maskOf(numaNodes) & mask) !== 0) split.aligned.push(id);
    else if (isPlaced) split.unaligned.push(id);
    else split.unplaced.push(id);
  }
  return split;
}

function ask(available: readonly string[], mustInclude: readonly string[], size: number): PreferenceQuestion {
  return { available: available.toSorted(), mustInclude: mustInclude.toSorted(), size };
}

function unavailable(resource: string, requested: number, available: number): KubeletError {
  return new KubeletError(
    'conflict',
    'UnexpectedAdmissionError',
    `requested number of devices unavailable for ${resource}. Requested: ${requested}, Available: ${available}`,
  );
}

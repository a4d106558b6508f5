// The health of a pod's volumes in its status. Pure.
// Invariants: an entry changes only with the set of its conditions, and then gets a new time; a changed message alone changes
// nothing; what is reported stays while nothing newer is known; a volume that recovered keeps an entry without conditions.
// Upstream: SetPodVolumeHealth and updateStatusInternal in pkg/kubelet/status/status_manager.go.
import type { Pod, PodStatus, PodVolumeHealth, VolumeHealthCondition } from '../api/k8s/types.ts';
import { apiTime } from './api-fields.ts';

/** `old`: the previous status. Undefined: no entries. */
export function computeVolumeHealth(
  { spec }: Pod,
  old: PodStatus,
  conditionsOf: (volume: string) => readonly VolumeHealthCondition[] | undefined,
  nowMs: number,
): PodVolumeHealth[] | undefined {
  const before = old.volumeHealth ?? [];
  const names = (spec?.volumes ?? []).map(({ name }) => name);
  const updated = (name: string, entry: PodVolumeHealth | undefined): PodVolumeHealth | undefined => {
    const conditions = names.includes(name) ? conditionsOf(name) : undefined;
    if (conditions === undefined || isSameSet(entry?.healthConditions ?? [], conditions)) return entry;
    return {
      name,
      ...(conditions.length === 0 ? {} : { healthConditions: [...conditions] }),
      lastTransitionTime: apiTime(nowMs),
    };
  };
  const added = names.filter((name) => !before.some((entry) => entry.name === name));
  const entries = [
    ...before.map((entry) => updated(entry.name, entry) ?? entry),
    ...added.flatMap((name) => updated(name, undefined) ?? []),
  ];
  return entries.length === 0 ? undefined : entries;
}

function isSameSet(a: readonly VolumeHealthCondition[], b: readonly VolumeHealthCondition[]): boolean {
  const identities = (all: readonly VolumeHealthCondition[]): Set<string> =>
    new Set(all.map(({ reason, status }) => `${status} ${reason}`));
  const [before, after] = [identities(a), identities(b)];
  return before.size === after.size && [...before].every((each) => after.has(each));
}

// Chooses the dead containers and sandboxes to remove. Pure. Upstream: evictContainers and evictSandboxes in kuberuntime_gc.go.
// Invariants: a running or needed container is never chosen; a sandbox is chosen only if none of its containers stays.
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../../api/pod/observed.ts';
import type { GarbageScope } from '../../api/ports/garbage-scope.ts';

interface Garbage {
  readonly containers: readonly ObservedContainer[];
  readonly sandboxes: readonly ObservedSandbox[];
}

/** Upstream: GCPolicy, from deprecated flags that still apply. */
export interface GarbagePolicy {
  /** Dead containers kept per container name; negative: all. */
  readonly perContainer: number;
  /** A container younger than this is kept. */
  readonly minAgeMs: number;
  /** Dead containers kept on the whole node; negative: all. */
  readonly total: number;
}

interface GarbageFlags {
  readonly maximumDeadContainers: number;
  readonly maximumDeadContainersPerContainer: number;
  readonly minimumContainerTTLDuration: { readonly ms: number };
}

export function garbagePolicy(flags: GarbageFlags): GarbagePolicy {
  return {
    perContainer: flags.maximumDeadContainersPerContainer,
    minAgeMs: flags.minimumContainerTTLDuration.ms,
    total: flags.maximumDeadContainers,
  };
}

export interface GarbageView {
  readonly policy: GarbagePolicy;
  readonly nowMs: number;
  readonly scopeOf: (pod: ObservedPod) => GarbageScope;
  /** The runtime refuses to remove this container for now. */
  readonly isRefused: (id: string) => boolean;
}

interface Dead {
  readonly id: string;
  readonly createdAtMs: number;
  readonly isNeeded: boolean;
}

/** The garbage of one pod. `node`: all observed pods, for the limit of the node. */
export function computeGarbage(seen: ObservedPod, node: Iterable<ObservedPod>, view: GarbageView): Garbage {
  const counted =
    view.policy.total < 0 ? [seen] : [...node].map((pod) => (pod.uid === seen.uid ? seen : pod));
  return garbageOf(seen, view.scopeOf(seen), chooseContainers(counted, view));
}

/** The pods that have any garbage. */
export function findGarbage(node: Iterable<ObservedPod>, view: GarbageView): readonly ObservedPod[] {
  const pods = [...node];
  const chosen = chooseContainers(pods, view);
  return pods.filter((pod) => !isEmpty(garbageOf(pod, view.scopeOf(pod), chosen)));
}

export function isEmpty(garbage: Garbage): boolean {
  return garbage.containers.length === 0 && garbage.sandboxes.length === 0;
}

function garbageOf(seen: ObservedPod, { all }: GarbageScope, chosen: ReadonlySet<string>): Garbage {
  const containers = seen.containers.filter(({ id }) => chosen.has(id));
  const used = new Set(seen.containers.filter(({ id }) => !chosen.has(id)).map(({ sandboxId }) => sandboxId));
  const sandboxes = (all ? seen.sandboxes : seen.sandboxes.slice(1)).filter(
    ({ id, ready }) => !ready && !used.has(id),
  );
  return { containers, sandboxes };
}

/**
 * Per container name the newest remain. If more than `total` remain on the node, every name keeps an equal share, at least one;
 * then the oldest go.
 * differs from upstream: a needed container stays, although upstream would remove it and lose its exit status.
 */
function chooseContainers(pods: readonly ObservedPod[], view: GarbageView): ReadonlySet<string> {
  const { perContainer, total } = view.policy;
  const chosen = new Set<string>();
  const drop = ({ id, isNeeded }: Dead): boolean => {
    if (!isNeeded) chosen.add(id);
    return isNeeded;
  };
  const keepNewest = (units: readonly (readonly Dead[])[], count: number): readonly (readonly Dead[])[] =>
    units.map((unit) => unit.filter((dead, i) => i < count || drop(dead)));

  let units: readonly (readonly Dead[])[] = pods.flatMap((pod) => {
    const own = deadByName(pod, view);
    if (!view.scopeOf(pod).all) return own;
    keepNewest(own, 0);
    return [];
  });
  if (perContainer >= 0) units = keepNewest(units, perContainer);
  if (total < 0 || count(units) <= total) return chosen;
  units = keepNewest(units, Math.max(1, Math.floor(total / units.length)));
  const excess = Math.max(0, count(units) - total);
  const removable = units.flat().filter(({ isNeeded }) => !isNeeded);
  removable.sort((a, b) => a.createdAtMs - b.createdAtMs);
  for (const { id } of removable.slice(0, excess)) chosen.add(id);
  return chosen;
}

function count(units: readonly (readonly Dead[])[]): number {
  return units.reduce((sum, unit) => sum + unit.length, 0);
}

/** The dead containers that are old enough, newest first, by name. One that was only created, or whose state is unknown, is dead. */
function deadByName(pod: ObservedPod, { isRefused, nowMs, policy, scopeOf }: GarbageView): Dead[][] {
  const scope = scopeOf(pod);
  const units = new Map<string, Dead[]>();
  for (const container of pod.containers) {
    const { createdAtMs, id, name, state } = container;
    if (state === 'running' || isRefused(id) || nowMs - createdAtMs < policy.minAgeMs) continue;
    const unit = units.get(name) ?? [];
    unit.push({ id, createdAtMs, isNeeded: scope.isNeeded(container) });
    units.set(name, unit);
  }
  return [...units.values()];
}

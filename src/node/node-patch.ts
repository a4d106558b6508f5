// Whether the node's object has to be written, and what is sent then. Pure.
// Upstream: nodeStatusHasChanged in pkg/kubelet/kubelet_node_status.go, component-helpers/node/util/status.go.
import { isDeepStrictEqual } from 'node:util';
import { type JsonObject, strategicDiff } from '../api/k8s/strategic-diff.ts';
import type { Node, NodeCondition } from '../api/k8s/types.ts';

const mergeKeys = { 'status.conditions': 'type' };
const ownLabels = ['kubernetes.io/os', 'kubernetes.io/arch'] as const;

/** Whether something other than the heartbeat is new. */
export function nodeHasChanged(before: Node, after: Node): boolean {
  if (ownLabels.some((name) => before.metadata?.labels?.[name] !== after.metadata?.labels?.[name]))
    return true;
  return !isDeepStrictEqual(comparable(before), comparable(after));
}

function comparable(node: Node): unknown {
  const conditions = (node.status?.conditions ?? [])
    .map(({ lastHeartbeatTime: _beat, ...rest }: NodeCondition) => rest)
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
  return withoutNothing({ ...node.status, conditions });
}

/** An absent list and an empty one mean the same, and the server writes either. */
function withoutNothing(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNothing);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const rest = withoutNothing(field);
    return isNothing(rest) ? [] : [[name, rest] as const];
  });
  return Object.fromEntries(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function isNothing(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** A strategic merge patch for the status of the node, with labels and annotations; undefined when nothing differs. */
export function nodeStatusPatch(before: Node, after: Node): JsonObject | undefined {
  const addresses = after.status?.addresses ?? [];
  const sameAddresses = isDeepStrictEqual(before.status?.addresses ?? [], addresses);
  const patch = strategicDiff(patchable(before), patchable(after), mergeKeys);
  if (sameAddresses) return patch;
  // Two addresses may have one type, by which their list would be merged: it is replaced instead.
  const replaced = { addresses: [...addresses, { $patch: 'replace' }] };
  return { ...patch, status: { ...Object(patch?.['status']), ...replaced } };
}

function patchable({ metadata, status }: Node): object {
  const { addresses: _own, ...rest } = status ?? {};
  return {
    metadata: { labels: metadata?.labels ?? {}, annotations: metadata?.annotations ?? {} },
    status: rest,
  };
}

// Decides whether the Node object must be written, and computes the patch. Pure.
// Upstream: nodeStatusHasChanged in pkg/kubelet/kubelet_node_status.go, component-helpers/node/util/status.go.
import { isDeepStrictEqual } from 'node:util';
import { mergeKeysOfNode } from '../api/k8s/generated/merge-keys.ts';
import { type JsonObject, strategicDiff } from '../api/k8s/strategic-diff.ts';
import type { Node, NodeCondition } from '../api/k8s/types.ts';

const ownLabels = ['kubernetes.io/os', 'kubernetes.io/arch'] as const;

/** Whether anything but the heartbeat has changed. */
export function nodeHasChanged(before: Node, after: Node): boolean {
  if (ownLabels.some((name) => before.metadata?.labels?.[name] !== after.metadata?.labels?.[name]))
    return true;
  return !isDeepStrictEqual(comparable(before), comparable(after));
}

function comparable(node: Node): unknown {
  const conditions = (node.status?.conditions ?? [])
    .map(({ lastHeartbeatTime: _beat, ...rest }: NodeCondition) => rest)
    .toSorted((a, b) => (a.type < b.type ? -1 : 1));
  // Fixed for the life of the process, and written with the first report. An older API server drops them; comparing them
  // would write the status again with every update.
  const { declaredFeatures: _fixed, ...status } = node.status ?? {};
  return withoutEmpty({ ...status, conditions });
}

/** Removes empty values: an absent and an empty list mean the same, and the server writes either. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([name, field]) => {
    const rest = withoutEmpty(field);
    return isEmpty(rest) ? [] : [[name, rest] as const];
  });
  return Object.fromEntries(fields.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

/** A strategic merge patch of status, labels and annotations; undefined if nothing differs. */
export function nodeStatusPatch(before: Node, after: Node): JsonObject | undefined {
  const addresses = after.status?.addresses ?? [];
  const sameAddresses = isDeepStrictEqual(before.status?.addresses ?? [], addresses);
  const patch = strategicDiff(patchable(before), patchable(after), mergeKeysOfNode);
  if (sameAddresses) return patch;
  // The list's merge key is the type, and two addresses may have the same type: the list is replaced instead.
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

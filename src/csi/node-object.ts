// What CSI drivers leave on the Node object: the annotation with their node IDs, and their topology as labels. Pure.
// Upstream: updateNodeIDInNode, removeNodeIDFromNode and updateTopologyLabels in pkg/volume/csi/nodeinfomanager.
import { goJson } from '../api/k8s/go-json.ts';
import type { JsonObject } from '../api/k8s/strategic-diff.ts';
import type { Node } from '../api/k8s/types.ts';
import { describeError, KubeletError } from '../base/errors.ts';
import { isObject } from '../base/guards.ts';
import { goQuote } from '../base/log/log-value.ts';
import type { DriverInfo } from './driver-info.ts';

const nodeIdAnnotation = 'csi.volume.kubernetes.io/nodeid';
const shownChars = 256;

/** A strategic merge patch of the status subresource; undefined if nothing changes. Throws on a collision of labels. */
export function driverPatch(node: Node, { driver, nodeId, topology }: DriverInfo): JsonObject | undefined {
  const annotations = annotationPatch(node, (ids) => ids.set(driver, nodeId));
  const labels = labelPatch(node.metadata?.labels ?? {}, topology);
  if (annotations === undefined && labels === undefined) return undefined;
  return { metadata: { ...(annotations && { annotations }), ...(labels && { labels }) } };
}

/** Removes the driver's node ID. Labels stay: other drivers may report the same topology. */
export function driverRemovalPatch(node: Node, driver: string): JsonObject | undefined {
  const annotations = annotationPatch(node, (ids) => void ids.delete(driver));
  return annotations === undefined ? undefined : { metadata: { annotations } };
}

function labelPatch(
  labels: Readonly<Record<string, string>>,
  topology: Readonly<Record<string, string>>,
): JsonObject | undefined {
  const added: Record<string, string> = {};
  for (const [key, value] of Object.entries(topology)) {
    const existing = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (existing === undefined) added[key] = value;
    else if (existing !== value) {
      const [k, v, w] = [key, value, existing].map(goQuote);
      throw new KubeletError(
        'invalid',
        'TopologyCollision',
        `detected topology value collision: driver reported ${k}:${v} but existing label is ${k}:${w}`,
      );
    }
  }
  return Object.keys(added).length === 0 ? undefined : added;
}

function annotationPatch(
  { metadata }: Node,
  change: (ids: Map<string, string>) => unknown,
): JsonObject | undefined {
  const before = metadata?.annotations?.[nodeIdAnnotation];
  const ids = new Map(Object.entries(decodeIds(before ?? '')));
  change(ids);
  if (ids.size === 0) return before === undefined ? undefined : { [nodeIdAnnotation]: null };
  const sorted = [...ids].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const after = goJson(Object.fromEntries(sorted));
  return isSameText(before, sorted) ? undefined : { [nodeIdAnnotation]: after };
}

/** Another spelling of the same map is not written again. */
function isSameText(before: string | undefined, after: readonly (readonly [string, string])[]): boolean {
  const existing = decodeIds(before ?? '');
  return Object.keys(existing).length === after.length && after.every(([name, id]) => existing[name] === id);
}

function decodeIds(text: string): Readonly<Record<string, string>> {
  if (text === '') return {};
  try {
    const decoded: unknown = JSON.parse(text);
    if (decoded === null) return {};
    if (isObject(decoded) && Object.values(decoded).every((each) => typeof each === 'string'))
      return decoded as Readonly<Record<string, string>>;
    throw new SyntaxError('not a map of strings');
  } catch (err) {
    const shown = goQuote(text.slice(0, shownChars));
    throw new KubeletError(
      'invalid',
      'InvalidAnnotation',
      `failed to parse node's ${goQuote(nodeIdAnnotation)} annotation value (${shown}) err=${describeError(err)}`,
    );
  }
}

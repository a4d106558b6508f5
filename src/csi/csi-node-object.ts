// The CSINode object of this node: what is written into it, and whether anything is. Pure: no clock, no I/O, no log.
// Invariant: entries of other drivers, and fields that the kubelet does not own, are kept.
// Upstream: pkg/volume/csi/nodeinfomanager.
import { isDeepStrictEqual } from 'node:util';
import { migratedPlugins } from '../api/k8s/migrated-plugins.ts';
import type { CSINode } from '../api/k8s/types.ts';
import type { DriverInfo } from './driver-info.ts';

type Driver = CSINode['spec']['drivers'][number];

const migratedAnnotation = 'storage.alpha.kubernetes.io/migrated-plugins';
const maxInt32 = 2 ** 31 - 1;

export function newCsiNode(nodeName: string, nodeUid: string): CSINode {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: {
      name: nodeName,
      annotations: { [migratedAnnotation]: migratedPlugins.join(',') },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid }],
    },
    spec: { drivers: [] },
  };
}

/** Whether the Node with this UID owns it. An object that a deleted Node left behind is about to be garbage-collected. */
export function isOwnedBy({ metadata }: CSINode, nodeName: string, nodeUid: string): boolean {
  return (metadata?.ownerReferences ?? []).some(
    ({ kind, name, uid }) => kind === 'Node' && name === nodeName && uid === nodeUid,
  );
}

/** The object with the annotation of migrated plugins; the same object if it has it. */
export function withMigratedPlugins(csiNode: CSINode): CSINode {
  const annotations = csiNode.metadata?.annotations ?? {};
  const present = new Set((annotations[migratedAnnotation] ?? '').split(','));
  if (present.size === migratedPlugins.length && migratedPlugins.every((each) => present.has(each)))
    return csiNode;
  return {
    ...csiNode,
    metadata: {
      ...csiNode.metadata,
      annotations: { ...annotations, [migratedAnnotation]: migratedPlugins.join(',') },
    },
  };
}

/** How many volumes can be attached, as the API has it; undefined for a driver without a limit. */
export function allocatableCount({ maxVolumes }: DriverInfo): number | undefined {
  if (maxVolumes <= 0n) return undefined;
  return maxVolumes > maxInt32 ? maxInt32 : Number(maxVolumes);
}

/** The object with this driver; the same object if nothing changes. */
export function withDriver(csiNode: CSINode, info: DriverInfo): CSINode {
  const annotated = withMigratedPlugins(csiNode);
  const count = allocatableCount(info);
  const driver: Driver = {
    name: info.driver,
    nodeID: info.nodeId,
    topologyKeys: Object.keys(info.topology).toSorted(),
    ...(count === undefined ? {} : { allocatable: { count } }),
  };
  const drivers = csiNode.spec.drivers ?? [];
  const existing = drivers.find(({ name }) => name === info.driver);
  if (existing !== undefined && isSame(existing, driver)) return annotated;
  const others = drivers.filter(({ name }) => name !== info.driver);
  return { ...annotated, spec: { ...csiNode.spec, drivers: [...others, driver] } };
}

/**
 * differs from upstream: there the count as the driver reports it is compared, so that the object is written on every refresh
 * when the count is negative or larger than the API allows.
 */
function isSame(existing: Driver, driver: Driver): boolean {
  return !hasOtherIdentity(existing, driver) && existing.allocatable?.count === driver.allocatable?.count;
}

function hasOtherIdentity(existing: Driver, driver: Driver): boolean {
  const keys = (existing.topologyKeys ?? []).toSorted();
  return existing.nodeID !== driver.nodeID || !isDeepStrictEqual(keys, driver.topologyKeys);
}

/**
 * Whether the driver's entry has to be removed before the new one can be added: the API server rejects a change of the node ID
 * or of the topology keys.
 */
export function needsRemovalFirst(csiNode: CSINode, info: DriverInfo): boolean {
  const existing = csiNode.spec.drivers?.find(({ name }) => name === info.driver);
  const keys = Object.keys(info.topology).toSorted();
  return (
    existing !== undefined &&
    hasOtherIdentity(existing, { name: info.driver, nodeID: info.nodeId, topologyKeys: keys })
  );
}

/** The object without this driver; the same object if it has none of the name. */
export function withoutDriver(csiNode: CSINode, driver: string): CSINode {
  const drivers = csiNode.spec.drivers ?? [];
  const others = drivers.filter(({ name }) => name !== driver);
  return others.length === drivers.length
    ? csiNode
    : { ...csiNode, spec: { ...csiNode.spec, drivers: others } };
}

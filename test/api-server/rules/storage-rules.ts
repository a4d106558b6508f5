// The server's rules for objects of storage: the defaults of a CSIDriver, what CSINode may contain, which secrets of a
// PersistentVolume a node may read, and what a node may write into the status of a claim.
// Upstream: pkg/apis/storage/validation, pkg/api/v1/persistentvolume (VisitPVSecretNames), plugin/pkg/admission/noderestriction.
import { isDeepStrictEqual } from 'node:util';
import { isDns1123Subdomain, isQualifiedName } from '../../../src/api/k8s/names.ts';
import type { CSINode, PersistentVolume, PersistentVolumeClaim } from '../../../src/api/k8s/types.ts';
import { invalid } from '../api-error.ts';
import { resourceOf } from '../objects/resources.ts';
import type { StoredObject } from '../objects/stored-object.ts';

type Driver = CSINode['spec']['drivers'][number];

const longestName = 63;
const longestNodeId = 256;

/**
 * The object as it is stored; throws Invalid. `before`: undefined for a new object. An empty list becomes null, as on a real
 * server, which stores protobuf.
 */
export function csiNodeWrite(before: StoredObject | undefined, after: StoredObject): StoredObject {
  const bad = (field: string, why: string): never => {
    throw invalid(resourceOf('csinodes'), after.metadata.name ?? '', field, why);
  };
  const drivers = driversOf(after);
  drivers.forEach((driver, at) => {
    const field = `spec.drivers[${at}]`;
    const why = driverFault(driver);
    if (why !== undefined) bad(field, why);
    if (drivers.findIndex(({ name }) => name === driver.name) !== at)
      bad(`${field}.name`, `Duplicate value: "${driver.name}"`);
    const existing = driversOf(before).find(({ name }) => name === driver.name);
    // Only the number of volumes may change.
    if (existing !== undefined && !isDeepStrictEqual(identityOf(existing), identityOf(driver)))
      bad('spec.drivers', `Invalid value: ${JSON.stringify(driver)}: field is immutable`);
  });
  const stored = drivers.map((driver) => ({ ...driver, topologyKeys: orNull(driver.topologyKeys) }));
  return { ...after, spec: { drivers: orNull(stored) } };
}

function orNull<T>(list: readonly T[] | null | undefined): readonly T[] | null {
  return list?.length ? list : null;
}

function driversOf(object: StoredObject | undefined): readonly Driver[] {
  return (object?.spec as CSINode['spec'] | undefined)?.drivers ?? [];
}

function identityOf({ name, nodeID, topologyKeys }: Driver): object {
  return { name, nodeID, topologyKeys: topologyKeys ?? [] };
}

function driverFault({ allocatable, name, nodeID, ...rest }: Driver): string | undefined {
  const topologyKeys = rest.topologyKeys ?? [];
  if (name.length > longestName || isDns1123Subdomain(name.toLowerCase()).length > 0)
    return `Invalid value: "${name}"`;
  if (nodeID === '') return 'Required value: nodeID';
  if (Buffer.byteLength(nodeID) > longestNodeId)
    return `Invalid value: must be ${longestNodeId} characters or less`;
  const count = allocatable?.count ?? 0;
  if (!Number.isInteger(count) || count < 0 || count > 2 ** 31 - 1) return `Invalid value: ${count}`;
  if (new Set(topologyKeys).size < topologyKeys.length) return 'Duplicate value';
  const wrong = topologyKeys.find((key) => isQualifiedName(key).length > 0);
  return wrong === undefined ? undefined : `Invalid value: "${wrong}"`;
}

const csiDriverDefaults = {
  attachRequired: true,
  podInfoOnMount: false,
  storageCapacity: false,
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  volumeLifecycleModes: ['Persistent'],
  requiresRepublish: false,
  seLinuxMount: false,
} as const;

/** A new CSIDriver with its defaults, on which a Go kubelet relies. */
export function prepareCsiDriver(object: StoredObject): StoredObject {
  return { ...object, spec: { ...csiDriverDefaults, ...(object.spec as object | undefined) } };
}

interface SecretRef {
  readonly name?: string;
  readonly namespace?: string;
}

/** As `namespace/name`: the secrets that a kubelet needs. Those of the controller are not among them. */
export function secretsOfVolume({ spec }: PersistentVolume): readonly string[] {
  const claimNamespace = spec?.claimRef?.namespace ?? '';
  const own = (ref: SecretRef | undefined): readonly string[] =>
    ref?.name ? [`${ref.namespace ?? ''}/${ref.name}`] : [];
  const claimed = (ref: SecretRef | undefined): readonly string[] =>
    own(ref && { ...ref, namespace: ref.namespace || claimNamespace });
  const file = spec?.azureFile;
  const { csi } = spec ?? {};
  return [
    ...claimed(
      file && { name: file.secretName, ...(file.secretNamespace && { namespace: file.secretNamespace }) },
    ),
    ...own(spec?.cinder?.secretRef),
    ...claimed(spec?.cephfs?.secretRef),
    ...claimed(spec?.flexVolume?.secretRef),
    ...claimed(spec?.rbd?.secretRef),
    ...claimed(spec?.scaleIO?.secretRef),
    ...claimed(spec?.iscsi?.secretRef),
    ...own(csi?.nodePublishSecretRef),
    ...own(csi?.nodeStageSecretRef),
    ...own(csi?.nodeExpandSecretRef),
  ];
}

/** Why a node may not write this status of a claim. */
export function claimStatusFault(
  node: string,
  before: StoredObject | undefined,
  after: StoredObject | undefined,
): string | undefined {
  if (isDeepStrictEqual(withoutResize(before), withoutResize(after))) return undefined;
  return `node "${node}" is not allowed to update fields other than status.quantity and status.conditions`;
}

function withoutResize(object: StoredObject | undefined): object | undefined {
  if (object === undefined) return undefined;
  const { managedFields: _fields, resourceVersion: _version, ...metadata } = object.metadata;
  const {
    allocatedResources: _allocated,
    allocatedResourceStatuses: _statuses,
    capacity: _capacity,
    conditions: _conditions,
    ...status
  } = (object.status ?? {}) as NonNullable<PersistentVolumeClaim['status']>;
  return { ...object, metadata, status };
}

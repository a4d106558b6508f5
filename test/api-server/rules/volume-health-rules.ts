// The server's rules for the health of volumes and of storage, with the gate CSIVolumeHealth and without.
// Upstream: pkg/api/pod/util.go, pkg/registry/storage/csinode/strategy.go, pkg/apis/{core,storage}/validation, the declarative
// validation of PodVolumeHealth, plugin/pkg/auth/authorizer/node, plugin/pkg/admission/noderestriction.
import { isDeepStrictEqual } from 'node:util';
import type {
  CSINode,
  Pod,
  StorageHealthCondition,
  VolumeHealthCondition,
} from '../../../src/api/k8s/types.ts';
import { invalid } from '../api-error.ts';
import { resourceOf } from '../objects/resources.ts';
import type { StoredObject } from '../objects/stored-object.ts';

/** Gates of the server that a kubelet notices. */
export interface ServerGates {
  readonly CSIVolumeHealth: boolean;
}

export const noGates: ServerGates = { CSIVolumeHealth: false };

/** '' if a node may make this request for csinodes/status. */
export function csiNodeStatusDenial(verb: string, gates: ServerGates): string {
  if (!gates.CSIVolumeHealth) return 'CSINode status access requires CSIVolumeHealth feature';
  return ['get', 'update', 'patch'].includes(verb) ? '' : 'can only get, update, or patch CSINode status';
}

/** Why a node may not write this status of CSINode. `given`: the object as the client sent it. */
export function csiNodeStatusFault(
  node: string,
  before: StoredObject | undefined,
  given: StoredObject | undefined,
  gates: ServerGates,
): string | undefined {
  if (!gates.CSIVolumeHealth) return 'CSIVolumeHealth feature gate is disabled';
  const isSame = isDeepStrictEqual(before?.spec, given?.spec);
  return isSame ? undefined : `node "${node}" is not allowed to modify CSINode spec via status`;
}

/** Without the gate the fields are dropped, unless they are in use. */
export function withoutDisabledHealth(
  before: StoredObject | undefined,
  after: StoredObject,
  gates: ServerGates,
): StoredObject {
  const field = after.kind === 'Pod' ? 'volumeHealth' : 'storageHealth';
  const used = (object: StoredObject | undefined): unknown => Reflect.get(object?.status ?? {}, field);
  if (gates.CSIVolumeHealth || used(after) === undefined || used(before) !== undefined) return after;
  return { ...after, status: { ...(after.status as object), [field]: undefined } };
}

/** Throws Invalid. */
export function checkHealth(object: StoredObject): void {
  if (object.kind === 'Pod') checkPodHealth(object as Pod);
  else if (object.kind === 'CSINode') checkStorageHealth(object as unknown as CSINode);
}

function checkPodHealth({ metadata, spec, status }: Pod): void {
  const bad = (field: string, why: string): never => {
    throw invalid(resourceOf('pods'), metadata?.name ?? '', `status.volumeHealth${field}`, why);
  };
  const entries = status?.volumeHealth ?? [];
  entries.forEach(({ healthConditions = [], name }, at) => {
    if (spec?.volumes?.some((each) => each.name === name) !== true) bad(`[${at}].name`, 'Not found');
    if (entries.findIndex((each) => each.name === name) !== at) bad(`[${at}]`, 'Duplicate value');
    if (healthConditions.length > 16) bad(`[${at}].healthConditions`, 'Too many');
    const identities = healthConditions.map(({ reason, status: type }) => `${type} ${reason}`);
    if (new Set(identities).size < identities.length) bad(`[${at}].healthConditions`, 'Duplicate value');
    const statuses = ['Inaccessible', 'DataLoss', 'Degraded'];
    for (const each of healthConditions) checkCondition(each, statuses, bad);
  });
}

function checkStorageHealth({ metadata, status }: CSINode): void {
  const bad = (field: string, why: string): never => {
    throw invalid(resourceOf('csinodes'), metadata?.name ?? '', `status.storageHealth${field}`, why);
  };
  const entries = status?.storageHealth ?? [];
  entries.forEach(({ healthConditions = [], name }, at) => {
    if (entries.findIndex((each) => each.name === name) !== at) bad(`[${at}]`, 'Duplicate value');
    if (healthConditions.length > 16) bad(`[${at}].healthConditions`, 'Too many');
    const statuses = ['StorageUnreachable', 'StorageDegraded'];
    for (const each of healthConditions) checkCondition(each, statuses, bad);
  });
}

function checkCondition(
  { message = '', reason, status }: VolumeHealthCondition | StorageHealthCondition,
  statuses: readonly string[],
  bad: (field: string, why: string) => never,
): void {
  if (!statuses.includes(status)) bad('.status', `Unsupported value: "${status}"`);
  if (!/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(reason))
    bad('.reason', 'a condition reason must start with alphabetic character');
  if (reason.length > 256) bad('.reason', 'Too long: may not be more than 256 bytes');
  if (Buffer.byteLength(message) > 1_024) bad('.message', 'Too long: may not be more than 1024 bytes');
}

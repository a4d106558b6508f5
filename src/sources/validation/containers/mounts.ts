// Validates volume mounts and volume devices.
// Upstream: pkg/apis/core/validation (ValidateVolumeMounts, ValidateVolumeDevices).
import type { Volume, VolumeDevice, VolumeMount } from '../../../api/k8s/types.ts';
import type { Violations } from '../violation.ts';
import { checkDescendingPath } from '../volumes/paths.ts';

interface MountingContainer {
  readonly volumeMounts?: readonly VolumeMount[];
  readonly volumeDevices?: readonly VolumeDevice[];
  readonly securityContext?: { readonly privileged?: boolean };
}

type Volumes = ReadonlyMap<string, Volume>;

export function checkMounts(
  v: Violations,
  path: string,
  container: MountingContainer,
  volumes: Volumes,
): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const mounted = new Set<string>();
  for (const [index, mount] of volumeMounts.entries()) {
    const at = `${path}.volumeMounts[${index}]`;
    v.requiredText(`${at}.name`, mount.name);
    if (!volumes.has(mount.name)) v.notFound(`${at}.name`, mount.name ?? '');
    v.requiredText(`${at}.mountPath`, mount.mountPath);
    if (mounted.has(mount.mountPath)) v.invalid(`${at}.mountPath`, mount.mountPath, 'must be unique');
    mounted.add(mount.mountPath);
    checkApart(
      v,
      at,
      'mountPath',
      mount.name,
      mount.mountPath,
      pathsByName(volumeDevices, (each) => each.devicePath),
      'volumeDevices',
    );
    checkSubPaths(v, at, mount);
    checkPropagation(v, at, mount, container.securityContext?.privileged === true);
  }
  checkDevices(
    v,
    `${path}.volumeDevices`,
    volumeDevices,
    volumes,
    pathsByName(volumeMounts, (each) => each.mountPath),
  );
}

/** As in the API, the last of several entries of one name counts. */
function pathsByName<T extends { readonly name: string }>(
  uses: readonly T[],
  pathOf: (use: T) => string,
): ReadonlyMap<string, string> {
  return new Map(uses.map((use) => [use.name, pathOf(use)]));
}

/** A volume is either mounted or attached as a device, and each path is unique. */
function checkApart(
  v: Violations,
  at: string,
  pathKey: string,
  name: string,
  path: string,
  others: ReadonlyMap<string, string>,
  where: string,
): void {
  if (others.has(name)) v.invalid(`${at}.name`, name, `must not be in ${where} as well`);
  if ([...others.values()].includes(path))
    v.invalid(`${at}.${pathKey}`, path, `must not be a path in ${where} as well`);
}

function checkSubPaths(v: Violations, at: string, { subPath, subPathExpr }: VolumeMount): void {
  if (subPath) checkDescendingPath(v, `${at}.subPath`, subPath);
  if (!subPathExpr) return;
  if (subPath) v.invalid(`${at}.subPathExpr`, subPathExpr, 'must not be given together with subPath');
  checkDescendingPath(v, `${at}.subPathExpr`, subPathExpr);
}

function checkPropagation(v: Violations, at: string, mount: VolumeMount, privileged: boolean): void {
  const { mountPropagation, recursiveReadOnly } = mount;
  v.word(`${at}.mountPropagation`, mountPropagation, ['Bidirectional', 'HostToContainer', 'None']);
  if (mountPropagation === 'Bidirectional' && !privileged)
    v.forbidden(`${at}.mountPropagation`, 'Bidirectional is for privileged containers only');
  v.word(`${at}.recursiveReadOnly`, recursiveReadOnly, ['Disabled', 'Enabled', 'IfPossible']);
  if (recursiveReadOnly !== 'Enabled' && recursiveReadOnly !== 'IfPossible') return;
  if (mount.readOnly !== true)
    v.forbidden(`${at}.recursiveReadOnly`, 'is only possible when readOnly is true');
  if (mountPropagation !== undefined && mountPropagation !== 'None')
    v.forbidden(`${at}.recursiveReadOnly`, 'is only possible without mount propagation');
}

function checkDevices(
  v: Violations,
  path: string,
  devices: readonly VolumeDevice[],
  volumes: Volumes,
  mounts: ReadonlyMap<string, string>,
): void {
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [index, { name, devicePath }] of devices.entries()) {
    const at = `${path}[${index}]`;
    const volume = volumes.get(name);
    v.requiredText(`${at}.name`, name);
    if (names.has(name)) v.invalid(`${at}.name`, name, 'must be unique');
    if (volume === undefined) v.notFound(`${at}.name`, name ?? '');
    else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined)
      v.invalid(
        `${at}.name`,
        name,
        'only a persistentVolumeClaim or an ephemeral volume can be a block device',
      );
    v.requiredText(`${at}.devicePath`, devicePath);
    if (paths.has(devicePath)) v.invalid(`${at}.devicePath`, devicePath, 'must be unique');
    if ((devicePath ?? '').split('/').includes('..'))
      v.invalid(`${at}.devicePath`, devicePath, "must not contain '..'");
    else paths.add(devicePath);
    checkApart(v, at, 'devicePath', name, devicePath, mounts, 'volumeMounts');
    if (name) names.add(name);
  }
}

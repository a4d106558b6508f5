// Validates volumes: a unique name, and exactly one valid source.
// Upstream: pkg/apis/core/validation (ValidateVolumes, validateVolumeSource).

import { isDns1123Label, isDns1123Subdomain } from '../../../api/k8s/names.ts';
import type { Volume } from '../../../api/k8s/types.ts';
import type { Violations } from '../violation.ts';
import { type SourceName, volumeSources } from './volume-sources.ts';

/**
 * Validates the volumes and returns the valid ones by name, so that a container that uses an invalid one is reported as well.
 */
export function checkVolumes(
  v: Violations,
  path: string,
  volumes: readonly Volume[],
  podName: string,
): ReadonlyMap<string, Volume> {
  const usable = new Map<string, Volume>();
  const created = new Set(
    volumes.filter((volume) => volume.ephemeral !== undefined).map((volume) => `${podName}-${volume.name}`),
  );
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`;
    const before = v.found.length;
    checkSource(v, at, volume, podName);
    v.requiredText(`${at}.name`, volume.name, isDns1123Label);
    if (usable.has(volume.name)) v.duplicate(`${at}.name`, volume.name);
    if (v.found.length === before) usable.set(volume.name, volume);
    const claim = volume.persistentVolumeClaim?.claimName;
    if (claim !== undefined && created.has(claim))
      v.invalid(
        `${at}.persistentVolumeClaim.claimName`,
        claim,
        'is made for an ephemeral volume of this pod',
      );
  }
  return usable;
}

function checkSource(v: Violations, path: string, volume: Volume, podName: string): void {
  const given = Object.keys(volumeSources).filter(
    (name): name is SourceName => volume[name as SourceName] !== undefined,
  );
  const [first, ...others] = given;
  if (first === undefined) v.required(path, 'must have a source');
  else volumeSources[first](v, `${path}.${first}`, volume);
  for (const other of others) v.forbidden(`${path}.${other}`, 'a volume has only one source');
  if (first === 'ephemeral' && podName !== '' && volume.name) {
    const claim = `${podName}-${volume.name}`;
    for (const detail of isDns1123Subdomain(claim))
      v.invalid(`${path}.name`, volume.name, `the claim that is made for it would be ${claim}: ${detail}`);
  }
  const portal = volume.iscsi?.targetPortal ?? '';
  if (volume.iscsi?.initiatorName !== undefined && `${volume.name}:${portal}`.length > 64)
    v.invalid(`${path}.name`, volume.name, 'with the target portal, must not be longer than 64 characters');
}

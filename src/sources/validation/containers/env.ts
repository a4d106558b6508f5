// Validates a container's environment. Upstream: pkg/apis/core/validation (ValidateEnv, ValidateEnvFrom).

import {
  isConfigMapKey,
  isDns1123Label,
  isDns1123Subdomain,
  isRelaxedEnvVarName,
} from '../../../api/k8s/names.ts';
import type { EnvFromSource, EnvVar, EnvVarSource } from '../../../api/k8s/types.ts';
import { isNamePrefix } from '../metadata.ts';
import type { Violations } from '../violation.ts';
import { checkEnvFieldRef, checkResourceRef } from '../volumes/downward-api.ts';
import { checkNoBacksteps } from '../volumes/paths.ts';

export function checkEnv(v: Violations, path: string, env: readonly EnvVar[]): void {
  for (const [index, { name, value, valueFrom }] of env.entries()) {
    v.requiredText(`${path}[${index}].name`, name, isRelaxedEnvVarName);
    if (valueFrom === undefined) continue;
    const at = `${path}[${index}].valueFrom`;
    checkValueFrom(v, at, valueFrom);
    const sources = Object.values(valueFrom).filter((source) => source !== undefined).length;
    if (sources === 0) v.invalid(at, '', 'must have a source');
    else if (value) v.invalid(at, '', 'must not be given together with a value');
    else if (sources > 1) v.invalid(at, '', 'must have only one source');
  }
}

function checkValueFrom(v: Violations, path: string, from: EnvVarSource): void {
  if (from.fieldRef !== undefined) checkEnvFieldRef(v, `${path}.fieldRef`, from.fieldRef);
  if (from.resourceFieldRef !== undefined)
    checkResourceRef(v, `${path}.resourceFieldRef`, from.resourceFieldRef, false);
  for (const key of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const ref = from[key];
    if (ref === undefined) continue;
    for (const detail of isDns1123Subdomain(ref.name ?? ''))
      v.invalid(`${path}.${key}.name`, ref.name, detail);
    v.requiredText(`${path}.${key}.key`, ref.key, isConfigMapKey);
  }
  const file = from.fileKeyRef;
  if (file === undefined) return;
  v.requiredText(`${path}.fileKeyRef.key`, file.key, isRelaxedEnvVarName);
  v.requiredText(`${path}.fileKeyRef.volumeName`, file.volumeName, isDns1123Label);
  v.requiredText(`${path}.fileKeyRef.path`, file.path);
  checkNoBacksteps(v, `${path}.fileKeyRef.path`, file.path ?? '');
}

export function checkEnvFrom(v: Violations, path: string, sources: readonly EnvFromSource[]): void {
  for (const [index, { prefix, configMapRef, secretRef }] of sources.entries()) {
    const at = `${path}[${index}]`;
    v.text(`${at}.prefix`, prefix, isRelaxedEnvVarName);
    if (configMapRef !== undefined)
      v.requiredText(`${at}.configMapRef.name`, configMapRef.name, isNamePrefix);
    if (secretRef !== undefined) v.requiredText(`${at}.secretRef.name`, secretRef.name, isNamePrefix);
    if ((configMapRef === undefined) === (secretRef === undefined))
      v.invalid(at, '', 'must have one of configMapRef and secretRef');
  }
}

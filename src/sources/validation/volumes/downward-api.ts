// Validates references to the downward API: fields of the pod and resources of its containers.
// Upstream: pkg/apis/core/validation (validateObjectFieldSelector, validateContainerResourceFieldSelector).

import { isAnnotationKey, isQualifiedName } from '../../../api/k8s/names.ts';
import type {
  DownwardAPIVolumeFile,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../../../api/k8s/types.ts';
import { Quantity } from '../../../api/quantity/quantity.ts';
import type { Violations } from '../violation.ts';
import { checkFileMode, checkVolumeFilePath } from './paths.ts';

const forEnv = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
const forFiles = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];
/** Known to the API, but not supported everywhere. */
const known: ReadonlySet<string> = new Set([
  ...forEnv,
  ...forFiles,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  'spec.host',
]);

const amounts = ['cpu', 'ephemeral-storage', 'memory'].flatMap((name) => [
  `limits.${name}`,
  `requests.${name}`,
]);
const binaryDivisors = [
  '1',
  ...['k', 'M', 'G', 'T', 'P', 'E'].flatMap((unit) => [`1${unit}`]),
  ...['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'].map((unit) => `1${unit}`),
];

export function checkEnvFieldRef(v: Violations, path: string, ref: ObjectFieldSelector): void {
  checkFieldRef(v, path, ref, forEnv);
}

function checkFieldRef(
  v: Violations,
  path: string,
  ref: ObjectFieldSelector,
  allowed: readonly string[],
): void {
  if (!ref.apiVersion) {
    v.required(`${path}.apiVersion`);
    return;
  }
  if (!ref.fieldPath) {
    v.required(`${path}.fieldPath`);
    return;
  }
  const [, base, key] = /^([^[]+)\['(.*)'\]$/s.exec(ref.fieldPath) ?? [];
  const subscripted = base === 'metadata.labels' || base === 'metadata.annotations';
  if (ref.apiVersion !== 'v1' || (base === undefined ? !known.has(ref.fieldPath) : !subscripted))
    v.invalid(`${path}.fieldPath`, ref.fieldPath, `is not a field of a pod of version ${ref.apiVersion}`);
  else if (key !== undefined)
    for (const detail of base === 'metadata.labels' ? isQualifiedName(key) : isAnnotationKey(key))
      v.invalid(path, key, detail);
  else if (!allowed.includes(currentName(ref.fieldPath)))
    v.unsupported(`${path}.fieldPath`, ref.fieldPath, allowed);
}

/** spec.host was the node's name before 1.0. */
function currentName(fieldPath: string): string {
  return fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath;
}

export function checkResourceRef(
  v: Violations,
  path: string,
  ref: ResourceFieldSelector,
  needsContainer: boolean,
): void {
  const { containerName, divisor, resource } = ref;
  const hugePages = /^(limits|requests)\.hugepages-/.test(resource ?? '');
  if (needsContainer && !containerName) v.required(`${path}.containerName`);
  else if (!resource) v.required(`${path}.resource`);
  else if (!amounts.includes(resource) && !hugePages) v.unsupported(`${path}.resource`, resource, amounts);
  if (divisor === undefined || !resource || Quantity.parse(divisor).isZero()) return;
  if (!amounts.includes(resource) && !hugePages) return;
  const allowed = resource.endsWith('.cpu') ? ['1m', '1'] : binaryDivisors;
  if (!allowed.includes(Quantity.parse(divisor).toString()))
    v.invalid(`${path}.divisor`, divisor, `must be one of ${allowed.join(', ')} for ${resource}`);
}

export function checkDownwardFiles(
  v: Violations,
  path: string,
  files: readonly DownwardAPIVolumeFile[],
): void {
  for (const [index, file] of files.entries()) {
    const at = `${path}.items[${index}]`;
    v.requiredText(`${at}.path`, file.path);
    checkVolumeFilePath(v, `${at}.path`, file.path ?? '');
    if (file.fieldRef !== undefined) {
      checkFieldRef(v, `${at}.fieldRef`, file.fieldRef, forFiles);
      if (file.resourceFieldRef !== undefined)
        v.invalid(at, 'resource', 'must not have both fieldRef and resourceFieldRef');
    } else if (file.resourceFieldRef !== undefined)
      checkResourceRef(v, `${at}.resourceFieldRef`, file.resourceFieldRef, true);
    else v.required(at, 'needs one of fieldRef and resourceFieldRef');
    checkFileMode(v, `${at}.mode`, file.mode);
  }
}

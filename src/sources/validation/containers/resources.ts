// Validates requests and limits of containers and pods.
// Upstream: pkg/apis/core/validation (validateResourceRequirements, validatePodResources).

import { isDns1123Label, isDns1123Subdomain } from '../../../api/k8s/names.ts';
import type {
  PodResourceClaim,
  PodSpec,
  ResourceList,
  ResourceRequirements,
} from '../../../api/k8s/types.ts';
import { isHugePages } from '../../../api/quantity/huge-pages.ts';
import { Quantity } from '../../../api/quantity/quantity.ts';
import { aggregate } from '../../defaults/resource-defaults.ts';
import type { Violations } from '../violation.ts';
import {
  checkContainerResourceName,
  checkResourceName,
  isOvercommittable,
  isWhole,
  isWholePages,
} from './resource-names.ts';

const podLevel = ['cpu', 'hugepages-', 'memory'];

type ResourceNameRule = (v: Violations, field: string, name: string) => void;

const containerResourceName: ResourceNameRule = (v, field, name) => {
  for (const detail of checkContainerResourceName(name)) v.invalid(field, name, detail);
};

const podResourceName: ResourceNameRule = (v, field, name) => {
  const wrong = checkResourceName(name);
  for (const detail of wrong) v.invalid(field, name, detail);
  if (wrong.length === 0 && name !== 'cpu' && name !== 'memory' && !isHugePages(name))
    v.unsupported(field, name, podLevel);
};

export function checkResources(
  v: Violations,
  path: string,
  resources: ResourceRequirements | undefined,
  claimNames: ReadonlySet<string>,
  checkName: ResourceNameRule = containerResourceName,
): void {
  const limits = resources?.limits ?? {};
  const requests = resources?.requests ?? {};
  checkAmounts(v, `${path}.limits`, limits, checkName);
  checkAmounts(v, `${path}.requests`, requests, checkName);
  for (const [name, text] of Object.entries(requests))
    checkAgainstLimit(v, path, name, text, ownValue(limits, name));
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory'))
    v.forbidden(path, 'huge pages can only be used with cpu or memory');
  checkClaimsOfContainer(v, `${path}.claims`, resources?.claims ?? [], claimNames);
}

export function checkOverhead(v: Violations, path: string, overhead: ResourceList | undefined): void {
  if (overhead !== undefined) checkResources(v, path, { limits: overhead }, new Set());
}

function checkAmounts(v: Violations, path: string, list: ResourceList, checkName: ResourceNameRule): void {
  for (const [name, text] of Object.entries(list)) {
    const field = `${path}[${name}]`;
    checkName(v, field, name);
    checkAmount(v, field, name, text);
    if (isHugePages(name) && !isWholePages(name, Quantity.parse(text)))
      v.invalid(field, text, `must be a whole number of pages of ${name}`);
  }
}

export function checkAmount(v: Violations, field: string, name: string, text: string): void {
  const amount = Quantity.parse(text);
  if (amount.sign() < 0) v.invalid(field, text, 'must not be negative');
  if (isWhole(name) && amount.milliValue() % 1000n !== 0n) v.invalid(field, text, 'must be a whole number');
}

/** Names come from manifests: `__proto__` must not find what every object inherits. */
function ownValue(amounts: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(amounts, name) ? amounts[name] : undefined;
}

function checkAgainstLimit(
  v: Violations,
  path: string,
  name: string,
  request: string,
  limit: string | undefined,
): void {
  const overcommittable = isOvercommittable(name);
  if (limit === undefined) {
    if (!overcommittable)
      v.required(`${path}.limits`, `must be given for ${name}, which cannot be overcommitted`);
    return;
  }
  const order = Quantity.parse(request).cmp(Quantity.parse(limit));
  if (order !== 0 && !overcommittable)
    v.invalid(`${path}.requests`, request, `must be equal to the ${name} limit of ${limit}`);
  else if (order > 0)
    v.invalid(`${path}.requests`, request, `must not be more than the ${name} limit of ${limit}`);
}

type ContainerClaim = NonNullable<ResourceRequirements['claims']>[number];

/** A claim is used either as a whole or by its requests, and each of them once. */
function checkClaimsOfContainer(
  v: Violations,
  path: string,
  claims: readonly ContainerClaim[],
  known: ReadonlySet<string>,
): void {
  const used = new Set<string>();
  for (const [index, { name, request }] of claims.entries()) {
    const field = `${path}[${index}]`;
    if (!name) {
      v.required(field);
      continue;
    }
    const key = request ? `${name}/${request}` : name;
    const overlaps = request
      ? used.has(name) || used.has(key)
      : [...used].some((each) => each.split('/')[0] === name);
    if (overlaps) v.duplicate(field, key);
    v.text(`${field}.request`, request, isDns1123Label);
    used.add(key);
    if (!known.has(name)) v.notFound(field, name, 'must be one of the names in spec.resourceClaims');
  }
}

export function checkPodClaims(v: Violations, path: string, claims: readonly PodResourceClaim[]): void {
  const names = new Set<string>();
  for (const [index, claim] of claims.entries()) {
    const at = `${path}[${index}]`;
    if (claim.name && names.has(claim.name)) v.duplicate(`${at}.name`, claim.name);
    else v.requiredText(`${at}.name`, claim.name, isDns1123Label);
    names.add(claim.name);
    const { resourceClaimName, resourceClaimTemplateName } = claim;
    if ((resourceClaimName === undefined) === (resourceClaimTemplateName === undefined))
      v.invalid(at, claim, 'must have one of resourceClaimName and resourceClaimTemplateName');
    checkClaimReference(v, `${at}.resourceClaimName`, resourceClaimName);
    checkClaimReference(v, `${at}.resourceClaimTemplateName`, resourceClaimTemplateName);
  }
}

function checkClaimReference(v: Violations, field: string, name: string | undefined): void {
  if (name === undefined) return;
  for (const detail of isDns1123Subdomain(name)) v.invalid(field, name, detail);
}

/** Pod-level requests and limits must cover those of the containers. */
export function checkPodResources(v: Violations, path: string, spec: PodSpec): void {
  const resources = spec.resources;
  if (resources === undefined) return;
  if (spec.os?.name === 'windows') {
    v.forbidden(path, 'must not be set for a windows pod');
    return;
  }
  if (resources.claims !== undefined) v.forbidden(`${path}.claims`, 'must not be set for a pod as a whole');
  checkResources(v, path, resources, new Set(), podResourceName);
  checkRoom(v, `${path}.requests`, resources.requests ?? {}, aggregate(spec, 'requests'), () => true);
  checkRoom(v, `${path}.limits`, resources.limits ?? {}, aggregate(spec, 'limits'), isHugePages);
  for (const [index, container] of spec.containers.entries())
    for (const [name, text] of Object.entries(container.resources?.limits ?? {})) {
      const limit = ownValue(resources.limits ?? {}, name);
      if (limit !== undefined && Quantity.parse(text).cmp(Quantity.parse(limit)) > 0)
        v.invalid(
          `spec.containers[${index}].resources.limits[${name}]`,
          text,
          `must not be more than the pod's ${limit}`,
        );
    }
}

function checkRoom(
  v: Violations,
  path: string,
  pod: ResourceList,
  containers: ResourceList,
  counts: (name: string) => boolean,
): void {
  for (const [name, text] of Object.entries(containers)) {
    const room = ownValue(pod, name);
    if (room === undefined || !counts(name)) continue;
    if (Quantity.parse(text).cmp(Quantity.parse(room)) > 0)
      v.invalid(`${path}[${name}]`, room, `must not be less than the ${text} of the containers together`);
  }
}

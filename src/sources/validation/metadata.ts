// Validates object metadata and label selectors.
// Upstream: apimachinery/pkg/api/validation (objectmeta.go), apimachinery/pkg/apis/meta/v1/validation.

import {
  isAnnotationKey,
  isDns1123Label,
  isDns1123Subdomain,
  isLabelValue,
  isQualifiedName,
} from '../../api/k8s/names.ts';
import type { LabelSelector, ManagedFieldsEntry, ObjectMeta, OwnerReference } from '../../api/k8s/types.ts';
import { bytesOf, type Violations } from './violation.ts';

const annotationBytes = 256 * 1024;
const managerBytes = 128;
const subresourceBytes = 256;
const standardFinalizers = ['kubernetes', 'orphan', 'foregroundDeletion'];

type Labels = Readonly<Record<string, string>>;

export function checkMetadata(v: Violations, path: string, meta: ObjectMeta): void {
  v.text(`${path}.generateName`, meta.generateName, isNamePrefix);
  if (meta.name) v.text(`${path}.name`, meta.name, isDns1123Subdomain);
  else v.required(`${path}.name`, 'name or generateName is required');
  v.requiredText(`${path}.namespace`, meta.namespace, isDns1123Label);
  v.notNegative(`${path}.generation`, meta.generation);
  checkLabels(v, `${path}.labels`, meta.labels);
  checkAnnotations(v, `${path}.annotations`, meta.annotations);
  checkOwners(v, `${path}.ownerReferences`, meta.ownerReferences ?? []);
  checkFinalizers(v, `${path}.finalizers`, meta.finalizers ?? []);
  for (const [index, entry] of (meta.managedFields ?? []).entries())
    checkManagedFields(v, `${path}.managedFields[${index}]`, entry);
}

/** A prefix for generated names may end in a dash. */
export function isNamePrefix(value: string): string[] {
  return isDns1123Subdomain(value.length > 1 ? value.replace(/.-$/, 'a') : value);
}

export function checkLabels(v: Violations, path: string, labels: Labels | undefined): void {
  for (const [key, value] of Object.entries(labels ?? {})) {
    checkLabelName(v, path, key);
    v.text(path, value, isLabelValue);
  }
}

export function checkLabelName(v: Violations, field: string, name: string): void {
  for (const detail of isQualifiedName(name)) v.invalid(field, name, detail);
}

export function checkAnnotations(v: Violations, path: string, annotations: Labels | undefined): void {
  let size = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    for (const detail of isAnnotationKey(key)) v.invalid(path, key, detail);
    size += bytesOf(key) + bytesOf(value);
  }
  if (size > annotationBytes) v.tooLong(path, annotationBytes);
}

function checkOwners(v: Violations, path: string, owners: readonly OwnerReference[]): void {
  let controller: string | undefined;
  for (const owner of owners) {
    const version = owner.apiVersion?.split('/').at(-1) ?? '';
    const malformed = version === '' || (owner.apiVersion ?? '').split('/').length > 2;
    if (malformed) v.invalid(`${path}.apiVersion`, owner.apiVersion, 'version must not be empty');
    for (const key of ['kind', 'name', 'uid'] as const)
      if (!owner[key]) v.invalid(`${path}.${key}`, owner[key], 'must not be empty');
    if (owner.apiVersion === 'v1' && owner.kind === 'Event')
      v.invalid(path, owner, 'an Event cannot own anything');
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller !== undefined)
      v.invalid(path, owners, `only one owner can be the controller, not both ${controller} and ${name}`);
    controller ??= name;
  }
}

function checkFinalizers(v: Violations, path: string, finalizers: readonly string[]): void {
  for (const [index, name] of finalizers.entries()) {
    for (const detail of isQualifiedName(name)) v.invalid(path, name, detail);
    if (!name.includes('/') && !standardFinalizers.includes(name))
      v.invalid(`${path}[${index}]`, name, 'must be a standard finalizer or have a domain as its prefix');
  }
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion'))
    v.invalid(path, finalizers, 'orphan and foregroundDeletion exclude each other');
}

function checkManagedFields(v: Violations, path: string, entry: ManagedFieldsEntry): void {
  if (entry.operation !== 'Apply' && entry.operation !== 'Update')
    v.invalid(`${path}.operation`, entry.operation, 'must be Apply or Update');
  if (entry.fieldsType && entry.fieldsType !== 'FieldsV1')
    v.invalid(`${path}.fieldsType`, entry.fieldsType, 'must be FieldsV1');
  const manager = entry.manager ?? '';
  if (bytesOf(manager) > managerBytes) v.tooLong(`${path}.manager`, managerBytes);
  if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(manager))
    v.invalid(`${path}.manager`, manager, 'must have printable characters only');
  if (bytesOf(entry.subresource ?? '') > subresourceBytes) v.tooLong(`${path}.subresource`, subresourceBytes);
}

export function checkLabelSelector(v: Violations, path: string, selector: LabelSelector | undefined): void {
  if (selector === undefined) return;
  checkLabels(v, `${path}.matchLabels`, selector.matchLabels);
  for (const [index, { key, operator, values = [] }] of (selector.matchExpressions ?? []).entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    checkOperator(v, at, operator, values);
    checkLabelName(v, `${at}.key`, key ?? '');
    for (const [place, value] of values.entries()) v.text(`${at}.values[${place}]`, value, isLabelValue);
  }
}

/** The number of values that each operator requires. */
export function checkOperator(
  v: Violations,
  path: string,
  operator: string,
  values: readonly string[],
): void {
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) v.required(`${path}.values`, `must be given for the operator ${operator}`);
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) v.forbidden(`${path}.values`, `must not be given for the operator ${operator}`);
  } else v.invalid(`${path}.operator`, operator, 'is not an operator of selectors');
}

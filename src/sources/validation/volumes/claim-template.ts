// Validates the claim template of an ephemeral volume. Upstream: pkg/apis/core/validation
// (ValidatePersistentVolumeClaimTemplate, ValidatePersistentVolumeClaimSpec).

import { isDns1123Label, isDns1123Subdomain } from '../../../api/k8s/names.ts';
import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  TypedLocalObjectReference,
  TypedObjectReference,
} from '../../../api/k8s/types.ts';
import { Quantity } from '../../../api/quantity/quantity.ts';
import { checkAmount } from '../containers/resources.ts';
import { checkAnnotations, checkLabelSelector, checkLabels } from '../metadata.ts';
import type { Violations } from '../violation.ts';

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

export function checkClaimTemplate(
  v: Violations,
  path: string,
  template: PersistentVolumeClaimTemplate,
): void {
  const { labels, annotations, ...others } = template.metadata ?? {};
  checkAnnotations(v, `${path}.metadata.annotations`, annotations);
  checkLabels(v, `${path}.metadata.labels`, labels);
  const fields = Object.entries(others).map(([key, value]) => [`${path}.metadata.${key}`, value]);
  v.unset(Object.fromEntries(fields), 'only labels and annotations can be set');
  checkClaimSpec(v, `${path}.spec`, template.spec ?? {});
}

function checkClaimSpec(v: Violations, path: string, spec: PersistentVolumeClaimSpec): void {
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) v.required(`${path}.accessModes`, 'needs at least one access mode');
  for (const mode of modes) v.word(`${path}.accessModes`, mode, accessModes);
  const known = modes.filter((mode) => accessModes.includes(mode));
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod'))
    v.forbidden(`${path}.accessModes`, 'ReadWriteOncePod excludes all others');
  checkLabelSelector(v, `${path}.selector`, spec.selector);
  checkStorage(v, `${path}.resources[storage]`, spec.resources?.requests?.['storage']);
  v.text(`${path}.storageClassName`, spec.storageClassName, isDns1123Subdomain);
  v.word(`${path}.volumeMode`, spec.volumeMode, ['Block', 'Filesystem']);
  v.text(`${path}.volumeAttributesClassName`, spec.volumeAttributesClassName, isDns1123Subdomain);
  checkDataSources(v, path, spec);
}

function checkStorage(v: Violations, field: string, amount: string | undefined): void {
  if (amount === undefined) v.required(field);
  else if (Quantity.parse(amount).sign() <= 0) v.invalid(field, amount, 'must be greater than zero');
  else checkAmount(v, field, 'storage', amount);
}

function checkDataSources(
  v: Violations,
  path: string,
  { dataSource, dataSourceRef }: PersistentVolumeClaimSpec,
): void {
  if (dataSource !== undefined) checkDataSource(v, `${path}.dataSource`, dataSource);
  if (dataSourceRef === undefined) return;
  checkDataSource(v, `${path}.dataSourceRef`, dataSourceRef);
  v.text(`${path}.dataSourceRef.namespace`, dataSourceRef.namespace, isDns1123Label);
  if (dataSource === undefined) return;
  const same = (['apiGroup', 'kind', 'name'] as const).every((key) => dataSource[key] === dataSourceRef[key]);
  if (dataSourceRef.namespace)
    v.invalid(path, 'dataSource', 'must not be given when dataSourceRef names a namespace');
  else if (!same) v.invalid(path, 'dataSource', 'must be the same as dataSourceRef');
}

function checkDataSource(
  v: Violations,
  path: string,
  source: TypedLocalObjectReference | TypedObjectReference,
): void {
  v.requiredText(`${path}.name`, source.name);
  v.requiredText(`${path}.kind`, source.kind);
  if (!source.apiGroup && source.kind !== 'PersistentVolumeClaim')
    v.invalid(path, source.kind, 'must be PersistentVolumeClaim when no apiGroup is given');
  v.text(`${path}.apiGroup`, source.apiGroup, isDns1123Subdomain);
}

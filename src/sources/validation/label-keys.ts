// Validates matchLabelKeys and mismatchLabelKeys.
// Upstream: pkg/apis/core/validation (ValidateMatchLabelKeysAndMismatchLabelKeys).
import type { LabelSelector } from '../../api/k8s/types.ts';
import { checkLabelName } from './metadata.ts';
import type { Violations } from './violation.ts';

interface LabelKeys {
  readonly labelSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

export function checkLabelKeys(v: Violations, path: string, keys: LabelKeys): void {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = keys;
  for (const [name, list] of Object.entries({ matchLabelKeys, mismatchLabelKeys })) {
    if (list.length > 0 && labelSelector === undefined)
      v.forbidden(`${path}.${name}`, 'must not be given without a labelSelector');
    else for (const [index, key] of list.entries()) checkLabelName(v, `${path}.${name}[${index}]`, key);
  }
  // The API server merges each key into the selector; a duplicate comes from the manifest.
  const mentioned = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = matchLabelKeys.lastIndexOf(key);
    if (index >= 0 && mentioned.has(key))
      v.invalid(`${path}.matchLabelKeys[${index}]`, key, 'must not be in the labelSelector as well');
    mentioned.add(key);
  }
  for (const [index, key] of matchLabelKeys.entries())
    if (mismatchLabelKeys.includes(key))
      v.invalid(`${path}.matchLabelKeys[${index}]`, key, 'must not be in mismatchLabelKeys as well');
}

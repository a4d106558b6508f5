// Validates topology spread constraints. Upstream: pkg/apis/core/validation (validateTopologySpreadConstraints).
import type { TopologySpreadConstraint } from '../../api/k8s/types.ts';
import { checkLabelKeys } from './label-keys.ts';
import { checkLabelSelector } from './metadata.ts';
import type { Violations } from './violation.ts';

export function checkTopologySpread(
  v: Violations,
  path: string,
  constraints: readonly TopologySpreadConstraint[],
): void {
  for (const [index, constraint] of constraints.entries()) {
    const at = `${path}[${index}]`;
    const { maxSkew, minDomains, topologyKey, whenUnsatisfiable } = constraint;
    checkPositive(v, `${at}.maxSkew`, maxSkew ?? 0);
    if (!topologyKey) v.required(`${at}.topologyKey`, 'must not be empty');
    v.word(`${at}.whenUnsatisfiable`, whenUnsatisfiable ?? '', ['DoNotSchedule', 'ScheduleAnyway']);
    const again = constraints
      .slice(index + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    if (again)
      v.duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`);
    if (minDomains !== undefined) {
      checkPositive(v, `${at}.minDomains`, minDomains);
      if (whenUnsatisfiable !== 'DoNotSchedule')
        v.invalid(`${at}.minDomains`, minDomains, 'needs whenUnsatisfiable to be DoNotSchedule');
    }
    for (const key of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const)
      v.word(`${at}.${key}`, constraint[key], ['Honor', 'Ignore']);
    checkLabelKeys(v, at, constraint);
    checkLabelSelector(v, `${at}.labelSelector`, constraint.labelSelector);
  }
}

function checkPositive(v: Violations, field: string, value: number): void {
  if (value <= 0) v.invalid(field, value, 'must be greater than zero');
}

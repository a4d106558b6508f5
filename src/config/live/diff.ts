// Names the fields in which two configurations differ and when each change applies. Pure.
// Invariant: every difference is named by exactly one path, in the order of the table.

import { resolveGates } from '../gates/feature-gates.ts';
import { type GateName, gateTable } from '../gates/table.ts';
import { type Applies, type Field, isSame, type Schema } from '../schema.ts';
import { type KubeletConfiguration, kubeletConfiguration } from '../table/kubelet-configuration.ts';

export interface ConfigChange {
  /** As docs/configuration.md writes it: logging.verbosity. */
  readonly path: string;
  readonly applies: Applies;
}

type Values = { readonly [name: string]: unknown };

/** The changes from `before` to `after`. Both are complete configurations, with flags applied. */
export function diffConfiguration(
  before: KubeletConfiguration,
  after: KubeletConfiguration,
): readonly ConfigChange[] {
  return compare(before, after).changes;
}

/**
 * The configuration in force after a change: `before` with those fields of `after` that apply without a restart. A field that
 * did not change keeps its value by identity.
 */
export function inForceAfter(
  before: KubeletConfiguration,
  after: KubeletConfiguration,
): KubeletConfiguration {
  return compare(before, after).inForce as KubeletConfiguration;
}

/** When a change of the field applies, by its path; an object stands for all that is in it. */
export function appliesByPath(): ReadonlyMap<string, Applies> {
  return new Map(leaves(kubeletConfiguration, '', 'restart'));
}

function leaves(schema: Schema, prefix: string, inherited: Applies): readonly (readonly [string, Applies])[] {
  return Object.entries(schema).flatMap(([name, field]) => {
    const path = prefix + name;
    const applies = field.applies ?? inherited;
    if (field.kind !== 'object') return [[path, applies] as const];
    return leaves(field.fields ?? {}, `${path}.`, applies);
  });
}

interface Comparison {
  readonly inForce: Values;
  readonly changes: readonly ConfigChange[];
}

function compare(before: KubeletConfiguration, after: KubeletConfiguration): Comparison {
  const switched = switchedGates(before, after);
  const changes: ConfigChange[] = [];
  const inForce = compareObject(kubeletConfiguration, before, after, '', 'restart');
  return { inForce, changes };

  function compareObject(
    schema: Schema,
    old: Values,
    next: Values,
    prefix: string,
    inherited: Applies,
  ): Values {
    const merged: Record<string, unknown> = {};
    for (const [name, field] of Object.entries(schema)) {
      merged[name] = compareField(field, old[name], next[name], prefix + name, inherited);
    }
    return Object.keys(merged).every((name) => merged[name] === old[name]) ? old : merged;
  }

  function compareField(
    field: Field<unknown>,
    old: unknown,
    next: unknown,
    path: string,
    inherited: Applies,
  ): unknown {
    const applies = needsRestart(field, switched) ? 'restart' : (field.applies ?? inherited);
    if (field.kind === 'object' && old !== undefined && next !== undefined) {
      return compareObject(field.fields ?? {}, old as Values, next as Values, `${path}.`, applies);
    }
    if (isSame(old, next)) return old;
    changes.push({ path, applies });
    return applies === 'restart' ? old : next;
  }
}

/** Gates are resolved once per process, so a field under a gate that the same change switches waits for the restart too. */
function needsRestart({ gate, actsWith }: Field<unknown>, switched: ReadonlySet<GateName>): boolean {
  return (gate !== undefined && switched.has(gate)) || (actsWith !== undefined && switched.has(actsWith));
}

function switchedGates(before: KubeletConfiguration, after: KubeletConfiguration): ReadonlySet<GateName> {
  if (isSame(before.featureGates, after.featureGates)) return new Set();
  const old = resolveGates(before.featureGates).gates;
  const next = resolveGates(after.featureGates).gates;
  return new Set((Object.keys(gateTable) as GateName[]).filter((name) => old[name] !== next[name]));
}

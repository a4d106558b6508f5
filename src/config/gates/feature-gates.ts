// Resolves the feature gates to a boolean for every gate by name. Upstream: component-base/featuregate.
// Invariant: every gate of the table is present, so that a misspelled `gates.X` does not compile.
import type { Problem } from '../problem.ts';
import { type GateName, type GateSpec, gateTable } from './table.ts';

export type FeatureGates = Readonly<Record<GateName, boolean>>;

const specs: ReadonlyMap<string, GateSpec> = new Map(Object.entries(gateTable));
const names = Object.keys(gateTable) as readonly GateName[];

interface ResolvedGates {
  readonly gates: FeatureGates;
  readonly problems: readonly Problem[];
  readonly warnings: readonly string[];
}

/** Explicit settings take precedence over AllAlpha and AllBeta, which take precedence over the defaults. */
export function resolveGates(set: Readonly<Record<string, boolean>>): ResolvedGates {
  const problems: Problem[] = [];
  const warnings: string[] = [];
  const explicit = new Map<string, boolean>();
  for (const [name, on] of Object.entries(set).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const spec = specs.get(name);
    if (spec === undefined) {
      problems.push({ where: gateWhere, message: `unknown feature gate ${name}` });
    } else if (spec.locked && on !== spec.default) {
      problems.push({
        where: gateWhere,
        message: `${name} is locked to ${spec.default} and cannot be set to ${on}`,
      });
    } else {
      explicit.set(name, on);
      if (spec.stage === 'DEPRECATED' || spec.stage === '') {
        const stage = spec.stage === '' ? 'generally available' : 'deprecated';
        warnings.push(
          `Feature gate ${name}=${on} was set although it is ${stage}; it will be removed in a later release.`,
        );
      }
    }
  }
  const all = {
    ALPHA: explicit.get('AllAlpha'),
    BETA: explicit.get('AllBeta'),
    DEPRECATED: undefined,
    '': undefined,
  };
  const gates = {} as Record<GateName, boolean>;
  for (const name of names) {
    const spec = gateTable[name];
    const group = name === 'AllAlpha' || name === 'AllBeta' ? undefined : all[spec.stage];
    gates[name] = explicit.get(name) ?? group ?? spec.default;
  }
  return { gates, problems, warnings };
}

const gateWhere = 'featureGates (--feature-gates)';

export const defaultGates: FeatureGates = resolveGates({}).gates;

interface GateSample {
  readonly name: GateName;
  readonly stage: GateSpec['stage'];
  readonly enabled: boolean;
}

/** One sample each for the metric kubernetes_feature_enabled{name,stage}, value 1 or 0. */
export function gateSamples(gates: FeatureGates): readonly GateSample[] {
  return names.map((name) => ({ name, stage: gateTable[name].stage, enabled: gates[name] }));
}

/** The gates that help lists: those in alpha and beta. */
export function listedGates(): readonly { readonly name: GateName; readonly spec: GateSpec }[] {
  return names
    .map((name) => ({ name, spec: gateTable[name] }))
    .filter(({ spec }) => spec.stage === 'ALPHA' || spec.stage === 'BETA');
}

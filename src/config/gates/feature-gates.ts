// Resolves the feature gates to a boolean for every gate by name. Upstream: component-base/featuregate.
// Invariant: every gate of the table is present, so that a misspelled `gates.X` does not compile.
import type { Problem } from '../problem.ts';
import { gateDependencies } from './dependencies.ts';
import { removedGates } from './removed-gates.ts';
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
  const problems: string[] = [];
  const warnings: string[] = [];
  const explicit = new Map<string, boolean>();
  for (const [name, on] of Object.entries(set).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const spec = specs.get(name);
    if (spec === undefined) {
      problems.push(unknownGate(name));
    } else if (spec.locked && on !== spec.default) {
      problems.push(`cannot set feature gate ${name} to ${on}, feature is locked to ${spec.default}`);
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
  const gates = effectiveGates(explicit);
  if (problems.length === 0) {
    problems.push(...missingDependencies(gates), ...unimplementedGates(gates, explicit));
  }
  return { gates, problems: problems.map((message) => ({ where: gateWhere, message })), warnings };
}

function unknownGate(name: string): string {
  const release = removedGates.get(name);
  return release === undefined
    ? `unrecognized feature gate: ${name}`
    : `unrecognized feature gate: ${name} (Kubernetes ${release} removed it; remove the setting)`;
}

function effectiveGates(explicit: ReadonlyMap<string, boolean>): FeatureGates {
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
  return gates;
}

/** A gate that is on, for whatever reason, needs all of its prerequisites on. */
function missingDependencies(gates: FeatureGates): readonly string[] {
  return names.flatMap((name) => {
    const off = (gateDependencies[name] ?? []).filter((needed) => !gates[needed]);
    if (!gates[name] || off.length === 0) return [];
    return [`${name} is enabled, but depends on features that are disabled: [${off.join(' ')}]`];
  });
}

/**
 * differs from upstream: a gate that is off by default and guards something this kubelet does not implement cannot be
 * enabled. Its fields would be ignored, and the operator would learn it from a pod that does not work.
 */
function unimplementedGates(gates: FeatureGates, explicit: ReadonlyMap<string, boolean>): readonly string[] {
  const refused = names.filter((name) => {
    const { default: isDefault, effect } = gateTable[name];
    return gates[name] && !isDefault && effect?.kind === 'none-yet';
  });
  const byName = refused.filter((name) => explicit.has(name));
  return [
    ...byName.map((name) => {
      const missing = gateTable[name].effect?.note ?? '';
      return `${name} cannot be enabled: this kubelet does not implement it (missing: ${missing})`;
    }),
    ...(['AllAlpha', 'AllBeta'] as const).flatMap((all) => {
      const ofStage = refused.filter(
        (name) => !explicit.has(name) && gateTable[name].stage === gateTable[all].stage,
      );
      if (ofStage.length === 0) return [];
      return [
        `${all} enables features that this kubelet does not implement; set them to false: [${ofStage.join(' ')}]`,
      ];
    }),
  ];
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

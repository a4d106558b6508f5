// The settings whose effect differs from upstream's, gathered from the tables: for the docs, and for the warnings at start.
// Invariant: every marked row of the three tables is in the list exactly once. Pure.
import type { Effect, EffectKind } from './effect.ts';
import type { FeatureGates } from './gates/feature-gates.ts';
import { type GateName, type GateSpec, gateTable } from './gates/table.ts';
import { pathText } from './load/document.ts';
import { isDefaultValue, type Schema } from './schema.ts';
import { type KubeletConfiguration, kubeletConfiguration } from './table/kubelet-configuration.ts';
import { type KubeletFlags, kubeletFlags } from './table/kubelet-flags.ts';

/** A setting by the names that a user knows it by: a field with its flag, a flag alone, or a gate. */
export interface MarkedSetting {
  readonly field?: string;
  readonly flag?: string;
  readonly gate?: GateName;
  readonly effect: Effect;
  /** Whether these settings have something other than the default. */
  readonly isChanged: (settings: Settings) => boolean;
}

interface Settings {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
}

type Values = { readonly [name: string]: unknown };

export const markedSettings: readonly MarkedSetting[] = [
  ...markedRows(kubeletConfiguration, [], ({ config }) => config),
  ...markedRows(kubeletFlags, undefined, ({ flags }) => flags),
  ...markedGates(),
];

/** `path` leads to the schema within the configuration; undefined for flags that are no config fields. */
function markedRows(
  schema: Schema,
  path: readonly string[] | undefined,
  valuesOf: (settings: Settings) => Values | undefined,
): readonly MarkedSetting[] {
  return Object.entries(schema).flatMap(([name, row]) => {
    const { effect, fields, flag, kind } = row;
    const here = path === undefined ? undefined : [...path, name];
    if (effect !== undefined) {
      const isChanged = (settings: Settings): boolean => !isDefaultValue(row, valuesOf(settings)?.[name]);
      return [
        {
          ...(here === undefined ? {} : { field: pathText(here) }),
          ...(flag === undefined ? {} : { flag: `--${flag.name}` }),
          effect,
          isChanged,
        },
      ];
    }
    if (kind !== 'object' || fields === undefined) return [];
    return markedRows(fields, here, (settings) => valuesOf(settings)?.[name] as Values | undefined);
  });
}

function markedGates(): readonly MarkedSetting[] {
  return (Object.entries(gateTable) as [GateName, GateSpec][]).flatMap(([gate, spec]) =>
    spec.effect === undefined
      ? []
      : [{ gate, effect: spec.effect, isChanged: ({ gates }: Settings) => gates[gate] !== spec.default }],
  );
}

export interface SettingWarning {
  readonly message: string;
  readonly values: Readonly<Record<string, string>>;
}

/** Kinds that are silent because upstream's kubelet ignores the setting too. */
const warnings: Readonly<Record<EffectKind, readonly [message: string, note: string] | undefined>> = {
  'none-yet': ['Setting has no effect in this kubelet yet', 'missing'],
  partly: ['Setting has only part of its effect in this kubelet yet', 'detail'],
  'none-here': ['Setting has no effect in this kubelet', 'reason'],
  'always-on': ['Setting has no effect in this kubelet', 'reason'],
  'none-upstream': undefined,
  'other-component': undefined,
};

/** One warning for each setting that was changed and does not do what upstream's does. */
export function settingWarnings(settings: Settings): readonly SettingWarning[] {
  return markedSettings.flatMap(({ field, flag, gate, effect, isChanged }) => {
    const warning = warnings[effect.kind];
    if (warning === undefined || !isChanged(settings)) return [];
    const [message, noteKey] = warning;
    const names = {
      ...(field === undefined ? {} : { field }),
      ...(flag === undefined ? {} : { flag }),
      ...(gate === undefined ? {} : { gate }),
    };
    return [{ message, values: { ...names, [noteKey]: effect.note } }];
  });
}

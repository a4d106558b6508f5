// Completes a configuration: defaults, legacy defaults without a file, and drop-ins merged over the result.
// Upstream: pkg/kubelet/apis/config/v1beta1/defaults.go, cmd/kubelet/app/options (legacy defaults), mergeKubeletConfigurations.
// Pure. Invariant: every field of the table is present in the result.

import { isObject } from '../../base/guards.ts';
import { Duration } from '../duration.ts';
import { resolveGates } from '../gates/feature-gates.ts';
import { type Field, isMapKind, type Schema } from '../schema.ts';
import { type KubeletConfiguration, kubeletConfiguration } from '../table/kubelet-configuration.ts';
import { type Given } from './decode.ts';

/** The gates that the command line sets; some defaults depend on a gate. */
export type GateSettings = Readonly<Record<string, boolean>>;

const maxContainerBackOff = Duration.ofMs(300_000);

export function withDefaults(given: Given, flagGates: GateSettings): KubeletConfiguration {
  const whole = complete(kubeletConfiguration, given) as KubeletConfiguration;
  const { gates } = resolveGates({ ...whole.featureGates, ...flagGates });
  const pulls = whole.maxParallelImagePulls;
  const restart = whole.crashLoopBackOff.maxContainerRestartPeriod;
  const policy = whole.imagePullCredentialsVerificationPolicy;
  return {
    ...whole,
    nodeStatusReportFrequency:
      isUnset(given['nodeStatusReportFrequency']) && !isUnset(given['nodeStatusUpdateFrequency'])
        ? whole.nodeStatusUpdateFrequency
        : whole.nodeStatusReportFrequency,
    podPidsLimit: Math.max(whole.podPidsLimit, -1),
    serializeImagePulls:
      (given['serializeImagePulls'] ?? undefined) === undefined && pulls !== undefined && pulls >= 2
        ? false
        : whole.serializeImagePulls,
    crashLoopBackOff: {
      maxContainerRestartPeriod:
        restart ?? (gates.KubeletCrashLoopBackOffMax ? maxContainerBackOff : undefined),
    },
    imagePullCredentialsVerificationPolicy:
      policy === '' && gates.KubeletEnsureSecretPulledImages ? 'NeverVerifyPreloadedImages' : policy,
  };
}

/** The configuration without --config, with the four defaults of older kubelets. */
export function legacyConfiguration(flagGates: GateSettings): KubeletConfiguration {
  return legacy(kubeletConfiguration, withDefaults({}, flagGates)) as KubeletConfiguration;
}

/** The configuration of the --config file. */
export function fileConfiguration(given: Given, flagGates: GateSettings): KubeletConfiguration {
  const config = withDefaults(given, flagGates);
  const defaults = kubeletConfiguration.evictionHard.fileDefault ?? {};
  if (isAbsent(given['evictionHard'])) return { ...config, evictionHard: defaults };
  if (!config.mergeDefaultEvictionSettings) return config;
  return { ...config, evictionHard: { ...defaults, ...config.evictionHard } };
}

/** Merges a drop-in over a configuration: objects and maps are merged, lists replaced, null resets to the default. */
// differs from upstream: an empty list in the file stays empty under drop-ins; there it becomes the default.
export function withDropIn(base: KubeletConfiguration, dropIn: Given): Given {
  return merge(kubeletConfiguration, base, dropIn);
}

function complete(schema: Schema, given: Given): Given {
  const whole: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema)) whole[name] = completeField(field, given[name]);
  return whole;
}

function completeField(field: Field<unknown>, value: unknown): unknown {
  if (field.kind === 'object') {
    if (field.optional && isAbsent(value)) return undefined;
    return complete(field.fields ?? {}, isObject(value) ? value : {});
  }
  if (isAbsent(value) || (!field.keepsZero && isUnset(value))) return field.default;
  return isMapKind(field.kind) ? withoutNulls(value as Given) : value;
}

function legacy(schema: Schema, value: Given): Given {
  const changed: Record<string, unknown> = { ...value };
  for (const [name, field] of Object.entries(schema)) {
    if (field.legacyDefault !== undefined) changed[name] = field.legacyDefault;
    else if (field.kind === 'object' && isObject(value[name])) {
      changed[name] = legacy(field.fields ?? {}, value[name]);
    }
  }
  return changed;
}

function merge(schema: Schema, base: Given, patch: Given): Given {
  const merged: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(patch)) {
    const field = schema[name];
    const current = base[name];
    if (value === null) delete merged[name];
    else if (field?.kind === 'object') {
      merged[name] = merge(field.fields ?? {}, isObject(current) ? current : {}, value as Given);
    } else if (field !== undefined && isMapKind(field.kind)) {
      merged[name] = withoutNulls({ ...(current as Given | undefined), ...(value as Given) });
    } else merged[name] = value;
  }
  return merged;
}

function withoutNulls(map: Given): Given {
  return Object.fromEntries(Object.entries(map).filter(([, value]) => value !== null));
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

/** A zero counts as unset where the upstream type does not distinguish the two. */
function isUnset(value: unknown): boolean {
  if (value instanceof Duration) return value.isZero;
  return isAbsent(value) || value === 0 || value === '' || value === false;
}

// Renders the effective configuration for /configz in upstream's form: {"kubeletconfig": {…}} with durations as 2m0s.
// Upstream: component-base/configz with the JSON of the v1beta1 type, including which zero values it omits.
import { masked, redactUrl } from '../base/log/redact-url.ts';
import { Duration } from './duration.ts';
import { type Field, isMapKind, type Schema } from './schema.ts';
import { type KubeletConfiguration, kubeletConfiguration } from './table/kubelet-configuration.ts';

/** The response body, to be sent as JSON. */
export function renderConfigz(config: KubeletConfiguration): { readonly kubeletconfig: unknown } {
  return { kubeletconfig: encodeConfiguration(config) };
}

/** With kind and apiVersion, so that it can be used as a configuration file. */
function encodeConfiguration(config: KubeletConfiguration): object {
  return {
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    ...encodeObject(kubeletConfiguration, config),
  };
}

/**
 * The configuration without values that may be credentials: header values and parts of a URL.
 * differs from upstream, which does not mask the URL.
 */
export function maskedConfiguration(config: KubeletConfiguration): unknown {
  const headers = Object.keys(config.staticPodURLHeader).map((name) => [name, [masked]] as const);
  return encodeConfiguration({
    ...config,
    staticPodURL: redactUrl(config.staticPodURL),
    staticPodURLHeader: Object.fromEntries(headers),
  });
}

type Values = { readonly [name: string]: unknown };

function encodeObject(schema: Schema, values: Values): object {
  const encoded: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema)) {
    const value = values[name];
    if (value === undefined || isOmitted(field, value)) continue;
    encoded[name] = encodeValue(field, value);
  }
  return encoded;
}

function encodeValue(field: Field<unknown>, value: unknown): unknown {
  if (field.kind === 'object') return encodeObject(field.fields ?? {}, value as Values);
  if (field.kind === 'objects') {
    return (value as readonly Values[]).map((entry) => encodeObject(field.fields ?? {}, entry));
  }
  if (value instanceof Duration) return value.toJSON();
  return isMapKind(field.kind) ? sorted(value as Values) : value;
}

function isOmitted(field: Field<unknown>, value: unknown): boolean {
  if (field.kind === 'object' || value instanceof Duration) return false;
  if (Array.isArray(value)) return value.length === 0;
  if (isMapKind(field.kind)) return !field.required && Object.keys(value as object).length === 0;
  if (field.keepsZero || field.required) return false;
  return value === 0 || value === '' || value === false;
}

function sorted(map: Values): Values {
  return Object.fromEntries(Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

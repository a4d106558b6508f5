// Logs the effective configuration as YAML, with the values of staticPodURLHeader masked.
// differs from upstream: other values that may be credentials are masked too, such as the query of a URL.
// Invariant: no value that may be a credential is logged, whatever field is added.
import { stringify } from 'yaml';
import type { Logger } from '../base/log/log.ts';
import { masked as mask, redactUrl } from '../base/log/redact-url.ts';

/** Fields whose values are all secret, whatever their shape. */
const secretFields: ReadonlySet<string> = new Set(['staticPodURLHeader']);
const secretName = /(token|password|secret|authorization|credential|apikey)$/i;
/** The user, password and query of a URL may carry a token. */
const urlField = /url$/i;

/** A copy of the configuration in the form of /configz that is safe to log. */
export function maskConfiguration(value: unknown, name = ''): unknown {
  if (secretFields.has(name)) return maskAll(value);
  if (typeof value === 'string') return maskText(name, value);
  if (Array.isArray(value)) return value.map((each) => maskConfiguration(each, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, maskConfiguration(each, key)]));
}

/** Keeps the names: which header is sent is not secret, and helps in debugging. */
function maskAll(value: unknown): unknown {
  if (Array.isArray(value)) return [mask];
  if (typeof value !== 'object' || value === null) return mask;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, maskAll(each)]));
}

function maskText(name: string, text: string): string {
  if (text === '') return text;
  if (secretName.test(name)) return mask;
  return urlField.test(name) ? redactUrl(text) : text;
}

/** `configuration`: in the form of /configz. */
export function logEffectiveConfiguration(log: Logger, configuration: unknown): void {
  const config = stringify(maskConfiguration(configuration), { sortMapEntries: true, lineWidth: 0 });
  log.info('Effective KubeletConfiguration', { config });
}

// The effective configuration as it may be logged. Upstream logs it at -v=5 with the values of staticPodURLHeader masked.
// Invariant: no value that can be a credential comes out, wherever a field that holds one may be added.
import type { Logger } from '../base/log/log.ts';
import { masked as mask, redactUrl } from '../base/log/redact-url.ts';

/** Fields of which every value is a secret, however it is shaped. */
const secretFields: ReadonlySet<string> = new Set(['staticPodURLHeader']);
const secretName = /(token|password|secret|authorization|credential|apikey)$/i;
/** A URL may have a user, a password and a query, each a way to carry a token. */
const urlField = /url$/i;

/** A copy of the configuration, as /configz has it, that is safe to log. */
export function maskConfiguration(value: unknown, name = ''): unknown {
  if (secretFields.has(name)) return maskAll(value);
  if (typeof value === 'string') return maskText(name, value);
  if (Array.isArray(value)) return value.map((each) => maskConfiguration(each, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, maskConfiguration(each, key)]));
}

/** Names stay: which header is sent is no secret, and helps. */
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

/** The configuration is made only when somebody reads the line. */
export function logEffectiveConfiguration(log: Logger, configuration: () => unknown): void {
  const verbose = log.v(5);
  if (verbose.enabled)
    verbose.info('KubeletConfiguration', { configuration: maskConfiguration(configuration()) });
}

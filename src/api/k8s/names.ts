// Validation of names in the API. Each check returns a list of errors, empty for a valid name. Patterns and lengths are the
// API's: they accept exactly what the API server accepts.
// Upstream: apimachinery/pkg/util/validation.

const labelLength = 63;
const subdomainLength = 253;
const portNameLength = 15;
const maxId = 2 ** 31 - 1;

interface Pattern {
  readonly regex: RegExp;
  readonly rule: string;
}

function pattern(regex: RegExp, rule: string): Pattern {
  // Without its anchors.
  return { regex, rule: `${rule} (pattern ${regex.source.slice(1, -1)})` };
}

const patterns = {
  label: pattern(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    "must be lower-case letters, digits or '-', with a letter or digit at both ends",
  ),
  subdomain: pattern(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
    "must be lower-case letters, digits, '-' or '.', each part with a letter or digit at both ends",
  ),
  label1035: pattern(
    /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
    "must be lower-case letters, digits or '-', with a letter first and a letter or digit last",
  ),
  qualified: pattern(
    /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/,
    "must be letters, digits, '-', '_' or '.', with a letter or digit at both ends",
  ),
  labelValue: pattern(
    /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/,
    "must be empty or letters, digits, '-', '_' or '.', with a letter or digit at both ends",
  ),
  identifier: pattern(
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    "must be letters, digits or '_', and must not begin with a digit",
  ),
  envName: pattern(
    /^[-._a-zA-Z][-._a-zA-Z0-9]*$/,
    "must be letters, digits, '_', '-' or '.', and must not begin with a digit",
  ),
  configKey: pattern(/^[-._a-zA-Z0-9]+$/, "must be letters, digits, '-', '_' or '.'"),
  headerName: pattern(/^[-A-Za-z0-9]+$/, "must be letters, digits or '-'"),
} as const;

function matching(value: string, { regex, rule }: Pattern): string[] {
  return regex.test(value) ? [] : [rule];
}

function atMost(value: string, length: number): string[] {
  return new TextEncoder().encode(value).length <= length
    ? []
    : [`must be no longer than ${length} characters`];
}

function between(value: number, low: number, high: number): string[] {
  return value >= low && value <= high ? [] : [`must be between ${low} and ${high}`];
}

function notUpwards(value: string): string[] {
  if (value === '.' || value === '..') return [`must not be '${value}'`];
  return value.startsWith('..') ? ["must not begin with '..'"] : [];
}

/** A single part of a DNS name: container, volume and namespace names. */
export function isDns1123Label(value: string): string[] {
  const wrong = atMost(value, labelLength);
  if (patterns.label.regex.test(value)) return wrong;
  return [...wrong, patterns.subdomain.regex.test(value) ? "must not have a '.'" : patterns.label.rule];
}

/** A DNS name: names of pods, nodes and most other objects. */
export function isDns1123Subdomain(value: string): string[] {
  return [...atMost(value, subdomainLength), ...matching(value, patterns.subdomain)];
}

/** As a DNS-1123 label, but not starting with a digit: names of services. */
export function isDns1035Label(value: string): string[] {
  return [...atMost(value, labelLength), ...matching(value, patterns.label1035)];
}

/** `name` or `dns.prefix/name`: keys of labels, names of resources and conditions. */
export function isQualifiedName(value: string): string[] {
  const parts = value.split('/');
  if (parts.length > 2) return ["must be a name, or a DNS prefix and a name with one '/' between"];
  const name = parts.at(-1) ?? '';
  const prefix = parts.length === 2 ? parts[0] : undefined;
  const wrong: string[] = [];
  if (prefix === '') wrong.push('prefix must not be empty');
  else if (prefix !== undefined) wrong.push(...isDns1123Subdomain(prefix).map((text) => `prefix ${text}`));
  if (name === '') wrong.push('name must not be empty');
  wrong.push(...atMost(name, labelLength).map((text) => `name ${text}`));
  wrong.push(...matching(name, patterns.qualified).map((text) => `name ${text}`));
  return wrong;
}

/** Annotations allow capital letters in the prefix too. */
export function isAnnotationKey(value: string): string[] {
  return isQualifiedName(value.toLowerCase());
}

export function isLabelValue(value: string): string[] {
  return [...atMost(value, labelLength), ...matching(value, patterns.labelValue)];
}

export function isCIdentifier(value: string): string[] {
  return matching(value, patterns.identifier);
}

/** The strict form of an environment variable name. */
export function isEnvVarName(value: string): string[] {
  return [...matching(value, patterns.envName), ...notUpwards(value)];
}

/** The relaxed form: printable ASCII except `=`. */
export function isRelaxedEnvVarName(value: string): string[] {
  if (value === '') return ['must not be empty'];
  return /^[ -<>-~]*$/.test(value) ? [] : ["must be printable ASCII characters without '='"];
}

/** A key of a ConfigMap or Secret, which also is a file name. */
export function isConfigMapKey(value: string): string[] {
  return [...atMost(value, subdomainLength), ...matching(value, patterns.configKey), ...notUpwards(value)];
}

export function isHttpHeaderName(value: string): string[] {
  return matching(value, patterns.headerName);
}

/** A port's name (RFC 6335). */
export function isPortName(value: string): string[] {
  const wrong = atMost(value, portNameLength);
  if (!/^[-a-z0-9]+$/.test(value)) wrong.push("must be lower-case letters, digits or '-'");
  if (!/[a-z]/.test(value)) wrong.push('must have at least one letter');
  if (value.includes('--')) wrong.push("must not have two '-' in a row");
  if (value.startsWith('-') || value.endsWith('-')) wrong.push("must not begin or end with '-'");
  return wrong;
}

export function isPortNumber(value: number): string[] {
  return Number.isInteger(value) ? between(value, 1, 65535) : ['must be a whole number'];
}

/** A numeric user or group ID. */
export function isUserOrGroupId(value: number): string[] {
  return Number.isInteger(value) ? between(value, 0, maxId) : ['must be a whole number'];
}

// Removes the secrets of a request from a driver's message about it. Upstream masks its log of the request only.
// Invariants: every occurrence is masked, overlapping ones as well; the cost is bounded, whatever the secrets are.
import { isObject } from '../../base/guards.ts';

const mask = '***stripped***';
/** A shorter value would mask words at random. */
const shortestSecret = 4;
/** With more secrets or occurrences of one than this, the whole text is masked. The text has at most 64 KiB, Node's limit. */
const mostSecrets = 64;
const mostOccurrences = 64;

/** The key under which the kubelet passes tokens of the pod's service account. */
const tokensKey = 'csi.storage.k8s.io/serviceAccount.tokens';

/** What must not be repeated of this request: its secrets and the tokens of the pod. */
export function secretsOf(request: object): readonly string[] {
  const values = [
    ...Object.values(mapOf(request, 'secrets')),
    ...tokensOf(mapOf(request, 'secrets')),
    ...tokensOf(mapOf(request, 'volumeContext')),
  ];
  return [...new Set(values.flatMap(spellings))].filter(({ length }) => length >= shortestSecret);
}

function mapOf(request: object, field: string): Readonly<Record<string, string>> {
  const map: unknown = Reflect.get(request, field);
  return isObject(map) ? (map as Readonly<Record<string, string>>) : {};
}

/** Of `{"<audience>": {"token": "…"}}`. */
function tokensOf(map: Readonly<Record<string, string>>): readonly string[] {
  const text = Object.hasOwn(map, tokensKey) ? map[tokensKey] : undefined;
  if (text === undefined) return [];
  try {
    const byAudience: unknown = JSON.parse(text);
    if (!isObject(byAudience)) return [];
    return Object.values(byAudience).flatMap((each) =>
      isObject(each) && typeof each['token'] === 'string' ? [each['token']] : [],
    );
  } catch {
    return [];
  }
}

/** Drivers trim values, and quote them in messages. */
function spellings(value: string): readonly string[] {
  const trimmed = value.trim();
  return [value, trimmed, JSON.stringify(trimmed).slice(1, -1)];
}

export function maskSecrets(text: string, secrets: readonly string[]): string {
  if (secrets.length > mostSecrets) return mask;
  const bySecret = secrets.map((secret) => occurrences(text, secret));
  if (bySecret.some(({ length }) => length > mostOccurrences)) return mask;
  const found = bySecret.flat().toSorted((a, b) => a[0] - b[0]);
  let masked = '';
  let at = 0;
  for (const [start, end] of found) {
    if (start >= at) masked += text.slice(at, start) + mask;
    at = Math.max(at, end);
  }
  return masked + text.slice(at);
}

/** Start and end of each, also of those that overlap. */
function occurrences(text: string, secret: string): readonly (readonly [number, number])[] {
  const found: [number, number][] = [];
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1)) {
    found.push([at, at + secret.length]);
    if (found.length > mostOccurrences) break;
  }
  return found;
}

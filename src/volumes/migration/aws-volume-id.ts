// The EBS volume of an in-tree volume ID: `vol-…`, or `aws://<zone>/vol-…`. Pure, one pass per check.
// Invariant: accepts what upstream accepts, with its error texts; the exceptions below concern IDs that no volume has.
// Upstream: KubernetesVolumeIDToEBSVolumeID in staging/src/k8s.io/csi-translation-lib/plugins/aws_ebs.go, which uses Go's net/url.
import { goQuote } from '../../base/log/log-value.ts';
import { quotation, untranslatable } from './untranslatable.ts';

const scheme = 'aws://';
/** Real ones have fewer than 100. */
const longestUrl = 1024;
const failure = 'failed to translate Kubernetes ID to EBS Volume ID';

export function ebsVolumeId(id: string): string {
  if (!id.startsWith(scheme)) return id;
  // differs from upstream: no EBS volume has such an ID.
  if (id.length > longestUrl) throw invalidFormat(id);
  const [url = '', fragment] = cut(id, '#');
  const urlProblem = findUrlProblem(url);
  const problem = urlProblem ?? findEscapeProblem(fragment ?? '');
  if (problem !== undefined) {
    const text = `Invalid disk name (${quotation(id)}): parse ${goQuote(quotation(urlProblem === undefined ? id : url))}: ${problem}`;
    throw untranslatable(`${failure} ${text}`);
  }
  const volumeId = trimSlashes(decode(pathOf(url)));
  if (!volumeId.startsWith('vol-') || volumeId.includes('/')) throw invalidFormat(id);
  return volumeId;
}

function invalidFormat(id: string): Error {
  return untranslatable(`${failure} Invalid format for AWS volume (${quotation(id)})`);
}

/** With the slash; empty if there is none. */
function pathOf(url: string): string {
  const [rest = ''] = cut(url.slice(scheme.length), '?');
  const slash = rest.indexOf('/');
  return slash < 0 ? '' : rest.slice(slash);
}

function findUrlProblem(url: string): string | undefined {
  if (hasControlCharacter(url)) return 'net/url: invalid control character in URL';
  const [rest = ''] = cut(url.slice(scheme.length), '?');
  const [authority = ''] = cut(rest, '/');
  const at = authority.lastIndexOf('@');
  return (
    findHostProblem(authority.slice(at + 1)) ??
    (at < 0 ? undefined : findUserProblem(authority.slice(0, at))) ??
    findEscapeProblem(rest.slice(authority.length))
  );
}

function hasControlCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function findHostProblem(host: string): string | undefined {
  // differs from upstream: no IPv6 address in brackets instead of a zone.
  if (host.includes('[')) return 'invalid IP-literal';
  const colon = host.lastIndexOf(':');
  if (colon >= 0 && !/^:[0-9]*$/.test(host.slice(colon)))
    return `invalid port ${goQuote(host.slice(colon))} after host`;
  return findEscapeProblem(host, true);
}

function findUserProblem(user: string): string | undefined {
  if (!/^[\w.~!$&'()*+,;=%@:-]*$/.test(user)) return 'net/url: invalid userinfo';
  return findEscapeProblem(user);
}

/**
 * A host may escape only bytes above ASCII, and the percent sign. differs from upstream: an error quotes whole characters, where Go
 * may cut one apart after three bytes.
 */
function findEscapeProblem(text: string, isHost = false): string | undefined {
  for (const [found] of text.matchAll(isHost ? /%.{0,2}|[ \\^`{|}]/gsu : /%.{0,2}/gsu)) {
    if (!found.startsWith('%')) return `invalid character ${goQuote(found)} in host name`;
    if (!/^%[0-9a-f]{2}$/i.test(found) || (isHost && /^%[0-7]/.test(found) && found !== '%25'))
      return `invalid URL escape ${goQuote(found)}`;
  }
  return undefined;
}

function decode(path: string): string {
  if (!path.includes('%')) return path;
  // The escapes are valid. Bytes that are no UTF-8 become U+FFFD, as in the JSON that Go writes.
  const bytes = path.replace(/%[0-9a-f]{2}|[^%]/giu, (each) =>
    each.startsWith('%') ? String.fromCharCode(Number.parseInt(each.slice(1), 16)) : latin1(each),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** The bytes of the UTF-8 form, one per character. */
function latin1(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

function trimSlashes(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && text[from] === '/') from++;
  while (from < to && text[to - 1] === '/') to--;
  return text.slice(from, to);
}

/** Before and after the first separator. */
function cut(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

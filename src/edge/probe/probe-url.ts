// The URL of an HTTP probe, and the targets of its redirects. Pure.
// Upstream: formatURL in pkg/probe/http/request.go and the redirect rules of Go's net/http.
import { joinHostPort } from './go-error.ts';

export interface ProbeUrl {
  readonly scheme: 'http' | 'https';
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  /** Host and port as spelled, for the Host header. */
  readonly authority: string;
  /** Path and query, escaped as far as needed to send them. */
  readonly target: string;
  /** The whole URL, for error messages. */
  readonly text: string;
}

export function probeUrl(scheme: 'http' | 'https', host: string, port: number, path: string): ProbeUrl {
  const target = requestTarget(path);
  const shown = path === '' ? '' : target;
  const authority = joinHostPort(host, port);
  return { scheme, host, port, authority, target, text: `${scheme}://${authority}${shown}` };
}

/** Escapes only what a request line cannot contain; dots and doubled slashes are left to the server. */
function requestTarget(path: string): string {
  const [plain = ''] = path.split('#', 1);
  // A scheme and host in the path, which Go would parse as such, are removed.
  const rooted = plain.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '');
  const slashed = rooted.startsWith('/') ? rooted : `/${rooted}`;
  return slashed.replace(/[^\x21-\x7e]+/g, escapeBytes);
}

function escapeBytes(text: string): string {
  return [...Buffer.from(text, 'utf8')]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

/** Whether a redirect has a scheme, and so is an absolute URL. */
export function isAbsolute(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(location);
}

/** The target of a redirect from `url`; undefined if it is not an HTTP URL. */
export function redirectUrl(url: ProbeUrl, location: string): ProbeUrl | undefined {
  if (!URL.canParse(location, url.text)) return undefined;
  const next = new URL(location, url.text);
  if (next.protocol !== 'http:' && next.protocol !== 'https:') return undefined;
  const target = `${next.pathname}${next.search}`;
  // A relative redirect keeps the host as it was spelled.
  if (!isAbsolute(location) && !location.startsWith('//'))
    return { ...url, target, text: `${url.scheme}://${url.authority}${target}` };
  const scheme = next.protocol === 'https:' ? 'https' : 'http';
  const host = next.hostname.replace(/^\[|\]$/g, '');
  const port = next.port === '' ? (scheme === 'https' ? 443 : 80) : Number(next.port);
  return { scheme, host, port, authority: next.host, target, text: `${next.origin}${target}` };
}

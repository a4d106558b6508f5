// Where an HTTP probe goes: the first address, and where redirects lead. Pure.
// Upstream: formatURL in pkg/probe/http/request.go and the redirect rules of Go's net/http.
import { joinHostPort } from './go-error.ts';

export interface ProbeUrl {
  readonly scheme: 'http' | 'https';
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
  /** Host and port as they were written, for the header. */
  readonly authority: string;
  /** Path and query, escaped so far that it can be sent. */
  readonly target: string;
  /** The whole, as error messages show it. */
  readonly text: string;
}

export function probeUrl(scheme: 'http' | 'https', host: string, port: number, path: string): ProbeUrl {
  const target = requestTarget(path);
  const shown = path === '' ? '' : target;
  const authority = joinHostPort(host, port);
  return { scheme, host, port, authority, target, text: `${scheme}://${authority}${shown}` };
}

/** Only what no request line can carry is escaped; dots and doubled slashes are the server's business. */
function requestTarget(path: string): string {
  const [plain = ''] = path.split('#', 1);
  // What Go would take for a host in the path is replaced by the real one.
  const rooted = plain.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '');
  const slashed = rooted.startsWith('/') ? rooted : `/${rooted}`;
  return slashed.replace(/[^\x21-\x7e]+/g, escapeBytes);
}

function escapeBytes(text: string): string {
  return [...Buffer.from(text, 'utf8')]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}

/** Whether a redirect names a scheme, and so a whole address. */
export function isAbsolute(location: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(location);
}

/** Where `location` leads from `url`; undefined when it is no address that can be asked. */
export function redirectUrl(url: ProbeUrl, location: string): ProbeUrl | undefined {
  if (!URL.canParse(location, url.text)) return undefined;
  const next = new URL(location, url.text);
  if (next.protocol !== 'http:' && next.protocol !== 'https:') return undefined;
  const target = `${next.pathname}${next.search}`;
  // What names no host stays where it is, however that host was written.
  if (!isAbsolute(location) && !location.startsWith('//'))
    return { ...url, target, text: `${url.scheme}://${url.authority}${target}` };
  const scheme = next.protocol === 'https:' ? 'https' : 'http';
  const host = next.hostname.replace(/^\[|\]$/g, '');
  const port = next.port === '' ? (scheme === 'https' ? 443 : 80) : Number(next.port);
  return { scheme, host, port, authority: next.host, target, text: `${next.origin}${target}` };
}

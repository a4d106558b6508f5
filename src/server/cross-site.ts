// Recognizes requests that a browser sends for a page of another site: it adds its client certificates, and reaches the loopback
// port, for a page of any author. Pure.
// differs from upstream: there the kubelet does not read the Origin.
import type { HttpRequest } from './http-message.ts';

type Headers = HttpRequest['headers'];

/**
 * Whether a browser sent the request for a page of another host. Clients that are no browsers send no Origin. Behind a proxy the
 * Host is not the one that the browser knows: the proxies of the API server add X-Forwarded-For to every request, which a page cannot
 * do without a preflight request, and that is never answered with permission.
 */
export function isCrossSite(headers: Headers): boolean {
  return first(headers['x-forwarded-for']) === undefined && hasForeignOrigin(headers);
}

export function hasForeignOrigin(headers: Headers): boolean {
  const origin = first(headers['origin']);
  if (origin === undefined) return false;
  const host = hostOf(headers);
  // Of a sandboxed frame or a local file: `null`.
  return host === undefined || !URL.canParse(origin) || new URL(origin).host !== normalized(origin, host);
}

/** As the browser reports it: a page of another origin loads this, for example as an image, instead of linking to it. */
export function isLoadedByOthers(headers: Headers): boolean {
  const site = first(headers['sec-fetch-site']);
  const isForeign = site === 'cross-site' || site === 'same-site';
  return isForeign && first(headers['sec-fetch-mode']) !== 'navigate';
}

/** Whether the Host is a name of the loopback interface that no DNS server can give to another address. */
export function isLoopbackHost(headers: Headers): boolean {
  const host = hostOf(headers)?.toLowerCase() ?? '';
  return /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d{1,5})?$/.test(host);
}

/** HTTP/2 has the host as the authority. */
function hostOf(headers: Headers): string | undefined {
  return first(headers['host']) ?? first(headers[':authority']);
}

/** The host without the default port of the origin's scheme, as in origins. */
function normalized(origin: string, host: string): string {
  const url = `${new URL(origin).protocol}//${host}`;
  return URL.canParse(url) ? new URL(url).host : '';
}

function first(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}

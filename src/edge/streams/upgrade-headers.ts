// The headers of a proxied upgrade request. Pure.
// Invariant: order, spelling and repetition are kept (clients offer protocols in one header each); credentials are removed.
// Upstream: apimachinery/pkg/util/proxy, and the authenticators that remove the token from the request.
import type { IncomingMessage } from 'node:http';

/** Credentials and hop-by-hop headers, which are not forwarded. The body of an upgrade is empty. */
const removed: ReadonlySet<string> = new Set([
  'authorization',
  'transfer-encoding',
  'content-length',
  'expect',
]);
/** How browsers, which cannot set headers, send a token. */
const tokenProtocol = 'base64url.bearer.authorization.k8s.io.';

type Request = Pick<IncomingMessage, 'rawHeaders' | 'method'> & {
  readonly socket: { readonly remoteAddress?: string | undefined };
};

/** Alternating names and values, as Node takes them. */
export function forwardedHeaders(request: Request): string[] {
  const { rawHeaders } = request;
  const headers: string[] = [];
  const forwardedFor: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = [rawHeaders[at], rawHeaders[at + 1]];
    const lower = name.toLowerCase();
    if (lower === 'x-forwarded-for') forwardedFor.push(value);
    else if (lower === 'sec-websocket-protocol') addProtocols(headers, name, value);
    else if (!removed.has(lower)) headers.push(name, value);
  }
  const { remoteAddress } = request.socket;
  if (remoteAddress !== undefined) forwardedFor.push(remoteAddress.replace(/^::ffff:/, ''));
  if (forwardedFor.length > 0) headers.push('X-Forwarded-For', forwardedFor.join(', '));
  // No body is forwarded. Without this header, Node would announce a chunked one.
  if (request.method !== 'GET') headers.push('Content-Length', '0');
  return headers;
}

function addProtocols(headers: string[], name: string, value: string): void {
  const protocols = value.split(',').map((each) => each.trim());
  const offered = protocols.filter((each) => !each.startsWith(tokenProtocol));
  if (offered.length > 0) headers.push(name, offered.join(', '));
}

/** The prefix of WebSocket protocols that tunnel SPDY. */
export const tunnelPrefix = 'SPDY/3.1+';
const replaced: ReadonlySet<string> = new Set([
  'upgrade',
  'sec-websocket-protocol',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'x-stream-protocol-version',
]);

/** The headers of the SPDY request that replaces the request of a WebSocket which tunnels SPDY. */
export function tunnelHeaders(request: Request & Pick<IncomingMessage, 'headers'>): string[] {
  const { rawHeaders } = request;
  const kept = rawHeaders.filter((_, at) => !replaced.has((rawHeaders[at - (at % 2)] ?? '').toLowerCase()));
  const headers = forwardedHeaders({ rawHeaders: kept, method: 'POST', socket: request.socket });
  headers.push('Upgrade', 'SPDY/3.1');
  for (const protocol of (request.headers['sec-websocket-protocol'] ?? '').split(',')) {
    const name = protocol.trim();
    if (name.startsWith(tunnelPrefix)) {
      headers.push('X-Stream-Protocol-Version', name.slice(tunnelPrefix.length));
    }
  }
  return headers;
}

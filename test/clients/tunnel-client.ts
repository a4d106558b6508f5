// A WebSocket client that offers protocols whose names the WebSocket standard does not allow, as kubectl does for port-forward
// (`SPDY/3.1+portforward.k8s.io` has a slash). The library offers another name; the request and the response are rewritten.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { type ClientOptions, WebSocket } from 'ws';

const standIn = 'stand-in';

interface TunnelClient {
  readonly socket: WebSocket;
  /** The protocol that the server chose. */
  readonly protocol: () => string | undefined;
}

export function openTunnel(
  url: string,
  protocols: readonly string[],
  options: ClientOptions = {},
): TunnelClient {
  let chosen: string | undefined;
  const socket = new WebSocket(url, [standIn], {
    ...options,
    finishRequest: (request: ClientRequest) => {
      request.setHeader('Sec-WebSocket-Protocol', protocols.join(', '));
      request.prependListener('upgrade', ({ headers }: IncomingMessage) => {
        chosen = headers['sec-websocket-protocol'];
        headers['sec-websocket-protocol'] = standIn;
      });
      request.end();
    },
  });
  return { socket, protocol: () => chosen };
}

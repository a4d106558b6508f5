// The opening handshake of a WebSocket server. Pure. Status codes and texts are upstream's.
// Upstream: ReadHandshake and newServerConn in golang.org/x/net/websocket. Reference: RFC 6455, section 4.
import { createHash } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';

type Handshake = Pick<IncomingMessage, 'headers' | 'method'>;

const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** 16 bytes in base64. */
const keyLength = 24;

/** The whole response that rejects an invalid handshake; undefined if it is valid. */
export function rejectHandshake({ headers, method }: Handshake): string | undefined {
  if (method !== 'GET') return rejection(405, 'bad method');
  const key = headers['sec-websocket-key'];
  if (key === undefined || key === '') return rejection(400, 'mismatch challenge/response');
  // differs from upstream: there a key of any length is hashed.
  if (key.length > keyLength) return rejection(400, 'mismatch challenge/response');
  if (headers['sec-websocket-version'] !== '13') {
    return rejection(400, 'missing or bad WebSocket Version', ['Sec-WebSocket-Version: 13']);
  }
  return undefined;
}

/** The head of the 101 response to a valid handshake. */
export function acceptHandshake({ headers }: Handshake, protocol: string): string {
  const key = headers['sec-websocket-key'] ?? '';
  const accept = createHash('sha1').update(`${key}${guid}`).digest('base64');
  const lines = [
    `HTTP/1.1 101 ${STATUS_CODES[101]}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    ...(protocol === '' ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Upstream sends neither a length nor a type; the end of the connection ends the body. */
function rejection(status: number, text: string, headers: readonly string[] = []): string {
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...headers];
  return `${lines.join('\r\n')}\r\nConnection: close\r\n\r\n${text}`;
}

// Limits how much an HTTP/1.1 client reads of a response, including informational responses, headers, chunk extensions and
// trailers. Upstream: MaxResponseHeaderBytes of Go's net/http and its limit on non-data in chunks.
// Invariant: the CPU and memory cost of a response has a bound that the server cannot move; silence costs nothing and is not
// limited here.
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { KubeletError } from '../../base/errors.ts';

interface AnswerLimits {
  /** Everything on the connection, after decryption. */
  readonly totalBytes: number;
  /** Also the parser's limit on each block of headers: `maxHeaderSize`. */
  readonly headerBytes: number;
}

/**
 * Some servers send "102 Processing" while they work.
 * differs from upstream: Go's client accepts as many as fit into 10 MiB, which takes seconds of CPU here.
 */
const maxInformational = 100;
/** TLS 1.3 servers send one or two; each is parsed without a byte reaching the HTTP parser. */
const maxTlsTickets = 32;
/** The parser cannot be stopped within a piece of input; this one holds at most 256 responses. */
const pieceBytes = 4 * 1024;
/** A read of a single byte costs as much CPU as a read of many. */
const minReadCostBytes = 32;

/** Call before the request is sent. An exceeded limit destroys the request, or the response once it has arrived. */
export function boundAnswer(request: ClientRequest, limits: AnswerLimits): void {
  let response: IncomingMessage | undefined;
  const fail = (message: string): void => {
    const err = new KubeletError('invalid', 'AnswerTooLarge', message);
    // An error of the request does not reach the reader of its response.
    (response ?? request).destroy(err);
  };
  let informational = 0;
  request.on('information', () => {
    informational += 1;
    if (informational > maxInformational) fail('net/http: too many 1xx informational responses');
  });
  request.once('response', (each) => {
    response = each;
  });
  request.once('socket', (socket) => {
    let tickets = 0;
    socket.on('session', () => {
      tickets += 1;
      if (tickets > maxTlsTickets) fail('tls: too many session tickets');
    });
    boundReads(socket, limits.totalBytes, () =>
      fail(response === undefined ? headersText(limits) : tooMuchNonData),
    );
  });
}

export const tooMuchNonData = 'chunked encoding contains too much non-data';

export function headersText({ headerBytes }: Pick<AnswerLimits, 'headerBytes'>): string {
  return `net/http: server response headers exceeded ${headerBytes} bytes; aborted`;
}

/** Counts received bytes and passes them on in small pieces, so that the consumer can stop the socket in between. */
function boundReads(socket: Socket, totalBytes: number, onExceeded: () => void): void {
  const push = socket.push.bind(socket);
  let leftBytes = totalBytes;
  socket.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (!Buffer.isBuffer(chunk) || chunk.length === 0) return push(chunk, encoding);
    leftBytes -= Math.max(chunk.length, minReadCostBytes);
    const usable = leftBytes < 0 ? chunk.subarray(0, Math.max(0, chunk.length + leftBytes)) : chunk;
    let wantsMore = true;
    for (let from = 0; from < usable.length && !socket.destroyed; from += pieceBytes)
      wantsMore = push(usable.subarray(from, from + pieceBytes));
    if (leftBytes < 0 && !socket.destroyed) onExceeded();
    return wantsMore && !socket.destroyed;
  };
}

// Sends an upgrade request to another server and returns its answer. The connection belongs to the caller from the moment that
// it is dialled. Upstream: dial in apimachinery/pkg/util/proxy (upgradeaware.go), the SPDY round tripper of streaming.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { KubeletError } from '../../base/errors.ts';
import { type DialTls, dialUrl } from '../http-client/dial-url.ts';
import { codeOf } from '../probe/go-error.ts';

interface UpgradeRequest {
  readonly url: URL;
  readonly method: string;
  /** Alternating names and values. */
  readonly headers: readonly string[];
  /** How long the server may take to respond. */
  readonly answerMs: number;
  readonly tls: DialTls | undefined;
  /** Called with the connection before it is used, so that the caller can destroy it at any time. */
  readonly opened: (connection: Duplex | ClientRequest) => void;
}

/** `socket` is undefined if the server did not switch protocols; then the response has a body. */
export interface UpgradeAnswer {
  readonly response: IncomingMessage;
  readonly socket: Duplex | undefined;
  /** What the server has already sent in the new protocol. */
  readonly firstBytes: Buffer;
}

/** Rejects with a KubeletError in Go's words if the server cannot be reached or does not answer in time. */
export async function requestUpgrade(request: UpgradeRequest): Promise<UpgradeAnswer> {
  const { answerMs, headers, method, opened, tls, url } = request;
  const connection = await dialUrl(url, tls, opened);
  return await new Promise<UpgradeAnswer>((resolve, reject) => {
    const outgoing = httpRequest({
      method,
      path: `${url.pathname}${url.search}`,
      headers,
      createConnection: () => connection,
    });
    opened(outgoing);
    const timer = setTimeout(
      () => outgoing.destroy(new Error('the server did not respond in time')),
      answerMs,
    );
    const settle = (then: () => void): void => {
      clearTimeout(timer);
      then();
    };
    outgoing.once('close', () => settle(() => reject(sendError(new Error('unexpected EOF'), url))));
    // Permanent: an error after the upgrade must not be uncaught.
    outgoing.on('error', (err) => settle(() => reject(sendError(err, url))));
    outgoing.once('upgrade', (response, socket, firstBytes) =>
      settle(() => {
        opened(socket);
        resolve({ response, socket, firstBytes });
      }),
    );
    outgoing.once('response', (response) =>
      settle(() => resolve({ response, socket: undefined, firstBytes: Buffer.alloc(0) })),
    );
    outgoing.end();
  });
}

function sendError(err: Error, url: URL): KubeletError {
  // Go's message for a server that closes the connection instead of responding.
  const text = codeOf(err) === 'ECONNRESET' ? 'unexpected EOF' : err.message;
  return new KubeletError('unavailable', 'UpgradeFailed', text, { cause: err, details: { host: url.host } });
}

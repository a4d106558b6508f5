// Opens a SPDY connection to the runtime's streaming server for an exec or attach session.
// Upstream: NewSPDYExecutor in client-go/tools/remotecommand, Negotiate in client-go/transport/spdy. Error texts are upstream's.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { isObject } from '../../base/guards.ts';
import { requestUpgrade, type UpgradeAnswer } from './upgrade-request.ts';

export interface DialedCommand {
  readonly socket: Duplex;
  readonly firstBytes: Buffer;
  /** The protocol that the runtime chose. */
  readonly protocol: string;
}

const protocols = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
];
/** Of the text of a rejection. */
const maxRejectionBytes = 64 * 1024;

export async function dialRemoteCommand(request: {
  readonly url: URL;
  readonly answerMs: number;
  readonly opened: (socket: Duplex) => void;
}): Promise<DialedCommand> {
  const { url } = request;
  const answer = await dial(request);
  const { firstBytes, response, socket } = answer;
  if (socket === undefined || !/spdy\/3\.1/i.test(response.headers.upgrade ?? '')) {
    const body = socket === undefined ? await bodyOf(response) : '';
    socket?.destroy();
    throw new Error(`unable to upgrade connection: ${rejectionText(body)}`);
  }
  const chosen = String(response.headers['x-stream-protocol-version'] ?? '').trim();
  if (!protocols.includes(chosen) && chosen !== '') {
    socket.destroy();
    throw new Error(`unable to upgrade connection: ${url.host} chose the unknown protocol ${chosen}`);
  }
  return { socket, firstBytes, protocol: chosen };
}

async function dial({
  answerMs,
  opened,
  url,
}: Parameters<typeof dialRemoteCommand>[0]): Promise<UpgradeAnswer> {
  try {
    return await requestUpgrade({
      url,
      method: 'POST',
      headers: [
        'Host',
        url.host,
        'Content-Length',
        '0',
        'Connection',
        'Upgrade',
        'Upgrade',
        'SPDY/3.1',
        ...protocols.flatMap((each) => ['X-Stream-Protocol-Version', each]),
      ],
      answerMs,
      tls: undefined,
      opened: (connection) => opened(connection as Duplex),
    });
  } catch (err) {
    const why = (err instanceof Error ? err.message : String(err)).replace(/^error dialing backend: /, '');
    throw new Error(`error sending request: Post "${url.href}": ${why}`, { cause: err });
  }
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > maxRejectionBytes) break;
  }
  return Buffer.concat(chunks).toString();
}

function rejectionText(body: string): string {
  try {
    const status: unknown = JSON.parse(body);
    for (const key of ['message', 'error']) {
      const text = isObject(status) ? status[key] : undefined;
      if (typeof text === 'string' && text.trim() !== '') return text.trim();
    }
  } catch {
    // Not a status: the body is the text.
  }
  const text = body.trim();
  return text === '' ? 'empty server response' : text;
}

// The fake runtime's streaming server: serves the URLs that Exec, Attach and PortForward handed out. To a proxy it
// behaves like a real one: it switches to SPDY or WebSocket, and rejects unknown URLs. On a WebSocket the command runs
// and its outputs and status are sent on their channels; on SPDY all bytes are echoed.
// Upstream: kubelet/pkg/cri/streaming, which runtimes use.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { FakeCri } from './fake-cri.ts';
import type { GrantedStream } from './streaming.ts';

const protocols = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', 'channel.k8s.io'];

export interface StreamServer {
  readonly url: string;
  /** The upgrade requests received so far. */
  readonly requests: readonly IncomingMessage[];
  /** The number of open connections. */
  readonly open: number;
  /** Resets all connections, as when the runtime is killed. */
  cut(): void;
  close(): Promise<void>;
}

export async function serveStreams(cri: FakeCri): Promise<StreamServer> {
  const sockets = new Set<Socket>();
  const requests: IncomingMessage[] = [];
  const server = createServer((_request, response) => response.writeHead(404).end('404 page not found\n'));
  const webSockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => protocols.find((each) => offered.has(each)) ?? false,
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  server.on('upgrade', (request, socket: Socket, head) => {
    requests.push(request);
    const granted = cri.streaming.take(request.url ?? '');
    if (granted === undefined) {
      reject404(socket);
    } else if (request.headers.upgrade?.toLowerCase() === 'websocket') {
      webSockets.handleUpgrade(request, socket, head, (client) => void serveChannels(cri, granted, client));
    } else {
      echoSpdy(request, socket, head);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  cri.streaming.base = url;
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    url,
    requests,
    get open() {
      return sockets.size;
    },
    cut,
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

function reject404(socket: Socket): void {
  const body = '404 page not found\n';
  socket.end(`HTTP/1.1 404 Not Found\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}

function echoSpdy(request: IncomingMessage, socket: Socket, head: Buffer): void {
  const offered = String(request.headers['x-stream-protocol-version'] ?? '').split(',');
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
  if (offered[0] !== '') lines.push(`X-Stream-Protocol-Version: ${offered[0]}`);
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  socket.write(head);
  socket.pipe(socket);
}

/** Channels: 0 stdin, 1 stdout, 2 stderr, 3 status, 4 terminal size. */
async function serveChannels(cri: FakeCri, granted: GrantedStream, client: WebSocket): Promise<void> {
  const send = (channel: number, bytes: Uint8Array): void =>
    client.send(Buffer.concat([Buffer.from([channel]), bytes]));
  client.on('error', () => client.terminate());
  // As in the real servers, the first message on each channel is empty.
  for (const channel of [1, 2, 3]) send(channel, new Uint8Array());
  if (granted.what !== 'exec') return;
  const { cmd, containerId } = granted.request;
  const { exitCode, stderr, stdout } = await cri.execSync({ containerId, cmd, timeout: 0n });
  if (stdout.length > 0) send(1, stdout);
  if (stderr.length > 0) send(2, stderr);
  send(3, Buffer.from(JSON.stringify(statusOf(exitCode))));
  client.close();
}

function statusOf(exitCode: number): object {
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  return {
    metadata: {},
    status: 'Failure',
    reason: 'NonZeroExitCode',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

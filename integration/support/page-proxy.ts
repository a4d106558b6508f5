// A reverse proxy in front of the node's page, which can require credentials that expire, and can replace the stream.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export class PageProxy {
  /** With a status, every request is answered with it. */
  rejectWith: number | undefined;
  /** Answers GET /ui/api/stream in the place of the kubelet. */
  stream: ((response: ServerResponse) => void) | undefined;
  /** The paths of all requests since `forget()`. */
  paths: string[] = [];
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  constructor(port: number) {
    this.#port = port;
    this.#server = createServer((incoming, response) => this.#serve(incoming, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/ui/`;
  }

  /** As a proxy that is restarted: clients have to connect again. */
  closeConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.closeConnections();
    await once(this.#server, 'close');
  }

  #serve(incoming: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url = '/', headers } = incoming;
    this.paths.push(url);
    if (this.rejectWith !== undefined) {
      response.writeHead(this.rejectWith, { 'content-type': 'text/plain' }).end('Unauthorized');
      return;
    }
    if (this.stream !== undefined && url.startsWith('/ui/api/stream')) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      this.stream(response);
      return;
    }
    const host = `127.0.0.1:${this.#port}`;
    const forwarded = { ...headers, host, ...(headers.origin !== undefined && { origin: `http://${host}` }) };
    const options = { host: '127.0.0.1', port: this.#port, path: url, method, headers: forwarded };
    const outgoing = request(options, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  }
}

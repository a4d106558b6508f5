// A kubelet's HTTP API on a unix socket, for the commands that show a node: answers by path, and streams that a test breaks.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type Handler = (response: ServerResponse, url: URL, request: IncomingMessage) => void;

export class FakeNodeServer {
  readonly rootDir = mkdtempSync(join(tmpdir(), 'node-api-'));
  readonly socketPath = join(this.rootDir, 'kubelet-api.sock');
  /** By path. A string is the body, a number the status. */
  readonly answers = new Map<string, string | number | Handler>();
  /** The URLs that were requested, with their queries. */
  readonly requests: string[] = [];
  #server: Server | undefined;

  async start(): Promise<void> {
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.listen(this.socketPath);
    await once(this.#server, 'listening');
  }

  /** Breaks every connection, as a kill of the kubelet does. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.rootDir, { recursive: true });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '', 'http://localhost');
    this.requests.push(request.url ?? '');
    const answer = this.answers.get(url.pathname) ?? 404;
    if (typeof answer === 'function') answer(response, url, request);
    else if (typeof answer === 'string') response.end(answer);
    else response.writeHead(answer).end(answer === 404 ? '404 page not found\n' : `rejected with ${answer}`);
  }
}

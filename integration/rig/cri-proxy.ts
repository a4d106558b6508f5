// Stands between a kubelet and its runtime: passes every call on, except those that are to be held for ever,
// failed or delayed. It sees whole requests, so a call can be picked by what is written in it.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createConnection } from 'node:net';

export interface CriFault {
  /** Name of the RPC, such as CreateContainer. */
  readonly method: string;
  /** Only calls whose request contains this text. */
  readonly containing?: string;
  /** hold: no answer ever. fail: the runtime's own kind of failure. delay: the answer comes later. */
  readonly do: 'hold' | 'fail' | 'delay';
  readonly delayMs?: number;
  /** How many calls meet it; all when absent. */
  readonly times?: number;
}

export class CriProxy {
  readonly socket: string;
  /** Names of the RPCs that passed or met a fault, in the order they came. */
  readonly calls: string[] = [];
  readonly #target: string;
  readonly #server: Http2Server;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #faults: { fault: CriFault; left: number }[] = [];
  #client: ClientHttp2Session | undefined;

  constructor(socket: string, target: string) {
    this.socket = socket;
    this.#target = target;
    this.#server = createServer();
    this.#server.on('session', (session) => {
      this.#sessions.add(session);
      session.on('error', () => session.destroy());
      session.on('close', () => this.#sessions.delete(session));
    });
    this.#server.on('stream', (stream, headers) => void this.#take(stream, headers));
  }

  async start(): Promise<void> {
    rmSync(this.socket, { force: true });
    this.#server.listen(this.socket);
    await once(this.#server, 'listening');
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const session of this.#sessions) session.destroy();
    this.#client?.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** From now on calls meet these faults, the first that fits; earlier ones are forgotten. */
  setFaults(...faults: readonly CriFault[]): void {
    this.#faults = faults.map((fault) => ({ fault, left: fault.times ?? Number.POSITIVE_INFINITY }));
  }

  #connection(): ClientHttp2Session {
    if (this.#client === undefined || this.#client.closed || this.#client.destroyed) {
      const client = connect('http://localhost', { createConnection: () => createConnection(this.#target) });
      client.on('error', () => client.destroy());
      this.#client = client;
    }
    return this.#client;
  }

  async #take(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on('error', () => stream.destroy());
    const method = String(headers[':path']).split('/').at(-1) ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    this.calls.push(method);
    const fault = this.#takeFault(method, body);
    if (fault?.do === 'hold') return;
    if (fault?.do === 'fail') return this.#refuse(stream);
    if (fault?.do === 'delay') {
      const timer = setTimeout(() => this.#pass(stream, headers, body), fault.delayMs ?? 1000);
      this.#timers.add(timer);
      return;
    }
    this.#pass(stream, headers, body);
  }

  #takeFault(method: string, body: Buffer): CriFault | undefined {
    const found = this.#faults.find(
      ({ fault, left }) =>
        left > 0 &&
        fault.method === method &&
        (fault.containing === undefined || body.includes(fault.containing)),
    );
    if (found === undefined) return undefined;
    found.left--;
    return found.fault;
  }

  #refuse(stream: ServerHttp2Stream): void {
    stream.respond(
      {
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-status': '13',
        'grpc-message': 'ordered fault',
      },
      { endStream: true },
    );
  }

  #pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: Buffer): void {
    if (stream.destroyed) return;
    const call = this.#connection().request({ ...headers, ':authority': 'localhost' });
    let trailers: IncomingHttpHeaders | undefined;
    call.on('error', () => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
    stream.on('close', () => call.close(constants.NGHTTP2_CANCEL));
    call.on('response', (answer, flags) => {
      if (stream.destroyed) return;
      // An answer of headers alone is how gRPC says no.
      const endStream = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      stream.respond(answer, endStream ? { endStream } : { waitForTrailers: true });
    });
    call.on('trailers', (last) => {
      trailers = last;
    });
    stream.on('wantTrailers', () => stream.sendTrailers(trailers ?? {}));
    call.on('data', (chunk: Buffer) => stream.write(chunk));
    call.on('end', () => stream.end());
    call.end(body);
  }
}

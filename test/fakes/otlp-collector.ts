// An OTLP collector on a real gRPC server: decodes what it receives and injects faults.
// Invariant: close() ends every connection at once, as a killed collector does; open() listens on the same port again.
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';

export interface CollectedSpan {
  readonly resource: Readonly<Record<string, unknown>>;
  readonly scope: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentId: string;
  readonly name: string;
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
  /** The traces that it links to. */
  readonly links: readonly string[];
  /** 0: unset, 2: error. */
  readonly status: number;
  readonly message: string;
}

type Answer = sendUnaryData<Buffer>;
type Call = ServerUnaryCall<CollectedSpan[], Buffer>;

const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

export class OtlpCollector {
  readonly spans: CollectedSpan[] = [];
  /** Of the last request. */
  headers: Readonly<Record<string, unknown>> = {};
  /** Received requests, also those that `respond` fails. */
  requests = 0;
  /** By default accepts every request. */
  respond: (answer: Answer, call: Call) => void = (answer) => answer(null, Buffer.alloc(0));
  readonly #server = new Server({ 'grpc.enable_channelz': 0 });
  readonly #injector = this.#server.createConnectionInjector(ServerCredentials.createInsecure());
  readonly #sockets = new Set<Socket>();
  readonly #everySocket: Socket[] = [];
  #listener: NetServer | undefined;
  #port = 0;

  constructor() {
    const handle = (call: Call, answer: Answer): void => {
      this.requests++;
      this.headers = call.metadata.getMap();
      this.respond((err, value) => {
        if (err === null) this.spans.push(...call.request);
        answer(err, value);
      }, call);
    };
    const asIs = (bytes: Buffer): Buffer => bytes;
    this.#server.register(path, handle, asIs, decodeSpans, 'unary');
  }

  static async start(): Promise<OtlpCollector> {
    const collector = new OtlpCollector();
    await collector.open();
    return collector;
  }

  get endpoint(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Of all connections. */
  get receivedBytes(): number {
    return this.#everySocket.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  }

  /** Listens on a port, or on the socket of this path. */
  async open(socketPath?: string): Promise<void> {
    const listener = createServer((socket) => {
      this.#sockets.add(socket);
      this.#everySocket.push(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      this.#injector.injectConnection(socket);
    });
    this.#listener = listener;
    const where = socketPath === undefined ? { host: '127.0.0.1', port: this.#port } : { path: socketPath };
    await new Promise<void>((resolve, reject) => listener.once('error', reject).listen(where, resolve));
    const address = listener.address();
    if (address !== null && typeof address === 'object') this.#port = address.port;
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    const closed = new Promise((resolve) => listener?.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** The collector cannot be opened again. */
  async end(): Promise<void> {
    if (this.#listener?.listening === true) await this.close();
    this.#injector.destroy();
    this.#server.forceShutdown();
  }

  named(name: string): readonly CollectedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }
}

/** A message's fields by number, in order: varints as numbers, everything else as bytes. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<number, readonly (number | Uint8Array)[]> {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, (number | Uint8Array)[]>();
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    const values = fields.get(number) ?? [];
    fields.set(number, values);
    if (wireType === 0) values.push(Number(reader.int64()));
    else if (wireType === 2) values.push(reader.bytes());
    else reader.skip(wireType);
  }
  return fields;
}

class Message {
  readonly #fields: ReturnType<typeof fieldsOf>;

  constructor(bytes: Uint8Array) {
    this.#fields = fieldsOf(bytes);
  }

  all(number: number): readonly Message[] {
    return (this.#fields.get(number) ?? []).map((value) => new Message(value as Uint8Array));
  }

  bytes(number: number): Buffer {
    const value = this.#fields.get(number)?.at(-1);
    return typeof value === 'object' ? Buffer.from(value) : Buffer.alloc(0);
  }

  text(number: number): string {
    return this.bytes(number).toString();
  }

  hex(number: number): string {
    return this.bytes(number).toString('hex');
  }

  number(number: number): number | undefined {
    const value = this.#fields.get(number)?.at(-1);
    return typeof value === 'number' ? value : undefined;
  }

  /** KeyValues with text, booleans and integers. */
  attributes(number: number): Record<string, unknown> {
    const entries = this.all(number).map((pair) => {
      const [value = new Message(Buffer.alloc(0))] = pair.all(2);
      const bool = value.number(2);
      return [pair.text(1), bool === undefined ? (value.number(3) ?? value.text(1)) : bool === 1] as const;
    });
    return Object.fromEntries(entries);
  }
}

function decodeSpans(bytes: Buffer): CollectedSpan[] {
  return new Message(bytes).all(1).flatMap((resourceSpans) => {
    const resource = resourceSpans.all(1)[0]?.attributes(1) ?? {};
    return resourceSpans.all(2).flatMap((scopeSpans) => {
      const scope = scopeSpans.all(1)[0]?.text(1) ?? '';
      return scopeSpans.all(2).map((span) => {
        const [status] = span.all(15);
        return {
          resource,
          scope,
          traceId: span.hex(1),
          spanId: span.hex(2),
          parentId: span.hex(4),
          name: span.text(5),
          kind: span.number(6) ?? 0,
          attributes: span.attributes(9),
          events: span.all(11).map((event) => event.text(2)),
          links: span.all(13).map((link) => link.hex(1)),
          status: status?.number(3) ?? 0,
          message: status?.text(2) ?? '',
        };
      });
    });
  });
}

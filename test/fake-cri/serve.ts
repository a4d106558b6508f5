// Serves an implementation of the CRI, whole or in part, on a Unix socket, as a container runtime does.
// Invariant: missing methods return UNIMPLEMENTED; close() leaves neither a socket file nor a connection.
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  status,
} from '@grpc/grpc-js';
import {
  ImageServiceDefinition,
  type MessageFns,
  RuntimeServiceDefinition,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import type { CriImages, CriRuntime } from '../../src/api/cri/runtime.ts';
import { describeError, KubeletError } from '../../src/base/errors.ts';

export type CriParts = { readonly [K in keyof (CriRuntime & CriImages)]?: (CriRuntime & CriImages)[K] };

export interface ServedCri {
  readonly endpoint: string;
  /** Stops like a killed runtime: calls in flight end with their connection. */
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly path: string;
  readonly parts: CriParts;
  readonly maxMessageBytes?: number;
}

/** What an implementation learns of a call besides its request. */
export interface ServedCall {
  readonly signal: AbortSignal;
  /** The metadata that the client sent. */
  readonly headers: Readonly<Record<string, unknown>>;
}

type AnyCall = (request: unknown, options: ServedCall) => unknown;

export async function serveCri(options: ServeOptions): Promise<ServedCri> {
  const limit = options.maxMessageBytes ?? 16 * 1024 * 1024;
  const server = new Server({
    'grpc.max_receive_message_length': limit,
    'grpc.max_send_message_length': limit,
    'grpc.enable_channelz': 0,
  });
  for (const service of [RuntimeServiceDefinition, ImageServiceDefinition])
    addService(server, service, options.parts);
  await rm(options.path, { force: true });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  // Not the library's own listener, which drains calls on close; a killed runtime does not.
  const sockets = new Set<Socket>();
  const listener = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    injector.injectConnection(socket);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(options.path, resolve);
  });
  return {
    endpoint: `unix://${options.path}`,
    async close() {
      const closed = new Promise((resolve) => listener.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      injector.destroy();
      server.forceShutdown();
      await rm(options.path, { force: true });
    },
  };
}

function addService(
  server: Server,
  service: typeof RuntimeServiceDefinition | typeof ImageServiceDefinition,
  parts: CriParts,
): void {
  for (const [key, method] of Object.entries(service.methods)) {
    const call = (parts as Record<string, AnyCall | undefined>)[key]?.bind(parts);
    if (call === undefined) continue;
    const request = method.requestType as unknown as MessageFns<unknown>;
    const response = method.responseType as unknown as MessageFns<unknown>;
    server.register(
      `/${service.fullName}/${method.name}`,
      method.responseStream ? streaming(call) : unary(call),
      (value: unknown) => Buffer.from(response.encode(response.fromPartial(value as object)).finish()),
      (bytes: Buffer) => request.decode(bytes),
      method.responseStream ? 'serverStream' : 'unary',
    );
  }
}

function unary(call: AnyCall): handleUnaryCall<unknown, unknown> {
  return (received, answer) => {
    const abort = new AbortController();
    received.on('cancelled', () => abort.abort());
    Promise.resolve()
      .then(() => call(received.request, { signal: abort.signal, headers: received.metadata.getMap() }))
      .then(
        (value) => answer(null, value),
        (err: unknown) => answer(toStatus(err)),
      );
  };
}

function streaming(call: AnyCall): handleServerStreamingCall<unknown, unknown> {
  return (received) => {
    const abort = new AbortController();
    received.on('cancelled', () => abort.abort());
    const pump = async (): Promise<void> => {
      const items = call(received.request, {
        signal: abort.signal,
        headers: received.metadata.getMap(),
      }) as AsyncIterable<unknown>;
      for await (const item of items) received.write(item);
    };
    pump().then(
      () => received.end(),
      (err: unknown) => {
        if (!abort.signal.aborted) received.emit('error', toStatus(err));
      },
    );
  };
}

function toStatus(err: unknown): { code: status; details: string } {
  if (!(err instanceof KubeletError)) return { code: status.UNKNOWN, details: describeError(err) };
  const code = (status as unknown as Record<string, status>)[err.reason];
  return { code: code ?? status.UNKNOWN, details: err.message };
}

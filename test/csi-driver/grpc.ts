// Generated services on Unix sockets with grpc-js, which is deliberately not the kubelet's own gRPC implementation.
import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';

export type Code = keyof typeof status;

/** Ends a call with this status. */
export class CallError extends Error {
  readonly code: Code;

  constructor(code: Code, message: string) {
    super(message);
    this.code = code;
  }
}

/** A response whose bytes are no valid message. */
export class RawBytes {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

interface Codec {
  encode(message: never): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
  fromPartial(object: never): unknown;
}

interface GeneratedMethod {
  readonly name: string;
  readonly requestType: Codec;
  readonly responseType: Codec;
}

interface GeneratedService {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, GeneratedMethod>>;
}

export interface ReceivedCall {
  readonly method: GeneratedMethod;
  readonly request: unknown;
  /** The remaining time that the client grants; undefined without a deadline. */
  readonly timeoutMs: number | undefined;
  /** Resolves when the client gives up; the call continues nevertheless. */
  readonly cancelled: Promise<unknown>;
}

/** Answers every call of a service. A CallError becomes its status, any other error INTERNAL. */
type Answer = (call: ReceivedCall) => Promise<unknown>;

function definitionOf({ fullName, methods }: GeneratedService): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(methods).map(([key, { name, requestType, responseType }]) => [
      key,
      {
        path: `/${fullName}/${name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: (message: unknown) => bytesOf(requestType, message),
        requestDeserialize: (bytes: Buffer) => requestType.decode(bytes),
        responseSerialize: (message: unknown) =>
          message instanceof RawBytes ? message.bytes : bytesOf(responseType, message),
        responseDeserialize: (bytes: Buffer) => responseType.decode(bytes),
      },
    ]),
  );
}

function bytesOf(codec: Codec, message: unknown): Buffer {
  return Buffer.from(codec.encode(codec.fromPartial(message as never) as never).finish());
}

/** The kernel's limit of a socket's path, without the final zero. */
const maxSocketPath = 107;

/** Serves these services on the socket, whose directory is created. Returns the function that stops it. */
export async function serve(
  socket: string,
  services: readonly GeneratedService[],
  answer: Answer,
): Promise<() => void> {
  if (Buffer.byteLength(socket) > maxSocketPath)
    throw new Error(`the path of the socket is longer than ${maxSocketPath} bytes: ${socket}`);
  mkdirSync(dirname(socket), { recursive: true });
  // A killed driver leaves its socket behind, and the name cannot be bound again while it exists.
  rmSync(socket, { force: true });
  const server = new Server({ 'grpc.enable_channelz': 0 });
  for (const service of services) server.addService(definitionOf(service), implement(service, answer));
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (err) =>
      err === null ? resolve() : reject(err),
    ),
  );
  return () => {
    server.forceShutdown();
    rmSync(socket, { force: true });
  };
}

function implement({ methods }: GeneratedService, answer: Answer): UntypedServiceImplementation {
  return Object.fromEntries(
    Object.entries(methods).map(([key, method]) => [
      key,
      (call: ServerUnaryCall<unknown, unknown>, reply: sendUnaryData<unknown>) => {
        const { request } = call;
        const cancelled = new Promise((resolve) => call.once('cancelled', resolve));
        answer({ method, request, timeoutMs: timeoutOf(call.getDeadline()), cancelled }).then(
          (response) => reply(null, response),
          (err: unknown) => reply({ code: status[codeOf(err)], details: messageOf(err) }),
        );
      },
    ]),
  );
}

export function codeOf(err: unknown): Code {
  return err instanceof CallError ? err.code : 'INTERNAL';
}

function messageOf(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}

function timeoutOf(deadline: Date | number): number | undefined {
  const ms = Number(deadline) - Date.now();
  return Number.isFinite(ms) ? ms : undefined;
}

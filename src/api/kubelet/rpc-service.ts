// A gRPC service as a feature implements it: handlers typed by the generated definition. edge/grpc-server serves it.
// Invariant: what a handler throws as RpcFailure reaches the client as it is; any other error is a bug and reported as Internal.
import { goCodeName, type RpcFailureCode } from '../cri/runtime.ts';

/** The status of a failed call. */
export class RpcFailure extends Error {
  override readonly name: string = 'RpcFailure';
  readonly code: RpcFailureCode;

  constructor(code: RpcFailureCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The name that metrics and logs show for the outcome of a call: `OK`, `NotFound`. */
export function rpcOutcomeName(failure: unknown): string {
  if (failure === undefined) return 'OK';
  return (failure instanceof RpcFailure ? goCodeName(failure.code) : undefined) ?? 'Unknown';
}

/** A message that the handler has serialized itself; the message is the concatenation of the pieces. */
export class EncodedMessage {
  readonly pieces: readonly Uint8Array[];

  constructor(pieces: readonly Uint8Array[]) {
    this.pieces = pieces;
  }
}

export interface RpcCall {
  /** Aborted with an RpcFailure if the client cancels, disconnects, or its deadline expires. */
  readonly signal: AbortSignal;
}

interface RpcMethodDefinition {
  readonly name: string;
  readonly requestType: unknown;
  readonly responseType: unknown;
  /** Streams of requests are not supported. */
  readonly requestStream: false;
  readonly responseStream: boolean;
}

interface RpcServiceDefinition {
  /** `v1alpha1.Pods` */
  readonly fullName: string;
  readonly methods: Readonly<Record<string, RpcMethodDefinition>>;
}

type MessageOf<T> = T extends { create(...args: never[]): infer M } ? M : never;

type RpcHandler<M extends RpcMethodDefinition> = M['responseStream'] extends true
  ? (
      request: MessageOf<M['requestType']>,
      call: RpcCall,
    ) => AsyncIterable<MessageOf<M['responseType']> | EncodedMessage>
  : (
      request: MessageOf<M['requestType']>,
      call: RpcCall,
    ) => Promise<MessageOf<M['responseType']> | EncodedMessage>;

export type RpcHandlers<D extends RpcServiceDefinition> = {
  readonly [K in keyof D['methods']]: RpcHandler<D['methods'][K]>;
};

/** A definition with its handlers, the types of the messages erased. */
export interface RpcService {
  readonly definition: RpcServiceDefinition;
  readonly handlers: Readonly<Record<string, unknown>>;
}

export function rpcService<D extends RpcServiceDefinition>(
  definition: D,
  handlers: RpcHandlers<D>,
): RpcService {
  return { definition, handlers };
}

// The methods of the served services by path, with the codecs of their messages. Only this file erases the types of the messages.
import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { EncodedMessage, type RpcCall, RpcFailure, type RpcService } from '../../api/kubelet/rpc-service.ts';

interface MessageCodec {
  encode(message: unknown): BinaryWriter;
  decode(bytes: Uint8Array): unknown;
}

export interface ServedMethod {
  readonly streams: boolean;
  /** Throws an RpcFailure if the bytes are no such message. */
  readonly decode: (bytes: Buffer) => unknown;
  /** The serialized message in pieces. */
  readonly encode: (message: unknown) => readonly Uint8Array[];
  /** Returns a promise of a response, or an async iterable of them if the method streams. */
  readonly handle: (request: unknown, call: RpcCall) => unknown;
}

export class Methods {
  readonly #byPath = new Map<string, ServedMethod>();
  readonly #services = new Set<string>();

  constructor(services: readonly RpcService[]) {
    for (const { definition, handlers } of services) {
      this.#services.add(definition.fullName);
      for (const [key, method] of Object.entries(definition.methods)) {
        const response = method.responseType as MessageCodec;
        this.#byPath.set(`/${definition.fullName}/${method.name}`, {
          streams: method.responseStream,
          decode: decoder(method.requestType as MessageCodec),
          encode: (message) =>
            message instanceof EncodedMessage ? message.pieces : [response.encode(message).finish()],
          handle: handlers[key] as ServedMethod['handle'],
        });
      }
    }
  }

  /** Throws an RpcFailure with grpc-go's message if there is none. */
  find(path: string): ServedMethod {
    const method = this.#byPath.get(path);
    if (method !== undefined) return method;
    const cut = path.lastIndexOf('/');
    if (!path.startsWith('/') || cut < 1)
      throw new RpcFailure('UNIMPLEMENTED', `malformed method name: ${JSON.stringify(path)}`);
    const service = path.slice(1, cut);
    throw new RpcFailure(
      'UNIMPLEMENTED',
      this.#services.has(service)
        ? `unknown method ${path.slice(cut + 1)} for service ${service}`
        : `unknown service ${service}`,
    );
  }
}

function decoder(request: MessageCodec): ServedMethod['decode'] {
  return (bytes) => {
    try {
      return request.decode(bytes);
    } catch (err) {
      const why = err instanceof Error ? err.message : String(err);
      throw new RpcFailure('INTERNAL', `grpc: failed to unmarshal the received message: ${why}`);
    }
  };
}

// An RPC: path on the wire, codecs of its messages, row of the operations table.
// Invariant: built from the generated definition, one per method. Only this file erases the types of the messages.
import type { MessageFns } from '../../api/cri/generated/runtime/v1/api.ts';
import { WireReader } from '../grpc-client/wire-reader.ts';
import type { Operation } from './operations.ts';

export interface Rpc {
  readonly path: string;
  /** Upstream's name: RunPodSandbox. */
  readonly method: string;
  readonly streams: boolean;
  readonly operation: Operation<unknown, unknown>;
  readonly toMessage: (request: unknown) => unknown;
  readonly serialize: (message: unknown) => Uint8Array;
  readonly deserialize: (bytes: Buffer) => unknown;
}

interface ServiceDefinition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

interface MethodDefinition {
  readonly name: string;
  readonly requestType: unknown;
  readonly responseType: unknown;
  readonly responseStream: boolean;
}

export function rpcsOf(
  service: ServiceDefinition,
  operations: Readonly<Record<string, Operation>>,
): ReadonlyMap<string, Rpc> {
  const rpcs = new Map<string, Rpc>();
  for (const [key, method] of Object.entries(service.methods)) {
    const request = method.requestType as MessageFns<unknown>;
    const response = method.responseType as MessageFns<unknown>;
    rpcs.set(key, {
      path: `/${service.fullName}/${method.name}`,
      method: method.name,
      streams: method.responseStream,
      operation: operations[key] as Operation<unknown, unknown>,
      toMessage: (value) => request.fromPartial(value as object),
      serialize: (message) => request.encode(message).finish(),
      deserialize: (bytes) => response.decode(new WireReader(bytes)),
    });
  }
  return rpcs;
}

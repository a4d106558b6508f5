// The two CRI services as features call them. Upstream: staging/src/k8s.io/cri-api.
// Invariant: both types are derived from the generated definitions, so no RPC can be missing or differ from the .proto; an
// implementation (the socket client, the fake) fails to compile when an RPC is added.
import { KubeletError } from '../../base/errors.ts';
import type { ImageServiceDefinition, RuntimeServiceDefinition } from './generated/runtime/v1/api.ts';

export interface CallOptions {
  /** Aborting rejects with the signal's reason and cancels the call at the runtime. */
  readonly signal?: AbortSignal;
  /** Overrides the default deadline of the call. */
  readonly timeoutMs?: number;
  /** Of a unary call: how many bytes of each field of the response are kept. The excess is dropped on arrival. */
  readonly keepBytes?: number;
}

/** A request before defaulting: any part may be absent or undefined, lists may be readonly. */
export type CriRequest<T> = T extends bigint
  ? bigint | number | string
  : T extends Uint8Array
    ? Uint8Array
    : T extends string | number | boolean | undefined
      ? T
      : T extends ReadonlyArray<infer U>
        ? ReadonlyArray<CriRequest<U>>
        : { readonly [K in keyof T]?: CriRequest<T[K]> | undefined };

/** One RPC of a generated service definition. */
interface CriMethod {
  readonly name: string;
  readonly requestType: { fromPartial(object: never): unknown };
  readonly responseType: { fromPartial(object: never): unknown };
  readonly responseStream: boolean;
}

type MessageOf<T> = T extends { create(...args: never[]): infer M } ? M : never;

type CriCall<M extends CriMethod> = M['responseStream'] extends true
  ? (
      request: CriRequest<MessageOf<M['requestType']>>,
      options: CallOptions,
    ) => AsyncIterable<MessageOf<M['responseType']>>
  : (
      request: CriRequest<MessageOf<M['requestType']>>,
      options?: CallOptions,
    ) => Promise<MessageOf<M['responseType']>>;

type CriService<D extends { readonly methods: Readonly<Record<string, CriMethod>> }> = {
  readonly [K in keyof D['methods']]: CriCall<D['methods'][K]>;
};

/** RuntimeService: sandboxes, containers, events, stats. */
export type CriRuntime = CriService<RuntimeServiceDefinition>;

/** ImageService: pull, list, remove. */
export type CriImages = CriService<ImageServiceDefinition>;

export type CriRuntimeMethod = keyof CriRuntime;
export type CriImagesMethod = keyof CriImages;

/** The gRPC status codes from 1 (without OK) in numeric order, with the Go names that users know from error messages. */
const goCodeNames = {
  CANCELLED: 'Canceled',
  UNKNOWN: 'Unknown',
  INVALID_ARGUMENT: 'InvalidArgument',
  DEADLINE_EXCEEDED: 'DeadlineExceeded',
  NOT_FOUND: 'NotFound',
  ALREADY_EXISTS: 'AlreadyExists',
  PERMISSION_DENIED: 'PermissionDenied',
  RESOURCE_EXHAUSTED: 'ResourceExhausted',
  FAILED_PRECONDITION: 'FailedPrecondition',
  ABORTED: 'Aborted',
  OUT_OF_RANGE: 'OutOfRange',
  UNIMPLEMENTED: 'Unimplemented',
  INTERNAL: 'Internal',
  UNAVAILABLE: 'Unavailable',
  DATA_LOSS: 'DataLoss',
  UNAUTHENTICATED: 'Unauthenticated',
} as const;

export type RpcFailureCode = keyof typeof goCodeNames;

/** Indexed by status code - 1. */
export const rpcFailureCodes = Object.keys(goCodeNames) as readonly RpcFailureCode[];

/** Undefined if `code` is not a gRPC status code. */
export function goCodeName(code: string): string | undefined {
  return (goCodeNames as Readonly<Record<string, string>>)[code];
}

/**
 * A runtime's error where upstream prints it in full, for example for failed pulls:
 * `rpc error: code = NotFound desc = …`. The message of any other error is returned unchanged.
 */
export function rpcErrorText(err: KubeletError): string {
  const code = goCodeName(err.reason);
  return code === undefined ? err.message : `rpc error: code = ${code} desc = ${err.message}`;
}

/** Whether the runtime does not implement this RPC: older ones lack container events, metrics and runtime config. */
export function isUnimplemented(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === 'UNIMPLEMENTED';
}

/** As isUnimplemented; containerd 2.2 answers UpdatePodSandboxResources with code Unknown and "not implemented yet". */
export function isNotImplemented(err: unknown): boolean {
  if (isUnimplemented(err)) return true;
  return err instanceof KubeletError && err.reason === 'UNKNOWN' && err.message.includes('not implemented');
}

/** Whether ExecSync failed because the command timed out, not because the runtime failed. */
export function isCommandTimeout(err: unknown): boolean {
  return err instanceof KubeletError && err.kind === 'timeout' && err.details['commandTimedOut'] === true;
}

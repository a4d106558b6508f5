// Makes one CRI call: deadline, abort signal, metrics, KubeletErrors. Upstream: cri-client's remote_runtime.go together
// with kuberuntime's instrumented_services.go.
// Invariants: every call ends exactly once and leaves no listener on the signal; it ends when the signal aborts, the
// deadline passes, the connection is lost or the client is closed, whatever the runtime does.
import { setMaxListeners } from 'node:events';
import { type CallOptions, isUnimplemented } from '../../api/cri/runtime.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { CallRecorder } from '../../base/in-flight-calls.ts';
import { type GrpcRequest, streamCall, unaryCall } from '../grpc-client/grpc-call.ts';
import { GrpcError } from '../grpc-client/grpc-error.ts';
import { fromGrpcError } from '../grpc-client/status-map.ts';
import type { CriConnection } from './connection.ts';
import type { Rpc } from './rpc.ts';

export interface CriObservation {
  /** Upstream's operation_type: run_podsandbox, list_containers, … */
  readonly operation: string;
  readonly seconds: number;
  /** Set for RunPodSandbox. */
  readonly runtimeHandler?: string;
  /** Absent on success and after an abort by the caller, which is not an error. */
  readonly error?: KubeletError;
}

interface CallerDeps {
  readonly connection: CriConnection;
  readonly clock: Clock;
  readonly requestTimeoutMs: () => number;
  readonly observe?: ((observation: CriObservation) => void) | undefined;
  /** Which of the two services this is, and where its calls are listed while they are in flight. */
  readonly inFlight?:
    | { readonly to: 'runtime' | 'images'; readonly calls: CallRecorder | undefined }
    | undefined;
  /** Metadata of the call that is about to be made. */
  readonly headers?: (() => Readonly<Record<string, string>>) | undefined;
}

interface StartedCall {
  readonly rpc: Rpc;
  readonly signal: AbortSignal | undefined;
  readonly message: unknown;
  readonly startMs: number;
  readonly timeoutMs: number;
  readonly keepBytes: number | undefined;
}

export class Caller {
  readonly #deps: CallerDeps;
  readonly #inFlight = new Set<{ cancel(): void }>();

  constructor(deps: CallerDeps) {
    this.#deps = deps;
  }

  /** Cancels every call in flight. */
  cancelAll(): void {
    for (const call of this.#inFlight) call.cancel();
  }

  async unary(rpc: Rpc, request: unknown, options: CallOptions = {}): Promise<unknown> {
    const started = this.#start(rpc, request, options);
    let release = (): void => undefined;
    const recorded = this.#record(started);
    try {
      const bytes = await new Promise<Buffer>((resolve, reject) => {
        const call = unaryCall(this.#deps.connection.session(), this.#request(started), (err, message) =>
          message === undefined ? reject(err) : resolve(message),
        );
        release = this.#track(call, options.signal);
      });
      const response = rpc.deserialize(bytes);
      const fault = rpc.operation.fault?.(response);
      if (fault !== undefined) throw badResponse(rpc, fault);
      this.#observe(started);
      return response;
    } catch (err) {
      throw this.#failure(started, err);
    } finally {
      recorded?.end();
      release();
    }
  }

  async *stream(rpc: Rpc, request: unknown, options: CallOptions = {}): AsyncGenerator {
    const started = this.#start(rpc, request, options);
    const call = streamCall(this.#deps.connection.session(), this.#request(started));
    const release = this.#track(call, options.signal);
    // A stream without a deadline stays open by design.
    const recorded = Number.isFinite(started.timeoutMs) ? this.#record(started) : undefined;
    let failure: { readonly err: unknown } | undefined;
    try {
      for await (const bytes of call.messages()) yield rpc.deserialize(bytes);
    } catch (err) {
      failure = { err };
    } finally {
      call.cancel();
      recorded?.end();
      release();
      if (failure === undefined) this.#observe(started);
    }
    if (failure !== undefined) throw this.#failure(started, failure.err);
  }

  #start(rpc: Rpc, request: unknown, options: CallOptions): StartedCall {
    options.signal?.throwIfAborted();
    if (this.#deps.connection.closed) throw closedError(rpc);
    const message = toMessage(rpc, request);
    const { clock } = this.#deps;
    const requestTimeoutMs = this.#deps.requestTimeoutMs();
    const timeoutMs =
      options.timeoutMs ?? rpc.operation.timeoutMs?.(message, requestTimeoutMs) ?? requestTimeoutMs;
    const { keepBytes, signal } = options;
    return { rpc, signal, message, startMs: clock.monotonic(), timeoutMs, keepBytes };
  }

  #request({ keepBytes, message, rpc, timeoutMs }: StartedCall): GrpcRequest {
    const { clock, headers } = this.#deps;
    const serialized = rpc.serialize(message);
    return { path: rpc.path, message: serialized, timeoutMs, clock, keepBytes, headers: headers?.() };
  }

  #record({ rpc, timeoutMs }: StartedCall): { end(): void } | undefined {
    const { inFlight } = this.#deps;
    return inFlight?.calls?.begin(inFlight.to, rpc.method, timeoutMs);
  }

  /** Cancels the call when its signal aborts or the client closes. Returns the function that undoes this. */
  #track(call: { cancel(): void }, signal: AbortSignal | undefined): () => void {
    const onAbort = (): void => call.cancel();
    this.#inFlight.add(call);
    // One signal may cancel any number of calls: this many listeners are not a leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    signal?.addEventListener('abort', onAbort, { once: true });
    return () => {
      this.#inFlight.delete(call);
      signal?.removeEventListener('abort', onAbort);
    };
  }

  #observe(started: StartedCall, error?: KubeletError): void {
    const seconds = (this.#deps.clock.monotonic() - started.startMs) / 1000;
    const { handler, name: operation } = started.rpc.operation;
    this.#deps.observe?.({
      operation,
      seconds,
      ...(handler === undefined ? {} : { runtimeHandler: handler(started.message) }),
      ...(error === undefined ? {} : { error }),
    });
  }

  #failure(started: StartedCall, err: unknown): unknown {
    if (started.signal?.aborted) {
      this.#observe(started);
      return started.signal.reason;
    }
    const error = this.#translate(started, err);
    // The unary call that follows is the operation.
    if (!(started.rpc.operation.hasFallback && isUnimplemented(error))) this.#observe(started, error);
    return error;
  }

  #translate(started: StartedCall, err: unknown): KubeletError {
    const { rpc } = started;
    if (err instanceof KubeletError) return err;
    if (this.#deps.connection.closed) return closedError(rpc);
    if (!(err instanceof GrpcError)) {
      return new KubeletError('internal', 'INTERNAL', describeError(err), {
        cause: err,
        details: { method: rpc.method },
      });
    }
    if (err.code !== 'DEADLINE_EXCEEDED' || rpc.method !== 'ExecSync')
      return fromGrpcError(err, 'runtime', rpc.method);
    // A DEADLINE_EXCEEDED that the runtime sent is about the command; a hung runtime sends nothing.
    return fromGrpcError(err, 'runtime', rpc.method, { commandTimedOut: err.fromServer });
  }
}

function toMessage(rpc: Rpc, request: unknown): unknown {
  try {
    return rpc.toMessage(request);
  } catch (cause) {
    const message = `invalid ${rpc.method} request: ${describeError(cause)}`;
    throw new KubeletError('invalid', 'InvalidRequest', message, { cause, details: { method: rpc.method } });
  }
}

function badResponse(rpc: Rpc, fault: string): KubeletError {
  const message = `invalid ${rpc.method} response from the runtime: ${fault}`;
  return new KubeletError('internal', 'InvalidResponse', message, { details: { method: rpc.method } });
}

function closedError(rpc: Rpc): KubeletError {
  return new KubeletError('unavailable', 'Closed', 'the connection to the runtime was closed', {
    details: { method: rpc.method },
  });
}

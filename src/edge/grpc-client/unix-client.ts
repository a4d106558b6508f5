// A gRPC client on one connection to a unix socket, for the sockets of plugins.
// Invariants: a lost connection stays lost, since only a new registration proves that the plugin is back; every unary call has
// a deadline, every response a limit; errors are KubeletErrors, or the reason of the caller's signal.
// Upstream: grpc.DialContext with WithBlock, as the plugin manager and the device manager use it.
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { setDeadline } from '../../base/abort/set-deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import type { CallRecorder } from '../../base/in-flight-calls.ts';
import { type GrpcRequest, streamCall, unaryCall } from './grpc-call.ts';
import { GrpcError } from './grpc-error.ts';
import { fromGrpcError } from './status-map.ts';
import { WireReader } from './wire-reader.ts';

/** grpc-go's default. */
const responseBytes = 4 * 1024 * 1024;
/** In units of a million bytes, Node's unit. */
const sessionMemory = 32;
/** The kernel's limit, without the terminating zero; Node would truncate a longer path. */
const longestPathBytes = 107;

interface UnixClientOptions {
  readonly path: string;
  /** Names the other end in errors: `plugin`. */
  readonly server: string;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Lists the unary calls in flight. */
  readonly calls?: CallRecorder | undefined;
}

interface Method<Request, Streams extends boolean> {
  readonly name: string;
  readonly requestType: { encode(message: Request): BinaryWriter };
  readonly responseStream: Streams;
}

interface UnaryMethod<Request, Response> extends Method<Request, false> {
  readonly responseType: { decode(reader: BinaryReader): Response };
}

interface Service {
  readonly fullName: string;
}

interface CallLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Default: 4 MiB. */
  readonly responseBytes?: number;
}

/** Resolves once the other end has proved that it speaks HTTP/2. */
export function connectUnix(
  options: UnixClientOptions & { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<UnixClient> {
  const { clock, path, server, signal, timeoutMs } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    if (Buffer.byteLength(path) > longestPathBytes || path.includes('\0')) {
      reject(new KubeletError('invalid', 'InvalidEndpoint', 'invalid path of a unix socket'));
      return;
    }
    const session = openSession(path);
    const end = (): void => {
      deadline.cancel();
      signal.removeEventListener('abort', onAbort);
      session.off('close', onClose);
    };
    const fail = (err: unknown): void => {
      end();
      session.destroy();
      reject(err);
    };
    let fault: unknown;
    const unavailable = (text: string): KubeletError =>
      new KubeletError('unavailable', 'UNAVAILABLE', `${server} is not reachable: ${text}`);
    const onAbort = (): void => fail(signal.reason);
    const onClose = (): void =>
      fail(unavailable(fault === undefined ? 'the connection was closed' : describeError(fault)));
    const deadline = setDeadline(clock, timeoutMs, () =>
      fail(new KubeletError('timeout', 'DEADLINE_EXCEEDED', 'context deadline exceeded')),
    );
    signal.addEventListener('abort', onAbort, { once: true });
    // For the lifetime of the session: without a listener a lost connection would throw. The calls report it.
    session.on('error', (err) => {
      fault = err;
    });
    session.once('close', onClose);
    session.once('remoteSettings', () => {
      end();
      resolve(new UnixClient(session, options));
    });
  });
}

function openSession(path: string): ClientHttp2Session {
  return connectHttp2('http://localhost', {
    createConnection: () => connect(path),
    settings: { enablePush: false },
    maxSessionMemory: sessionMemory,
  });
}

export class UnixClient {
  readonly #session: ClientHttp2Session;
  readonly #options: UnixClientOptions;

  constructor(session: ClientHttp2Session, options: UnixClientOptions) {
    this.#session = session;
    this.#options = options;
  }

  async unary<Request, Response>(
    service: Service,
    method: UnaryMethod<Request, Response>,
    request: Request,
    limits: CallLimits,
  ): Promise<Response> {
    const { signal } = limits;
    signal.throwIfAborted();
    let stopListening = (): void => undefined;
    const { calls, path } = this.#options;
    const recorded = calls?.begin('plugin', `${method.name} ${path}`, limits.timeoutMs);
    try {
      const bytes = await new Promise<Buffer>((resolve, reject) => {
        const call = unaryCall(
          this.#session,
          this.#request(service, method, request, limits),
          (err, message) => (message === undefined ? reject(err) : resolve(message)),
        );
        stopListening = onAbort(signal, () => call.cancel());
      });
      return method.responseType.decode(new WireReader(bytes));
    } catch (err) {
      throw this.#translate(err, method.name, signal);
    } finally {
      recorded?.end();
      stopListening();
    }
  }

  /** The messages as bytes, so that a large one can be decoded in parts. Ends with the stream; `timeoutMs` may be Infinity. */
  async *stream<Request>(
    service: Service,
    method: Method<Request, true>,
    request: Request,
    limits: CallLimits,
  ): AsyncGenerator<Buffer> {
    const { signal } = limits;
    signal.throwIfAborted();
    let stop = (): void => undefined;
    try {
      const call = streamCall(this.#session, this.#request(service, method, request, limits));
      const stopListening = onAbort(signal, () => call.cancel());
      stop = () => {
        stopListening();
        call.cancel();
      };
      yield* call.messages();
    } catch (err) {
      throw this.#translate(err, method.name, signal);
    } finally {
      stop();
    }
  }

  /** Ends every call in flight. */
  close(): void {
    this.#session.destroy();
  }

  #request<Request>(
    service: Service,
    method: Method<Request, boolean>,
    request: Request,
    limits: CallLimits,
  ): GrpcRequest {
    return {
      path: `/${service.fullName}/${method.name}`,
      message: method.requestType.encode(request).finish(),
      timeoutMs: limits.timeoutMs,
      clock: this.#options.clock,
      maxResponseBytes: limits.responseBytes ?? responseBytes,
    };
  }

  #translate(err: unknown, method: string, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    const { server } = this.#options;
    if (err instanceof GrpcError) return fromGrpcError(err, server, method);
    if (this.#session.destroyed || this.#session.closed)
      return fromGrpcError(new GrpcError('UNAVAILABLE', 'the connection was closed'), server, method);
    const text = `cannot parse the response of the ${server}: ${describeError(err)}`;
    return new KubeletError('internal', 'INTERNAL', text, { cause: err, details: { method } });
  }
}

function onAbort(signal: AbortSignal, listener: () => void): () => void {
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

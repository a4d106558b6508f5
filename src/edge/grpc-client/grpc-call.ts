// One gRPC call on an HTTP/2 session, unary or server-streaming. Reference: "gRPC over HTTP2" of the gRPC project.
// Invariants: a call ends exactly once, at the latest with its session; a cancelled call resets its stream on the server; no
// timer or listener is left behind. Why not a library: docs/decisions/0007-grpc-on-http2.md.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { setDeadline } from '../../base/abort/set-deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { fromHttpStatus, fromReset, fromTrailers, GrpcError } from './grpc-error.ts';
import { FrameReader, frame } from './grpc-frames.ts';
import { TruncatingFrameReader } from './truncating-frames.ts';

export interface GrpcRequest {
  /** `/runtime.v1.RuntimeService/Version` */
  readonly path: string;
  readonly message: Uint8Array;
  /** Infinity: no deadline. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Truncates each field of the response to this length; absent: not truncated. */
  readonly keepBytes?: number | undefined;
  /** The longest message of a response; absent: 16 MiB. */
  readonly maxResponseBytes?: number | undefined;
  readonly userAgent?: string;
  /** Further metadata. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

interface GrpcCall {
  /** Ends the call as CANCELLED. No effect after its end. */
  cancel(): void;
}

const cancelled = new GrpcError('CANCELLED', 'Call cancelled');

/** Calls back once: with the response, or with a GrpcError. */
export function unaryCall(
  session: ClientHttp2Session,
  request: GrpcRequest,
  onEnd: (err: unknown, message?: Buffer) => void,
): GrpcCall {
  const stream = open(session, request);
  const { keepBytes, maxResponseBytes } = request;
  const frames =
    keepBytes === undefined ? new FrameReader(maxResponseBytes) : new TruncatingFrameReader(keepBytes);
  const messages: Buffer[] = [];
  let hasEnded = false;
  const end = (err: unknown): void => {
    if (hasEnded) return;
    hasEnded = true;
    deadline?.cancel();
    stream.off('data', onData);
    const [message] = messages;
    const fault = err ?? (message === undefined || !frames.isWhole ? noMessage() : undefined);
    if (fault === undefined) onEnd(undefined, message);
    else onEnd(fault);
  };
  const onData = (chunk: Buffer): void => {
    try {
      if (outcome.isGrpc) messages.push(...frames.push(chunk));
      if (messages.length > 1) stop(new GrpcError('INTERNAL', 'the response has more than one message'));
    } catch (err) {
      stop(err);
    }
  };
  const stop = (err: unknown): void => {
    end(err);
    resetStream(stream);
  };
  const outcome = watchOutcome(stream, session);
  stream.on('data', onData);
  // Trailers precede the end, if there are any.
  stream.once('end', () => {
    if (outcome.status !== undefined) end(outcome.result());
  });
  stream.once('close', () => end(outcome.result()));
  const deadline = deadlineOf(request, stop);
  return { cancel: () => stop(cancelled) };
}

interface GrpcStream extends GrpcCall {
  /** Ends with the server's last message, or throws a GrpcError. Must be read once. */
  messages(): AsyncGenerator<Buffer>;
}

export function streamCall(session: ClientHttp2Session, request: GrpcRequest): GrpcStream {
  const stream = open(session, request);
  const outcome = watchOutcome(stream, session);
  let ownError: GrpcError | undefined;
  const stop = (err: GrpcError): void => {
    ownError ??= err;
    resetStream(stream);
    stream.destroy();
  };
  const deadline = deadlineOf(request, stop);
  async function* messages(): AsyncGenerator<Buffer> {
    const frames = new FrameReader(request.maxResponseBytes);
    try {
      for await (const chunk of stream) if (outcome.isGrpc) yield* frames.push(chunk as Buffer);
    } catch (err) {
      if (err instanceof GrpcError) throw err;
      // Any other error is in the outcome.
    } finally {
      deadline?.cancel();
      resetStream(stream);
    }
    const fault = ownError ?? outcome.result();
    if (fault !== undefined) throw fault;
  }
  return { messages, cancel: () => stop(cancelled) };
}

function open(
  session: ClientHttp2Session,
  { headers, path, message, timeoutMs, userAgent }: GrpcRequest,
): ClientHttp2Stream {
  const framed = frame(message);
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    te: 'trailers',
    'content-type': 'application/grpc',
    'user-agent': userAgent ?? 'kubelet-ts',
    ...(timeoutMs === Number.POSITIVE_INFINITY ? {} : { 'grpc-timeout': timeoutText(timeoutMs) }),
    ...headers,
  });
  // Without a listener a lost session would throw; the stream's close reports the error.
  stream.on('error', () => undefined);
  stream.end(framed);
  return stream;
}

interface Outcome {
  /** grpc-status, once received. */
  status: string | undefined;
  /** False once the response turned out not to be gRPC. */
  isGrpc: boolean;
  /** How the call ended; to be read after the end of the stream. Undefined for success. */
  result(): GrpcError | undefined;
}

function watchOutcome(stream: ClientHttp2Stream, session: ClientHttp2Session): Outcome {
  let message: string | undefined;
  let httpStatus = 200;
  let streamError: Error | undefined;
  const readStatus = (headers: IncomingHttpHeaders): void => {
    outcome.status = firstOf(headers['grpc-status']);
    message = firstOf(headers['grpc-message']);
  };
  const outcome: Outcome = {
    status: undefined,
    isGrpc: true,
    result: () => {
      if (outcome.status !== undefined) return fromTrailers(outcome.status, message);
      if (!outcome.isGrpc) return fromHttpStatus(httpStatus);
      if (session.destroyed || session.closed || (streamError !== undefined && stream.rstCode === 0))
        return new GrpcError('UNAVAILABLE', streamError?.message ?? 'the connection was closed');
      return stream.rstCode === 0
        ? new GrpcError('INTERNAL', 'the response ended without a status')
        : fromReset(stream.rstCode);
    },
  };
  stream.once('response', (headers) => {
    httpStatus = headers[':status'] ?? httpStatus;
    outcome.isGrpc = httpStatus === 200;
    readStatus(headers);
  });
  stream.once('trailers', readStatus);
  stream.once('error', (err) => {
    // For a call that waited for the connection, Node wraps the cause.
    streamError = err.cause instanceof Error ? err.cause : err;
  });
  return outcome;
}

function deadlineOf({ clock, timeoutMs }: GrpcRequest, end: (err: GrpcError) => void) {
  if (timeoutMs === Number.POSITIVE_INFINITY) return undefined;
  return setDeadline(clock, timeoutMs, () => end(new GrpcError('DEADLINE_EXCEEDED', 'Deadline exceeded')));
}

/** The first of a repeated header. */
function firstOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** grpc-timeout: at most eight digits and a unit. */
function timeoutText(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  return whole < 1e8 ? `${whole}m` : `${Math.min(Math.ceil(ms / 1_000), 99_999_999)}S`;
}

function resetStream(stream: ClientHttp2Stream): void {
  if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
}

function noMessage(): GrpcError {
  return new GrpcError('INTERNAL', 'the response has no message');
}

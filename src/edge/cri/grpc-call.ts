// One gRPC call on an HTTP/2 session, unary or answered by a stream. Reference: "gRPC over HTTP2" of the gRPC project.
// Invariants: a call ends exactly once, and with the session it runs on; given up, the server is told; no timer or listener is
// left behind. See docs/decisions/0007-grpc-on-http2.md.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { setDeadline } from '../../base/abort/set-deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { CutFrameReader } from './cut-frames.ts';
import { fromHttpStatus, fromReset, fromTrailers, GrpcError } from './grpc-error.ts';
import { FrameReader, frame } from './grpc-frames.ts';

export interface GrpcRequest {
  /** `/runtime.v1.RuntimeService/Version` */
  readonly path: string;
  readonly message: Uint8Array;
  /** Infinity: it may take as long as it likes. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** How much of each field of the answer is kept; all of it without. */
  readonly keepBytes?: number | undefined;
  readonly userAgent?: string;
}

interface GrpcCall {
  /** Ends it as CANCELLED. Without effect when it has ended. */
  cancel(): void;
}

const cancelled = new GrpcError('CANCELLED', 'Call cancelled');

/** Calls back once: with the answer, or with a GrpcError. */
export function unaryCall(
  session: ClientHttp2Session,
  request: GrpcRequest,
  onEnd: (err: unknown, message?: Buffer) => void,
): GrpcCall {
  const stream = open(session, request);
  const frames = request.keepBytes === undefined ? new FrameReader() : new CutFrameReader(request.keepBytes);
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
      if (messages.length > 1) stop(new GrpcError('INTERNAL', 'the answer has more than one message'));
    } catch (err) {
      stop(err);
    }
  };
  const stop = (err: unknown): void => {
    end(err);
    giveUp(stream);
  };
  const outcome = watch(stream, session);
  stream.on('data', onData);
  // Its trailers have come by then, unless there were none.
  stream.once('end', () => {
    if (outcome.status !== undefined) end(outcome.result());
  });
  stream.once('close', () => end(outcome.result()));
  const deadline = deadlineOf(request, stop);
  return { cancel: () => stop(cancelled) };
}

interface GrpcStream extends GrpcCall {
  /** Ends with a GrpcError, or when the server has said all. To be read once. */
  messages(): AsyncGenerator<Buffer>;
}

export function streamCall(session: ClientHttp2Session, request: GrpcRequest): GrpcStream {
  const stream = open(session, request);
  const outcome = watch(stream, session);
  let own: GrpcError | undefined;
  const stop = (err: GrpcError): void => {
    own ??= err;
    giveUp(stream);
    stream.destroy();
  };
  const deadline = deadlineOf(request, stop);
  async function* messages(): AsyncGenerator<Buffer> {
    const frames = new FrameReader();
    try {
      for await (const chunk of stream) if (outcome.isGrpc) yield* frames.push(chunk as Buffer);
    } catch (err) {
      if (err instanceof GrpcError) throw err;
      // What ended it otherwise is told by its outcome.
    } finally {
      deadline?.cancel();
      giveUp(stream);
    }
    const fault = own ?? outcome.result();
    if (fault !== undefined) throw fault;
  }
  return { messages, cancel: () => stop(cancelled) };
}

function open(
  session: ClientHttp2Session,
  { path, message, timeoutMs, userAgent }: GrpcRequest,
): ClientHttp2Stream {
  const framed = frame(message);
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    te: 'trailers',
    'content-type': 'application/grpc',
    'user-agent': userAgent ?? 'kubelet-ts',
    ...(timeoutMs === Number.POSITIVE_INFINITY ? {} : { 'grpc-timeout': timeoutText(timeoutMs) }),
  });
  // Always heard, or a session that breaks would end the process; told by the stream's close.
  stream.on('error', () => undefined);
  stream.end(framed);
  return stream;
}

interface Outcome {
  /** Of gRPC, as soon as it is known. */
  status: string | undefined;
  /** Whether the server answers in gRPC at all; undecided is yes. */
  isGrpc: boolean;
  /** What the call came to, now that nothing more comes. Undefined for success. */
  result(): GrpcError | undefined;
}

function watch(stream: ClientHttp2Stream, session: ClientHttp2Session): Outcome {
  let message: string | undefined;
  let httpStatus = 200;
  let broken: Error | undefined;
  const note = (headers: IncomingHttpHeaders): void => {
    outcome.status = one(headers['grpc-status']);
    message = one(headers['grpc-message']);
  };
  const outcome: Outcome = {
    status: undefined,
    isGrpc: true,
    result: () => {
      if (outcome.status !== undefined) return fromTrailers(outcome.status, message);
      if (!outcome.isGrpc) return fromHttpStatus(httpStatus);
      if (session.destroyed || session.closed || (broken !== undefined && stream.rstCode === 0))
        return new GrpcError('UNAVAILABLE', broken?.message ?? 'the connection was closed');
      return stream.rstCode === 0
        ? new GrpcError('INTERNAL', 'the answer ended without a status')
        : fromReset(stream.rstCode);
    },
  };
  stream.once('response', (headers) => {
    httpStatus = headers[':status'] ?? httpStatus;
    outcome.isGrpc = httpStatus === 200;
    note(headers);
  });
  stream.once('trailers', note);
  stream.once('error', (err) => {
    // A call that waited for the connection is told of it in words of Node's around the cause.
    broken = err.cause instanceof Error ? err.cause : err;
  });
  return outcome;
}

function deadlineOf({ clock, timeoutMs }: GrpcRequest, end: (err: GrpcError) => void) {
  if (timeoutMs === Number.POSITIVE_INFINITY) return undefined;
  return setDeadline(clock, timeoutMs, () => end(new GrpcError('DEADLINE_EXCEEDED', 'Deadline exceeded')));
}

/** Given twice, the first counts. */
function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** At most eight digits and a unit. */
function timeoutText(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  return whole < 1e8 ? `${whole}m` : `${Math.min(Math.ceil(ms / 1_000), 99_999_999)}S`;
}

function giveUp(stream: ClientHttp2Stream): void {
  if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
}

function noMessage(): GrpcError {
  return new GrpcError('INTERNAL', 'the answer has no message');
}

// One call, unary or server-streaming, from its headers to its status. Reference: "gRPC over HTTP2" of the gRPC project.
// Invariants: a call ends exactly once; a message is written only after the client has made room for the one before it; after the
// end no timer or listener of the call is left.
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { type RpcCall, RpcFailure } from '../../api/kubelet/rpc-service.ts';
import { setDeadline } from '../../base/abort/set-deadline.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import { headerBytes } from '../grpc-client/grpc-frames.ts';
import { checkEncoding, responseHead, statusHeaders, timeoutOf } from './call-head.ts';
import type { GrpcLimits } from './limits.ts';
import type { Methods, ServedMethod } from './methods.ts';
import { RequestMessage } from './request-message.ts';

export interface ServeCallDeps {
  readonly methods: Methods;
  readonly limits: GrpcLimits;
  readonly clock: Pick<Clock, 'setTimer'>;
  /** Called with what a handler throws besides RpcFailures. */
  readonly onError: (err: unknown, path: string) => void;
}

/** Smaller pieces are copied into one buffer of this size, since each write costs a frame. */
const batchBytes = 16 * 1024;
/** What the length of a frame can express. */
const longestMessage = 2 ** 32 - 1;

export class ServedCall implements RpcCall {
  readonly #deps: ServeCallDeps;
  readonly #stream: ServerHttp2Stream;
  readonly #path: string;
  /** Created on demand, since most unary handlers need none. */
  #abort: AbortController | undefined;
  #aborted: RpcFailure | undefined;
  #streams = false;
  #ended = false;
  #deadline: Timer | undefined;

  constructor(deps: ServeCallDeps, stream: ServerHttp2Stream, path: string) {
    this.#deps = deps;
    this.#stream = stream;
    this.#path = path;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#aborted !== undefined) this.#abort.abort(this.#aborted);
    }
    return this.#abort.signal;
  }

  /** Whether the call may last as long as the client wants. */
  get streams(): boolean {
    return this.#streams;
  }

  begin(headers: IncomingHttpHeaders): void {
    const { clock, limits, methods } = this.#deps;
    this.#stream.once('close', () => this.#closed());
    try {
      const method = methods.find(this.#path);
      this.#streams = method.streams;
      checkEncoding(headers);
      const timeoutMs = timeoutOf(headers);
      if (timeoutMs !== Number.POSITIVE_INFINITY)
        this.#deadline = setDeadline(clock, timeoutMs, () =>
          this.fail(new RpcFailure('DEADLINE_EXCEEDED', 'context deadline exceeded')),
        );
      this.#receive(method, new RequestMessage(limits.requestBytes));
    } catch (err) {
      this.#end(this.#failureOf(err));
    }
  }

  /** Ends the call from outside its handler, whose signal is aborted. No effect after its end. */
  fail(failure: RpcFailure): void {
    if (this.#ended) return;
    this.#end(failure);
    this.#cancel(failure);
  }

  #cancel(failure: RpcFailure): void {
    this.#aborted = failure;
    this.#abort?.abort(failure);
  }

  #receive(method: ServedMethod, message: RequestMessage): void {
    const stream = this.#stream;
    const { clock, limits } = this.#deps;
    const late = clock.setTimer(limits.requestMs, () =>
      this.fail(new RpcFailure('DEADLINE_EXCEEDED', 'the request did not arrive in time')),
    );
    stream.once('close', () => late.cancel());
    const onData = (chunk: Buffer): void => {
      try {
        message.push(chunk);
      } catch (err) {
        stream.off('data', onData);
        stream.resume();
        this.#end(this.#failureOf(err));
      }
    };
    stream.on('data', onData);
    stream.once('end', () => {
      late.cancel();
      // #run never rejects.
      if (!this.#ended) void this.#run(method, message);
    });
  }

  async #run(method: ServedMethod, message: RequestMessage): Promise<void> {
    try {
      const answer = method.handle(method.decode(message.take()), this);
      if (method.streams) {
        for await (const each of answer as AsyncIterable<unknown>) {
          if (this.#ended) return;
          const room = this.#send(method.encode(each));
          if (room !== undefined) await room;
        }
      } else {
        const response = await answer;
        if (!this.#ended) await this.#send(method.encode(response));
      }
      this.#end(undefined);
    } catch (err) {
      if (!this.#ended) this.#end(this.#failureOf(err));
    }
  }

  #failureOf(err: unknown): RpcFailure {
    if (err instanceof RpcFailure) return err;
    this.#deps.onError(err, this.#path);
    return new RpcFailure('INTERNAL', describeError(err));
  }

  /** Resolves when the next message may be written, or the call has ended; undefined: at once. */
  #send(pieces: readonly Uint8Array[]): Promise<void> | undefined {
    let length = 0;
    for (const piece of pieces) length += piece.length;
    if (length > longestMessage)
      throw new RpcFailure('RESOURCE_EXHAUSTED', `message too large (${length} bytes)`);
    const stream = this.#stream;
    if (!stream.headersSent) stream.respond(responseHead, { waitForTrailers: true });
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32BE(length, 1);
    const framed = [header, ...pieces];
    if (headerBytes + length > batchBytes) return this.#sendInBatches(framed);
    return stream.write(Buffer.concat(framed, headerBytes + length)) ? undefined : this.#drained();
  }

  async #sendInBatches(pieces: readonly Uint8Array[]): Promise<void> {
    for (const chunk of batches(pieces)) {
      if (this.#ended || this.#stream.destroyed) return;
      if (!this.#stream.write(chunk)) await this.#drained();
    }
  }

  #drained(): Promise<void> {
    const stream = this.#stream;
    const { clock, limits } = this.#deps;
    return new Promise((resolve) => {
      const settle = (): void => {
        stalled.cancel();
        stream.off('drain', settle);
        stream.off('close', settle);
        this.signal.removeEventListener('abort', settle);
        resolve();
      };
      const stalled = clock.setTimer(limits.stalledMs, () => {
        this.fail(new RpcFailure('RESOURCE_EXHAUSTED', 'the client does not read'));
        stream.close(constants.NGHTTP2_CANCEL);
      });
      stream.on('drain', settle);
      stream.on('close', settle);
      this.signal.addEventListener('abort', settle);
    });
  }

  #end(failure: RpcFailure | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#deadline?.cancel();
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const trailers = statusHeaders(failure);
    if (stream.headersSent) {
      stream.once('wantTrailers', () => stream.sendTrailers(trailers));
      stream.end();
    } else stream.respond({ ...responseHead, ...trailers }, { endStream: true });
    // The rest of the request is of no interest.
    if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
    this.#linger();
  }

  /** Gives the client some time to read the rest of the response. A stream on a broken connection may never close by itself. */
  #linger(): void {
    const { clock, limits } = this.#deps;
    const timer = clock.setTimer(limits.stalledMs, () => this.#stream.destroy());
    this.#stream.once('close', () => timer.cancel());
  }

  #closed(): void {
    this.#deadline?.cancel();
    if (this.#ended) return;
    this.#ended = true;
    this.#cancel(new RpcFailure('CANCELLED', 'context canceled'));
  }
}

/** The same bytes with small neighbours joined. */
function* batches(pieces: readonly Uint8Array[]): Generator<Uint8Array> {
  let small: Uint8Array[] = [];
  let smallBytes = 0;
  for (const piece of pieces) {
    if (smallBytes + piece.length <= batchBytes) {
      small.push(piece);
      smallBytes += piece.length;
      continue;
    }
    if (smallBytes > 0) yield Buffer.concat(small, smallBytes);
    const isLarge = piece.length > batchBytes;
    small = isLarge ? [] : [piece];
    smallBytes = isLarge ? 0 : piece.length;
    if (isLarge) yield piece;
  }
  if (smallBytes > 0) yield Buffer.concat(small, smallBytes);
}

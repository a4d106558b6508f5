// One HTTP/2 connection to the socket of a CSI driver, and the calls on it.
// Invariants: it connects once and stays lost when it was lost; while no call is in flight it does not keep the process alive,
// and it closes after some idle time; a call ends exactly once, at the latest at its deadline.
// Why not grpc-client/unix-client.ts: the caller must know whether the connection is lost before it sends a request, and the
// system error of one that failed. Upstream: newGrpcConn in pkg/volume/csi/csi_client.go.
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { describeError } from '../../base/errors.ts';
import { type GrpcRequest, unaryCall } from '../grpc-client/grpc-call.ts';
import { fromReset, GrpcError } from '../grpc-client/grpc-error.ts';
import {
  type CsiFault,
  closingFault,
  connectionError,
  deadlineFault,
  dialDeadlineFault,
  dialFault,
  errnoText,
} from './csi-fault.ts';
import { watchForStop } from './stuck-session.ts';

export type CsiReply = { readonly bytes: Buffer } | { readonly fault: CsiFault };

interface CsiConnectionOptions {
  readonly path: string;
  /** Of the socket, as inspectSocket() reports it. */
  readonly identity: string;
  readonly idleMs: number;
}

/** Measured: the end of the socket, its close and the end of the session take three. */
const turnsToSettle = 4;
/** In units of a million bytes, Node's unit. Responses have at most 32 KiB. */
const sessionMemory = 32;

/** The library does not report which. */
const stuckText =
  'the HTTP/2 connection failed: a response has a header that is too large, or is no valid HTTP/2';
/** grpc-call.ts: a connection that ended without an error. */
const closedText = 'the connection was closed';
const resetPrefix = 'Received RST_STREAM with code ';
/** HTTP/2 guarantees that a refused stream was not processed; a connection that shuts down refuses new ones. */
const refused = fromReset(constants.NGHTTP2_REFUSED_STREAM).message;

export class CsiConnection {
  readonly identity: string;
  readonly #path: string;
  readonly #idleMs: number;
  readonly #session: ClientHttp2Session;
  #calls = 0;
  #isConnected = false;
  /** The other end has proved that it speaks HTTP/2. */
  #isReady = false;
  #isClosing = false;
  /** While a call is in flight. */
  #stopWatching: (() => void) | undefined;
  #cause: Error | undefined;

  /** Connects at once; calls may be sent before that has succeeded. */
  constructor({ path, identity, idleMs }: CsiConnectionOptions) {
    this.identity = identity;
    this.#path = path;
    this.#idleMs = idleMs;
    this.#session = connectHttp2('http://localhost', {
      createConnection: () => this.#connect(),
      settings: { enablePush: false },
      maxSessionMemory: sessionMemory,
    });
    // For the lifetime of the session: without a listener a lost connection would throw. The calls report it.
    this.#session.on('error', (err) => {
      this.#cause ??= err;
    });
    this.#session.once('remoteSettings', () => {
      this.#isReady = true;
    });
    this.#session.on('timeout', () => {
      if (this.#calls === 0) this.retire();
    });
    this.#rest();
  }

  /** No further call can be sent: it broke, either end closes it, or it was idle. */
  get isLost(): boolean {
    return this.#session.destroyed || this.#session.closed;
  }

  /** It has no call in flight any longer either. */
  get isEnded(): boolean {
    return this.#session.destroyed;
  }

  /** Resolves when an end of the connection that has arrived is noticed: Node runs other work before it reads sockets. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < turnsToSettle && !this.isLost; turn++)
      await new Promise((resolve) => setImmediate(resolve));
  }

  /** Rejects with the signal's reason only. */
  async call(request: GrpcRequest, signal: AbortSignal): Promise<CsiReply> {
    signal.throwIfAborted();
    let stopListening = (): void => undefined;
    this.#begin();
    try {
      const bytes = await new Promise<Buffer>((resolve, reject) => {
        const call = unaryCall(this.#session, request, (err, message) =>
          message === undefined ? reject(err) : resolve(message),
        );
        const onAbort = (): void => call.cancel();
        signal.addEventListener('abort', onAbort, { once: true });
        stopListening = () => signal.removeEventListener('abort', onAbort);
      });
      return { bytes };
    } catch (err) {
      signal.throwIfAborted();
      return { fault: this.#faultOf(err) };
    } finally {
      stopListening();
      this.#end();
    }
  }

  /** Closes once the calls in flight have ended. */
  retire(): void {
    if (!this.#session.destroyed) this.#session.close();
  }

  /** Ends the calls in flight. */
  close(): void {
    this.#isClosing = true;
    this.#session.destroy();
  }

  #connect(): Socket {
    const socket = connect(this.#path);
    socket.once('connect', () => {
      this.#isConnected = true;
    });
    // Precedes the errors of the session and its streams.
    socket.on('error', (err) => {
      this.#cause ??= err;
    });
    return socket;
  }

  #begin(): void {
    this.#calls += 1;
    if (this.#calls > 1 || this.#session.destroyed) return;
    this.#session.setTimeout(0);
    this.#session.ref();
    this.#stopWatching ??= watchForStop(this.#session, () => this.#break(stuckText));
  }

  #end(): void {
    this.#calls -= 1;
    if (this.#calls > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    this.#rest();
  }

  #break(why: string): void {
    this.#cause ??= new Error(why);
    this.#session.destroy();
  }

  /** The session's own timer, since timers of the clock keep the process alive. */
  #rest(): void {
    if (this.#session.destroyed) return;
    this.#session.setTimeout(this.#idleMs);
    this.#session.unref();
  }

  #faultOf(err: unknown): CsiFault {
    if (this.#isClosing) return closingFault;
    if (!(err instanceof GrpcError)) {
      // The session took no further request.
      const text = connectionError(describeError(err));
      return { code: 'UNAVAILABLE', text, isVerdict: false, isUnprocessed: true };
    }
    const { code, fromServer, message } = err;
    if (fromServer) {
      const isReset = message.startsWith(resetPrefix);
      return { code, text: message, isVerdict: !isReset, isUnprocessed: message === refused };
    }
    if (code === 'DEADLINE_EXCEEDED') return this.#deadlineFault();
    if (code === 'UNAVAILABLE') return this.#lossFault(message);
    return { code, text: message, isVerdict: false };
  }

  #deadlineFault(): CsiFault {
    // The process behind it may have been replaced, or not serve this connection any longer: the next call dials again.
    this.retire();
    return this.#isReady ? deadlineFault : dialDeadlineFault;
  }

  #lossFault(message: string): CsiFault {
    const cause = this.#cause;
    if (!this.#isConnected && cause !== undefined) return dialFault(this.#path, errnoText(cause));
    const code = 'UNAVAILABLE';
    const why = this.#lossText(message);
    if (this.#isReady) return { code, text: `error reading from server: ${why}`, isVerdict: false };
    return { code, text: connectionError(`error reading server preface: ${why}`), isVerdict: false };
  }

  #lossText(message: string): string {
    const cause = this.#cause;
    // Errors of the session itself follow those of its calls.
    if (cause === undefined) return message === closedText ? 'EOF' : message;
    if (!('syscall' in cause)) return cause.message;
    const operation = String(cause.syscall);
    return `${operation} unix @->${this.#path}: ${operation}: ${errnoText(cause)}`;
  }
}

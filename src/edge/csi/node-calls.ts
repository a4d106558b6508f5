// One call of a driver's node service: deadline, connection, metric, error.
// Invariants: the deadline covers the connection; a request is sent again only if the driver has certainly not begun with it;
// every call is observed once, and every error but the reason of the caller's signal has an outcome.
// Upstream: RecordMetricsInterceptor in pkg/volume/csi/csi_metrics.go.
import { setMaxListeners } from 'node:events';
import type { BinaryWriter } from '@bufbuild/protobuf/wire';
import { goCodeName } from '../../api/cri/runtime.ts';
import type { CsiFailureDetails } from '../../api/ports/csi.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isKind, KubeletError } from '../../base/errors.ts';
import type { CallRecorder } from '../../base/in-flight-calls.ts';
import type { CsiConnection, CsiReply } from './csi-connection.ts';
import type { CsiDialled, CsiEndpoint } from './csi-endpoint.ts';
import { type CsiFault, csiError, dialDeadlineFault } from './csi-fault.ts';
import { maskSecrets, secretsOf } from './mask-secrets.ts';
import { type ReadResponse, responseBytes } from './read-responses.ts';

export interface CsiObservation {
  readonly driver: string;
  /** `/csi.v1.Node/NodeStageVolume` */
  readonly method: string;
  /** `OK`, `NotFound`, …; `unknown-non-grpc` for an error without one. */
  readonly code: string;
  readonly migrated: boolean;
  readonly seconds: number;
}

interface NodeCallsOptions {
  readonly driver: string;
  readonly endpoint: CsiEndpoint;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly observe: (observation: CsiObservation) => void;
  readonly calls?: CallRecorder | undefined;
}

export interface CsiCaller {
  readonly signal: AbortSignal;
  readonly migrated: boolean;
}

interface NodeMethod<Request> {
  readonly name: string;
  readonly requestType: { encode(message: Request): BinaryWriter };
}

interface NodeCall<Request, T> {
  readonly method: NodeMethod<Request>;
  readonly request: Request;
  readonly read: ReadResponse<T>;
  /** Default: 16 KiB. */
  readonly limitBytes?: number;
}

interface Started extends CsiCaller {
  readonly path: string;
  readonly startMs: number;
  readonly endMs: number;
}

export class NodeCalls {
  readonly #options: NodeCallsOptions;

  constructor(options: NodeCallsOptions) {
    this.#options = options;
  }

  unary<Request extends object, T>(call: NodeCall<Request, T>, caller: CsiCaller): Promise<T> {
    return this.#observed(call.method.name, caller, async (started) => {
      const message = encode(call);
      const reply = await this.#send(started, message, call.limitBytes ?? responseBytes);
      const result = 'fault' in reply ? reply : readReply(call.read, reply.bytes);
      if ('fault' in result) throw csiError(result.fault, started.path, secretsOf(call.request));
      return { response: result.response, isCall: true };
    });
  }

  /** The connection that a call would use now. Only a failure is observed, as a call of `method`. */
  connection(method: { readonly name: string }, caller: CsiCaller): Promise<CsiConnection> {
    return this.#observed(method.name, caller, async (started) => {
      const dialled = await this.#dial(started);
      if ('fault' in dialled) throw csiError(dialled.fault, started.path, []);
      return { response: dialled.connection, isCall: false };
    });
  }

  async #observed<T>(
    method: string,
    caller: CsiCaller,
    work: (started: Started) => Promise<{ readonly response: T; readonly isCall: boolean }>,
  ): Promise<T> {
    const { signal } = caller;
    signal.throwIfAborted();
    // One signal may cancel any number of calls: this many listeners are not a leak.
    setMaxListeners(0, signal);
    const startMs = this.#options.clock.monotonic();
    const path = `/csi.v1.Node/${method}`;
    const started = { ...caller, path, startMs, endMs: startMs + this.#options.timeoutMs };
    const { calls, driver, timeoutMs } = this.#options;
    const recorded = calls?.begin('csi', `${method} ${driver}`, timeoutMs);
    const done = await work(started)
      .catch((err: unknown) => {
        this.#observe(started, codeOf(err, signal));
        throw err;
      })
      .finally(() => recorded?.end());
    if (done.isCall) this.#observe(started, 'OK');
    return done.response;
  }

  #observe({ path, migrated, startMs }: Started, code: string): void {
    const { clock, driver, observe } = this.#options;
    observe({ driver, method: path, code, migrated, seconds: (clock.monotonic() - startMs) / 1_000 });
  }

  async #send(started: Started, message: Uint8Array, maxResponseBytes: number): Promise<CsiReply> {
    const { clock } = this.#options;
    for (let isRepeated = false; ; isRepeated = true) {
      const dialled = await this.#dial(started);
      if ('fault' in dialled) return dialled;
      const timeoutMs = started.endMs - clock.monotonic();
      const request = { path: started.path, message, timeoutMs, clock, maxResponseBytes };
      const reply = await dialled.connection.call(request, started.signal);
      if ('bytes' in reply || reply.fault.isUnprocessed !== true || isRepeated) return reply;
      dialled.connection.retire();
    }
  }

  async #dial({ endMs, signal }: Started): Promise<CsiDialled> {
    const { clock, endpoint } = this.#options;
    const ready = endpoint.ready();
    await ready?.settle();
    if (ready?.isLost === false) return { connection: ready };
    const ms = endMs - clock.monotonic();
    try {
      return await withDeadline({ clock, ms, signal, what: 'dial the driver' }, () => endpoint.dial());
    } catch {
      signal.throwIfAborted();
      return { fault: dialDeadlineFault };
    }
  }
}

function encode<Request extends object>({ method, request }: NodeCall<Request, unknown>): Uint8Array {
  try {
    return method.requestType.encode(request).finish();
  } catch (err) {
    const why = maskSecrets(describeError(err), secretsOf(request));
    const details: CsiFailureDetails = { csiOutcome: 'uncertain' };
    const text = `invalid ${method.name} request: ${why}`;
    throw new KubeletError('invalid', 'InvalidRequest', text, { details: { ...details } });
  }
}

function readReply<T>(
  read: ReadResponse<T>,
  bytes: Buffer,
): { readonly response: T } | { readonly fault: CsiFault } {
  try {
    return { response: read(bytes) };
  } catch (err) {
    const text = `grpc: failed to unmarshal the received message: ${describeError(err)}`;
    return { fault: { code: 'INTERNAL', text, isVerdict: false } };
  }
}

function codeOf(err: unknown, signal: AbortSignal): string {
  if (signal.aborted && err === signal.reason)
    return isKind(err, 'timeout') ? 'DeadlineExceeded' : 'Canceled';
  return (err instanceof KubeletError ? goCodeName(err.reason) : undefined) ?? 'unknown-non-grpc';
}

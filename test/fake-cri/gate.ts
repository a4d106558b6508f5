// The gate that every call of the fake runtime passes: faults, deadline, abort signal, record.
// Invariants: a call settles exactly once; when its caller aborts or the runtime stops, its pending work is aborted
// too, and work that has not begun never begins.
import { setMaxListeners } from 'node:events';
import type { CallOptions } from '../../src/api/cri/runtime.ts';
import type { Clock, Timer } from '../../src/base/clock.ts';
import { KubeletError } from '../../src/base/errors.ts';
import type { CriMethodName, Faults } from './faults.ts';
import { rpcError, unavailable } from './rpc-error.ts';

/** A mutating call with its request and outcome. */
export interface CallRecord {
  /** Upstream's name: RunPodSandbox. */
  readonly method: string;
  readonly request: unknown;
  readonly atMs: number;
  /** Absent while the call is in flight. */
  tookMs?: number;
  response?: unknown;
  error?: unknown;
}

interface GateCall {
  readonly method: CriMethodName;
  readonly name: string;
  readonly request: unknown;
  readonly mutates: boolean;
  readonly timeoutMs: number;
  readonly options: CallOptions;
}

export class Gate {
  readonly calls: CallRecord[] = [];
  readonly #clock: Clock;
  readonly #faults: () => Faults;
  readonly #cuts = new Set<(err: KubeletError) => void>();
  #down = false;

  constructor(clock: Clock, faults: () => Faults) {
    this.#clock = clock;
    this.#faults = faults;
  }

  get isDown(): boolean {
    return this.#down;
  }

  goDown(): void {
    this.#down = true;
    for (const cut of this.#cuts) cut(unavailable());
  }

  comeUp(): void {
    this.#down = false;
  }

  /** Calls `cut` with the error when the runtime stops. Returns the function that unsubscribes. */
  whenDown(cut: (err: KubeletError) => void): () => void {
    this.#cuts.add(cut);
    return () => this.#cuts.delete(cut);
  }

  async pass<T>(call: GateCall, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
    call.options.signal?.throwIfAborted();
    const record: CallRecord = { method: call.name, request: call.request, atMs: this.#clock.now() };
    if (call.mutates) this.calls.push(record);
    try {
      record.response = await this.#bounded(call, (signal) => this.#work(call, act, signal));
      return record.response as T;
    } catch (err) {
      record.error = err;
      throw err;
    } finally {
      record.tookMs = this.#clock.now() - record.atMs;
    }
  }

  async #work<T>(call: GateCall, act: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const faults = this.#faults();
    // A call takes at least one turn of the event loop, as on a socket.
    await Promise.resolve();
    if (this.#down) throw unavailable();
    await faults.apply(call.method, call.request, 'before');
    signal.throwIfAborted();
    const latencyMs = faults.latencyOf(call.method);
    if (latencyMs > 0) await this.#clock.sleep(latencyMs, signal);
    const result = await act(signal).catch((err: unknown) => Promise.reject(withMethod(err, call.name)));
    await faults.apply(call.method, call.request, 'after');
    return result;
  }

  /** Races the work against the caller's signal, the deadline and a stop of the runtime. */
  async #bounded<T>(call: GateCall, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const given = new AbortController();
    let timer: Timer | undefined;
    let giveUp: (reason: unknown) => void = () => undefined;
    const ended = new Promise<never>((_resolve, reject) => {
      giveUp = (reason) => {
        reject(reason);
        given.abort(reason);
      };
    });
    const { signal } = call.options;
    const onAbort = (): void => giveUp(signal?.reason);
    if (signal !== undefined) setMaxListeners(0, signal);
    signal?.addEventListener('abort', onAbort, { once: true });
    const release = this.whenDown(giveUp);
    if (call.timeoutMs < Number.POSITIVE_INFINITY) {
      timer = this.#clock.setTimer(call.timeoutMs, () => giveUp(deadlineError(call)));
    }
    try {
      return await Promise.race([work(given.signal), ended]);
    } finally {
      timer?.cancel();
      release();
      signal?.removeEventListener('abort', onAbort);
    }
  }
}

function deadlineError(call: GateCall): KubeletError {
  const details = { method: call.name, ...(call.method === 'execSync' ? { commandTimedOut: false } : {}) };
  return rpcError('DEADLINE_EXCEEDED', `Deadline exceeded after ${call.timeoutMs / 1000}s`, details);
}

/** Adds the method to the error, as the client does. */
function withMethod(err: unknown, method: string): unknown {
  if (!(err instanceof KubeletError)) return err;
  return new KubeletError(err.kind, err.reason, err.message, { details: { method, ...err.details } });
}

// Probes a server over the gRPC health protocol, v1. Upstream: pkg/probe/grpc. As there, every error is a failure of the server.
// Invariants: settles by its timeout with the connection closed; the server may be hostile, so a connection carries a bounded
// number of bytes and compressed messages are not decompressed.

import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { rpcErrorText } from '../../api/cri/runtime.ts';
import { formatDurationMs } from '../../api/k8s/duration.ts';
import { kubernetesMinor } from '../../api/k8s/release.ts';
import type { GrpcProbeRequest, ProbeAnswer } from '../../api/ports/probe-requests.ts';
import { setDeadline } from '../../base/abort/set-deadline.ts';
import { realClock } from '../../base/clock.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { unaryCall } from '../grpc-client/grpc-call.ts';
import { GrpcError } from '../grpc-client/grpc-error.ts';
import { BoundedConnection } from './bounded-connection.ts';
import { joinHostPort } from './go-error.ts';

const path = '/grpc.health.v1.Health/Check';
const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;
const userAgent = `kube-probe/${kubernetesMinor}`;
/** differs from upstream: there a message alone may have 4 MiB. An answer has some hundred bytes. */
const totalBytes = 256 * 1024;
/** The reconnection backoff of gRPC clients. */
const firstRetryMs = 1_000;
const retryFactor = 1.6;

export async function grpcProbe(request: GrpcProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
  signal.throwIfAborted();
  const attempt = new Attempt(request);
  let onAbort = (): void => undefined;
  const ended = new Promise<ProbeAnswer>((resolve, reject) => {
    onAbort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    attempt.start(resolve);
  });
  try {
    return await ended;
  } finally {
    signal.removeEventListener('abort', onAbort);
    attempt.close();
  }
}

/** One probe: connects until a server speaks HTTP/2, then calls it. */
class Attempt {
  readonly #request: GrpcProbeRequest;
  readonly #address: string;
  readonly #within: string;
  #session: ClientHttp2Session | undefined;
  #isReady = false;
  #timers: { cancel(): void }[] = [];
  #retryMs = firstRetryMs;

  constructor(request: GrpcProbeRequest) {
    this.#request = request;
    this.#address = joinHostPort(request.host, request.port);
    this.#within = formatDurationMs(request.timeoutMs);
  }

  start(end: (answer: ProbeAnswer) => void): void {
    const deadline = setDeadline(realClock, this.#request.timeoutMs, () => end(this.#timedOut()));
    this.#timers.push(deadline);
    this.#connect(end);
  }

  /** Later events are ignored. */
  close(): void {
    for (const timer of this.#timers.splice(0)) timer.cancel();
    const session = this.#session;
    this.#session = undefined;
    session?.destroy();
  }

  #connect(end: (answer: ProbeAnswer) => void): void {
    const { host, port } = this.#request;
    const session = connectHttp2(`http://${this.#address}`, {
      createConnection: () => new BoundedConnection({ host, port, totalBytes }),
      settings: { enablePush: false },
    });
    this.#session = session;
    let fault: unknown;
    // The server speaks HTTP/2.
    session.once('remoteSettings', () => {
      this.#isReady = true;
      this.#call(session, () => fault, end);
    });
    session.on('error', (err) => {
      fault = err;
    });
    session.once('close', () => {
      if (this.#session !== session || this.#isReady) return;
      this.#timers.push(realClock.setTimer(this.#retryMs, () => this.#connect(end)));
      this.#retryMs *= retryFactor;
    });
  }

  #call(session: ClientHttp2Session, fault: () => unknown, end: (answer: ProbeAnswer) => void): void {
    if (session.destroyed || session.closed) {
      end(callFailed(new GrpcError('UNAVAILABLE', connectionText(fault()))));
      return;
    }
    const message = encodeRequest(this.#request.service);
    // The deadline is the probe's own, so that it covers the connection, too.
    const call = { path, message, timeoutMs: this.#request.timeoutMs, clock: noTimer, userAgent };
    unaryCall(session, call, (err, answer) => {
      if (err === undefined && answer !== undefined) end(judge(answer));
      else if (err instanceof GrpcError && err.code === 'UNAVAILABLE' && !err.fromServer)
        end(callFailed(new GrpcError(err.code, connectionText(fault() ?? err))));
      else end(callFailed(err));
    });
  }

  #timedOut(): ProbeAnswer {
    const output = this.#isReady
      ? `timeout: health rpc did not complete within ${this.#within}`
      : `timeout: failed to connect service ${JSON.stringify(this.#address)} within ${this.#within}: context deadline exceeded`;
    return { result: 'failure', output, timedOut: true };
  }
}

const noTimer = { setTimer: () => ({ cancel: () => undefined }) };

function connectionText(err: unknown): string {
  return err === undefined ? 'the connection was closed' : describeError(err);
}

function judge(answer: Uint8Array): ProbeAnswer {
  let serving: number;
  try {
    serving = decodeResponse(answer);
  } catch (err) {
    return callFailed(new GrpcError('INTERNAL', `cannot parse the answer: ${describeError(err)}`));
  }
  const word = servingStatuses[serving] ?? String(serving);
  return word === 'SERVING'
    ? { result: 'success', output: 'service healthy' }
    : { result: 'failure', output: `service unhealthy (responded with ${JSON.stringify(word)})` };
}

function callFailed(err: unknown): ProbeAnswer {
  const { code, message } = err instanceof GrpcError ? err : new GrpcError('UNKNOWN', describeError(err));
  const output =
    code === 'UNIMPLEMENTED'
      ? `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${message}`
      : `error: health rpc probe failed: ${rpcErrorText(new KubeletError('internal', code, message))}`;
  return { result: 'failure', output: output.slice(0, outputLimit) };
}

/** Status messages come from the server. */
const outputLimit = 10 * 1024;

/** HealthCheckRequest: `string service = 1`. */
function encodeRequest(service: string): Buffer {
  const writer = new BinaryWriter();
  if (service !== '') writer.uint32(10).string(service);
  return Buffer.from(writer.finish());
}

/** HealthCheckResponse: `ServingStatus status = 1`; unknown fields are skipped. */
export function decodeResponse(bytes: Uint8Array): number {
  const reader = new BinaryReader(bytes);
  let serving = 0;
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1 && wireType === 0) serving = reader.int32();
    else reader.skip(wireType, field);
  }
  return serving;
}

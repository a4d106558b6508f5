// Asks a server by the gRPC health protocol, v1. Upstream: pkg/probe/grpc. Invariant: by its timeout it has settled, and the
// connection is gone. As there, whatever goes wrong is a failure of the server's.
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { rpcErrorText } from '../../api/cri.ts';
import { formatDurationMs } from '../../api/duration.ts';
import type { GrpcProbeRequest, ProbeAnswer } from '../../api/probe-requests.ts';
import { KubeletError } from '../../base/errors.ts';
import { raceAbort } from '../../base/race-abort.ts';
import { joinHostPort } from './go-error.ts';

const check = '/grpc.health.v1.Health/Check';
const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

const channelOptions = {
  'grpc.primary_user_agent': 'kube-probe/1.34',
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  // A connection of its own, as every probe has.
  'grpc.use_local_subchannel_pool': 1,
};

export async function grpcProbe(request: GrpcProbeRequest, signal: AbortSignal): Promise<ProbeAnswer> {
  const { host, port, service, timeoutMs } = request;
  signal.throwIfAborted();
  const address = joinHostPort(host, port);
  const family = host.includes(':') ? 'ipv6' : 'ipv4';
  const client = new Client(`${family}:${address}`, credentials.createInsecure(), channelOptions);
  try {
    return await raceAbort(connectAndAsk(client, address, service, timeoutMs), signal);
  } finally {
    client.close();
  }
}

async function connectAndAsk(
  client: Client,
  address: string,
  service: string,
  timeoutMs: number,
): Promise<ProbeAnswer> {
  const deadline = new Date(Date.now() + timeoutMs);
  const within = formatDurationMs(timeoutMs);
  if (!(await ready(client, deadline))) {
    const where = JSON.stringify(address);
    return failure(`timeout: failed to connect service ${where} within ${within}: context deadline exceeded`);
  }
  const answer = await ask(client, service, deadline);
  if (typeof answer !== 'number') return failure(errorText(answer, within));
  const word = servingStatuses[answer] ?? String(answer);
  return word === 'SERVING'
    ? { result: 'success', output: 'service healthy' }
    : failure(`service unhealthy (responded with ${JSON.stringify(word)})`);
}

function failure(output: string): ProbeAnswer {
  return { result: 'failure', output };
}

function ready(client: Client, deadline: Date): Promise<boolean> {
  return new Promise((resolve) => client.waitForReady(deadline, (err) => resolve(err === undefined)));
}

function ask(client: Client, service: string, deadline: Date): Promise<number | ServiceError> {
  return new Promise((resolve) => {
    client.makeUnaryRequest(check, encodeRequest, decodeResponse, service, { deadline }, (err, serving) =>
      resolve(err ?? serving ?? 0),
    );
  });
}

/** HealthCheckRequest: `string service = 1`. */
function encodeRequest(service: string): Buffer {
  const writer = new BinaryWriter();
  if (service !== '') writer.uint32(10).string(service);
  return Buffer.from(writer.finish());
}

/** HealthCheckResponse: `ServingStatus status = 1`; what is not known is passed over. */
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

function errorText(err: ServiceError, within: string): string {
  if (err.code === status.UNIMPLEMENTED) {
    return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${err.details}`;
  }
  if (err.code === status.DEADLINE_EXCEEDED) return `timeout: health rpc did not complete within ${within}`;
  const reason = status[err.code] ?? 'UNKNOWN';
  return `error: health rpc probe failed: ${rpcErrorText(new KubeletError('internal', reason, err.details))}`;
}

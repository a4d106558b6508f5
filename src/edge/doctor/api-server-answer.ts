// Asks the API server for its version, with the credentials of the kubelet. One request, nothing is written.
import type { ClusterAccess } from '../../api/ports/cluster-access.ts';
import type { Clock } from '../../base/clock.ts';
import { isObject } from '../../base/guards.ts';
import type { Logger } from '../../base/log/log.ts';
import { HttpTransport } from '../apiserver/http-transport.ts';
import { filesOf, untilAnswers } from './answering-file.ts';

interface ApiServerAnswer {
  readonly status: number;
  readonly version: string | undefined;
  readonly dateMs: number | undefined;
  readonly nowMs: number;
  readonly roundTripMs: number;
}

interface AskDeps {
  readonly access: ClusterAccess;
  readonly clock: Clock;
  readonly log: Logger;
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

const longestBody = 64 * 1024;

export async function askApiServer({
  access,
  clock,
  log,
  signal,
  userAgent,
}: AskDeps): Promise<ApiServerAnswer> {
  // The transport reads them.
  await Promise.all(filesOf(access).map((file) => untilAnswers(file, signal)));
  const transport = new HttpTransport({
    access,
    authority: { enabled: false },
    clock,
    log,
    env: process.env,
  });
  try {
    const startMs = clock.monotonic();
    const headers = { accept: 'application/json', 'user-agent': userAgent };
    const response = await transport.send({ method: 'GET', path: '/version', headers, signal });
    const roundTripMs = clock.monotonic() - startMs;
    const endMs = clock.now();
    const text = await bodyOf(response.body);
    const dateMs = Date.parse(response.headers['date'] ?? '');
    return {
      status: response.status,
      version: response.status === 200 ? versionOf(text) : undefined,
      dateMs: Number.isNaN(dateMs) ? undefined : dateMs,
      nowMs: endMs - roundTripMs / 2,
      roundTripMs,
    };
  } finally {
    transport.closeConnections();
  }
}

async function bodyOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > longestBody) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function versionOf(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const version = isObject(value) ? value['gitVersion'] : undefined;
    return typeof version === 'string' ? version : undefined;
  } catch {
    return undefined;
  }
}

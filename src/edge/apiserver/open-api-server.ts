// Builds the client and reflector for the API server of a kubeconfig, with the rate limits of the configuration.
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ApiClient, Follow } from '../../api/ports/api-client.ts';
import type { ClusterAccess } from '../../api/ports/cluster-access.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { CallRecorder } from '../../base/in-flight-calls.ts';
import type { Logger } from '../../base/log/log.ts';
import { TokenBucket } from '../../base/rate-limit.ts';
import type { Tracer } from '../../base/tracer.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { type ApiClientObserver, ApiServerClient } from './client.ts';
import { HttpTransport } from './http-transport.ts';
import { parseKubeconfig } from './kubeconfig.ts';
import { reflector } from './reflector.ts';
import { TracedTransport } from './traced-transport.ts';

interface ApiServerOptions {
  readonly access: ClusterAccess;
  readonly clock: Clock;
  readonly log: Logger;
  readonly userAgent: string;
  /** Read for each request, as is the timeout. 0: unlimited. */
  readonly limits: { readonly requests: Rate; readonly events: Rate };
  readonly heartbeatTimeoutMs: number;
  readonly observer?: ApiClientObserver;
  readonly gates: ClientGates;
  readonly calls?: CallRecorder | undefined;
  /** Each request becomes a span. */
  readonly tracer?: Tracer | undefined;
}

interface Rate {
  readonly qps: number;
  readonly burst: number;
}

/** client-go's feature gates. */
interface ClientGates {
  readonly ClientsAllowCARotation: boolean;
  readonly WatchListClient: boolean;
}

export interface ApiServer {
  readonly client: ApiClient;
  readonly follow: Follow;
  /** Announced after every new connection. */
  readonly connected: Subscribable<void>;
  close(): void;
}

/** The API server's own request timeout (--request-timeout). */
const requestTimeoutMs = 60_000;

export async function readKubeconfig(path: string): Promise<ClusterAccess> {
  try {
    return parseKubeconfig(await readFile(path, 'utf8'), dirname(resolve(path)));
  } catch (cause) {
    if (cause instanceof KubeletError) throw cause;
    const kind = errorCode(cause) === 'ENOENT' ? 'not-found' : 'invalid';
    throw new KubeletError(kind, 'InvalidKubeconfig', `cannot read the kubeconfig ${path}`, { cause });
  }
}

/**
 * Per kind of review. differs from upstream: there reviews count against kubeAPIQPS, so that a client that sends invalid
 * tokens delays the node's own requests.
 */
const reviewLimit = { qps: 20, burst: 40 };
const reviewTimeoutMs = 10_000;

export function openApiServer(options: ApiServerOptions): ApiServer {
  const { access, calls, clock, gates, limits, log, observer, tracer, userAgent } = options;
  const transport = new HttpTransport({
    access,
    authority: {
      enabled: gates.ClientsAllowCARotation,
      count: (result, reason) => observer?.reloadedAuthority?.(result, reason),
    },
    clock,
    log,
    env: process.env,
  });
  const stopListening = access.live?.changed.subscribe(() => {
    transport.renew().catch((err: unknown) => log.error('Failed to use the new client certificate', { err }));
  });
  const limiter = (rate: () => Rate): TokenBucket =>
    new TokenBucket({
      clock,
      get qps() {
        return rate().qps;
      },
      get burst() {
        return rate().burst;
      },
    });
  const client = new ApiServerClient({
    transport: tracer === undefined ? transport : new TracedTransport(transport, access.server, tracer),
    clock,
    log,
    calls,
    userAgent,
    limiters: {
      requests: limiter(() => limits.requests),
      events: limiter(() => limits.events),
      'token-reviews': new TokenBucket({ clock, ...reviewLimit }),
      'access-reviews': new TokenBucket({ clock, ...reviewLimit }),
    },
    timeoutMs: {
      requests: requestTimeoutMs,
      events: requestTimeoutMs,
      get heartbeats() {
        return options.heartbeatTimeoutMs;
      },
      'token-reviews': reviewTimeoutMs,
      'access-reviews': reviewTimeoutMs,
    },
    ...(observer === undefined ? {} : { observer }),
  });
  return {
    client,
    connected: transport.connected,
    follow: reflector({ client, clock, log, watchLists: gates.WatchListClient }),
    close: () => {
      stopListening?.();
      transport.closeConnections();
    },
  };
}

/** `kubelet/v1.37.0 (linux/amd64) kubernetes/0123456`, the form of every Kubernetes component. */
export function userAgentOf(version: string, commit: string): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  return `kubelet/${version} (${process.platform}/${arch}) kubernetes/${commit.slice(0, 7) || 'unknown'}`;
}

// A client of the double without sockets and rate limits, for tests of features.

import type { Follow } from '../../src/api/ports/api-client.ts';
import { Channel } from '../../src/base/channel.ts';
import type { Clock } from '../../src/base/clock.ts';
import { type Logger, silentLogger } from '../../src/base/log/log.ts';
import { ApiServerClient } from '../../src/edge/apiserver/client.ts';
import { reflector } from '../../src/edge/apiserver/reflector.ts';
import type { ApiServerDouble } from './double.ts';
import { MemoryTransport } from './memory-transport.ts';
import type { User } from './request.ts';

interface MemoryClient {
  readonly client: ApiServerClient;
  readonly follow: Follow;
  readonly transport: MemoryTransport;
  /** Never announced: there is no connection to lose. */
  readonly connected: Channel<void>;
}

export function memoryClient(
  double: ApiServerDouble,
  clock: Clock,
  user: User,
  log: Logger = silentLogger,
  /** The gate WatchListClient. */
  watchLists = true,
): MemoryClient {
  const transport = new MemoryTransport(double, user);
  const client = new ApiServerClient({
    transport,
    clock,
    log,
    userAgent: 'kubelet/test',
    limiters: {},
    timeoutMs: {
      requests: 60_000,
      events: 60_000,
      heartbeats: 10_000,
      'token-reviews': 10_000,
      'access-reviews': 10_000,
    },
  });
  return {
    client,
    follow: reflector({ client, clock, log, random: () => 0, watchLists }),
    transport,
    connected: new Channel<void>(),
  };
}

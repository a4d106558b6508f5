// The room of exec, attach, port-forward and run: who answers them, and who carries the bytes.
import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import type { ProxyUpgrade } from '../edge/http/http-exchange.ts';
import type { UpgradeProxyOptions } from '../edge/http/upgrade-proxy.ts';
import { type StreamDeps, type StreamHandlers, streamHandlers } from '../server/streams/stream-handlers.ts';

interface StreamsInput extends StreamDeps {
  readonly config: { readonly streamingConnectionIdleTimeout: { readonly ms: number } };
  readonly edges: { readonly upgradeProxy: (options: UpgradeProxyOptions) => ProxyUpgrade };
  readonly log: Logger;
}

interface Streams {
  readonly handlers: StreamHandlers;
  readonly proxyUpgrade: ProxyUpgrade;
}

export function assembleStreams(input: StreamsInput): Streams {
  const { config, cri, desired, edges, log } = input;
  const proxyUpgrade = edges.upgradeProxy({
    // differs from upstream: there the setting is read and has no effect; only the runtime's own limit counts.
    idleMs: config.streamingConnectionIdleTimeout.ms,
    onError: (err) => log.error('Error while proxying request', { err: describeError(err) }),
  });
  return { handlers: streamHandlers({ desired, cri }), proxyUpgrade };
}

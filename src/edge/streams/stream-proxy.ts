// Serves the upgraded connections of exec, attach and port-forward: proxied byte for byte, unwrapped from a tunnel, or translated.
// Invariant: once proxy() settles, nothing stays open.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ProxyAnswer } from '../../api/ports/http.ts';
import { RemoteCommand, type RemoteCommandOptions } from './remote-command.ts';
import { UpgradeProxy, type UpgradeProxyOptions } from './upgrade-proxy.ts';

type StreamProxyOptions = UpgradeProxyOptions & RemoteCommandOptions;

export class StreamProxy {
  readonly #options: StreamProxyOptions;
  readonly #upgrades: UpgradeProxy;
  #sessions = 0;

  constructor(options: StreamProxyOptions) {
    this.#options = options;
    this.#upgrades = new UpgradeProxy(options);
  }

  /** The number of open connections. */
  get open(): number {
    return this.#upgrades.open + this.#sessions;
  }

  /**
   * Takes over the client's socket; settles when all is closed, and never rejects. `head` is what the client has already sent
   * after its request; aborting closes everything.
   */
  async proxy(
    request: IncomingMessage,
    client: Duplex,
    head: Buffer,
    { proxyTo: url, webSocket }: ProxyAnswer,
    signal?: AbortSignal,
  ): Promise<void> {
    if (webSocket === undefined || webSocket === 'tunnel') {
      await this.#upgrades.proxy(request, client, head, { url, unwrap: webSocket === 'tunnel' }, signal);
      return;
    }
    const session = new RemoteCommand(this.#options, client, webSocket);
    const onAbort = (): void => session.destroy();
    signal?.addEventListener('abort', onAbort);
    if (signal?.aborted === true) onAbort();
    this.#sessions++;
    try {
      await session.run(request, head, url);
    } finally {
      this.#sessions--;
      signal?.removeEventListener('abort', onAbort);
    }
  }
}

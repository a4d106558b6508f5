// The socket of the kubelet's API for commands on the same machine, such as `kubelet ps`: kubelet-api.sock in the root directory.
// Only root can connect, so there is no authentication, and acting is allowed. Upstream has no counterpart.
// Invariant: the kubelet also runs if the socket cannot be served, for example because another kubelet serves it.
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { HttpHandler } from './http-message.ts';
import { type PageRoutesDeps, pageHandler } from './page-routes.ts';

export interface LocalSocketDeps extends PageRoutesDeps {
  readonly path: string;
  readonly listen: (options: {
    readonly path: string;
    readonly handler: HttpHandler;
    readonly onError: (err: unknown) => void;
  }) => Promise<{ close(): Promise<void> }>;
  readonly log: Logger;
}

export class LocalSocket implements Component {
  readonly name = 'local-socket';
  readonly #deps: LocalSocketDeps;

  constructor(deps: LocalSocketDeps) {
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { listen, log, path } = this.#deps;
    const handler = pageHandler(this.#deps, 'local', async () => undefined);
    const onError = (err: unknown): void => log.error('Failed to handle request', { server: this.name, err });
    const aborted = untilAborted(signal);
    try {
      const listening = await listen({ path, handler, onError });
      log.info('Listening', { server: this.name, path });
      return { stopped: aborted.then(() => listening.close()) };
    } catch (err) {
      log.warn('Failed to listen on the local socket; kubelet ps and other commands cannot connect', {
        path,
        err,
      });
      return { stopped: aborted };
    }
  }
}

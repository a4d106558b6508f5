// One listening port of the kubelet as a component: open while it runs, closed gracefully when it stops.

import { untilAborted } from '../base/abort/race-abort.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { HttpHandler } from './http-message.ts';

export interface Listening {
  readonly host: string;
  readonly port: number;
  /** Stops accepting connections, lets in-flight responses complete, then closes the rest. */
  close(): Promise<void>;
}

interface HttpServerDeps {
  readonly name: string;
  readonly handler: HttpHandler;
  readonly listen: (handler: HttpHandler) => Promise<Listening>;
  readonly log: Logger;
}

export class HttpServer implements Component {
  readonly name: string;
  readonly #deps: HttpServerDeps;

  constructor(deps: HttpServerDeps) {
    this.name = deps.name;
    this.#deps = deps;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { handler, listen, log, name } = this.#deps;
    const listening = await listen(handler);
    log.info('Listening', { server: name, address: listening.host, port: listening.port });
    const aborted = untilAborted(signal);
    return { stopped: aborted.then(() => listening.close()) };
  }
}

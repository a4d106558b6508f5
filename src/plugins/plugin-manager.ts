// Registers the plugins whose sockets appear below plugins_registry, and deregisters those whose sockets go.
// Invariants: one operation per socket at a time; a socket that is removed or recreated cancels the registration in flight and
// starts without backoff; a plugin that hangs holds one of the parallel operations for a bounded time.
// Upstream: pkg/kubelet/pluginmanager.

import { withDeadline } from '../base/abort/deadline.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component, LoopLoad } from '../base/component.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { computePluginActions, isShared, type RegisteredPlugin } from './compute-plugin-actions.ts';
import type { PluginHandler, PluginInfo } from './plugin-handler.ts';
import { type RegisterPluginDeps, registerPlugin } from './register-plugin.ts';

interface PluginManagerDeps extends RegisterPluginDeps {
  /** Below the root directory: plugins_registry. */
  readonly directory: string;
  /** Reports incarnations by path: all at first, then after each change. */
  readonly watch: (options: {
    readonly directory: string;
    readonly clock: Clock;
    readonly log: Logger;
    readonly onSockets: (sockets: ReadonlyMap<string, string>) => void;
  }) => { close(): void };
  readonly clock: Clock;
  readonly log: Logger;
}

const parallel = 64;
/** 2m2s, upstream's limit. */
const backoff = { initialMs: 500, maxMs: 122_000 };
const deregisterMs = 60_000;

export class PluginManager implements Component {
  readonly name = 'plugin-manager';
  readonly #deps: PluginManagerDeps;
  readonly #queue: KeyedQueue<string>;
  #desired: ReadonlyMap<string, string> = new Map();
  readonly #actual = new Map<string, RegisteredPlugin>();

  constructor(deps: PluginManagerDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue({
      clock: deps.clock,
      parallel,
      backoff,
      run: (socket, signal) => this.#sync(socket, signal),
      onError: (socket, err, retryInMs) =>
        deps.log.error('Failed to register plugin', { socket, err, retryInMs }),
    });
  }

  /** Paths of the sockets that exist, for metrics. */
  get sockets(): Iterable<string> {
    return this.#desired.keys();
  }

  /** Paths of the sockets whose plugins are registered, for metrics. */
  get registered(): Iterable<string> {
    return this.#actual.keys();
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { clock, directory, log, watch } = this.#deps;
    this.#queue.start();
    const watcher = watch({ directory, clock, log, onSockets: (sockets) => this.#changed(sockets) });
    const stop = async (): Promise<void> => {
      watcher.close();
      this.#queue.abortAll();
      await this.#queue.stop();
    };
    return { stopped: untilAborted(signal).then(stop) };
  }

  #changed(sockets: ReadonlyMap<string, string>): void {
    const before = this.#desired;
    this.#desired = sockets;
    for (const socket of new Set([...before.keys(), ...sockets.keys()])) {
      if (before.get(socket) === sockets.get(socket)) continue;
      // differs from upstream: there a recreated socket waits for the backoff of the old one.
      this.#queue.cancel(socket);
      this.#queue.forget(socket);
      this.#queue.add(socket);
    }
  }

  async #sync(socket: string, signal: AbortSignal): Promise<void> {
    for (const action of computePluginActions(socket, this.#desired, this.#actual)) {
      if (action.do === 'register') await this.#register(socket, action.incarnation, signal);
      else {
        this.#actual.delete(socket);
        const { plugin } = action;
        const handler = this.#deps.handlers.get(plugin.type);
        if (!action.isShared && handler !== undefined) await this.#deregister(handler, plugin);
      }
    }
  }

  async #register(socket: string, incarnation: string, signal: AbortSignal): Promise<void> {
    const undo = async (handler: PluginHandler, info: PluginInfo): Promise<void> => {
      if (!isShared(info, this.#actual.values())) await this.#deregister(handler, info);
    };
    const { endpoint, name, type } = await registerPlugin(this.#deps, socket, undo, signal);
    this.#actual.set(socket, { socket, incarnation, type, name, endpoint });
    this.#deps.log.info('Plugin registered', { socket, type, plugin: name, endpoint });
  }

  /** Not cancelled by a change of the socket: the handler has to release the plugin in any case. */
  async #deregister(handler: PluginHandler, plugin: Omit<PluginInfo, 'versions'>): Promise<void> {
    const { clock, log } = this.#deps;
    const { endpoint, name, socket, type } = plugin;
    try {
      const what = 'the deregistration of the plugin';
      await withDeadline({ clock, ms: deregisterMs, what }, () => handler.deregister({ name, endpoint }));
      log.info('Plugin deregistered', { socket, type, plugin: name, endpoint });
    } catch (err) {
      log.error('Failed to deregister plugin', { socket, type, plugin: name, endpoint, err });
    }
  }
}

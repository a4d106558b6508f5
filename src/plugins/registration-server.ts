// Serves the registration of device plugins on kubelet.sock in their directory.
// Invariants: a socket or directory that is removed while the kubelet runs is replaced within seconds; without its socket the
// kubelet runs on, and its health check fails; a plugin is given an answer only once the device manager has accepted it.
// Upstream: server.go in pkg/kubelet/cm/devicemanager/plugin/v1beta1.
import {
  type RegisterRequest,
  RegistrationDefinition,
} from '../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import { type RpcCall, RpcFailure, type RpcService, rpcService } from '../api/kubelet/rpc-service.ts';
import type { DevicePluginRegistry } from '../api/ports/device-plugins.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { describeError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { endpointFault, resourceFault, versionFault } from './device-plugin-names.ts';

interface Listener {
  close(): Promise<void>;
}

interface RegistrationServerDeps {
  /** Upstream: /var/lib/kubelet/device-plugins. */
  readonly directory: string;
  readonly listen: (options: {
    readonly path: string;
    readonly inPlace: true;
    readonly services: readonly RpcService[];
    readonly onError: (err: unknown, method?: string) => void;
  }) => Promise<Listener>;
  readonly files: {
    /** Creates the directory, and removes the sockets in it. */
    prepare(directory: string, onError: (path: string, err: unknown) => void): Promise<void>;
    /** Distinguishes a socket from its replacement; undefined if there is none. */
    identity(path: string): Promise<string | undefined>;
  };
  readonly registry: Pick<DevicePluginRegistry, 'register'>;
  readonly clock: Clock;
  readonly log: Logger;
}

const checkMs = 1_000;
const maxRetryMs = 30_000;
const unhealthy =
  'device registration error: device plugin registration gRPC server failed and no device plugins can register';

interface Served {
  readonly listener: Listener;
  readonly identity: string | undefined;
}

export class DevicePluginRegistrationServer implements Component {
  readonly name = 'device-plugin-registration';
  readonly #deps: RegistrationServerDeps;
  readonly #path: string;
  #fault: string | undefined;

  constructor(deps: RegistrationServerDeps) {
    this.#deps = deps;
    this.#path = `${deps.directory}/kubelet.sock`;
  }

  /** For /healthz: the reason why no plugin can register. */
  check(): string | undefined {
    return this.#fault;
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { directory, files, log } = this.#deps;
    try {
      // The plugins watch kubelet.sock; when it returns they create their sockets and register again.
      await files.prepare(directory, (path, err) =>
        log.error('Failed to remove a socket of a device plugin', { path, err }),
      );
    } catch (err) {
      log.error('Failed to prepare the directory of device plugins', { directory, err });
    }
    const served = await this.#listen();
    return { stopped: this.#keepServing(served, signal) };
  }

  /** differs from upstream: there a socket that is removed is gone until the kubelet restarts. */
  async #keepServing(first: Served | undefined, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    let served = first;
    let waitMs = checkMs;
    const closing = new Set<Promise<void>>();
    try {
      for (;;) {
        await clock.sleep(waitMs, signal);
        if (served !== undefined && (await this.#isInPlace(served))) continue;
        if (served !== undefined)
          log.warn('The registration socket of device plugins was removed, creating it again', {
            path: this.#path,
          });
        if (served !== undefined) {
          // Before the new one listens: the close removes the socket at its path. The calls in flight may complete.
          const closed = served.listener.close().finally(() => closing.delete(closed));
          closing.add(closed);
        }
        served = await this.#listen();
        waitMs = served === undefined ? Math.min(2 * waitMs, maxRetryMs) : checkMs;
      }
    } catch (err) {
      if (!signal.aborted) throw err;
    } finally {
      await Promise.all([served?.listener.close(), ...closing]);
    }
  }

  async #isInPlace({ identity }: Served): Promise<boolean> {
    try {
      return (await this.#deps.files.identity(this.#path)) === identity;
    } catch {
      // The path cannot be read, so it cannot be replaced either.
      return true;
    }
  }

  async #listen(): Promise<Served | undefined> {
    const { files, listen, log } = this.#deps;
    try {
      const listener = await listen({
        path: this.#path,
        // Plugins wait for its creation.
        inPlace: true,
        services: [rpcService(RegistrationDefinition, { register: (...call) => this.#register(...call) })],
        onError: (err, method) => log.error('Device plugin registration server failed', { method, err }),
      });
      this.#fault = undefined;
      log.info('Started to serve the registration of device plugins', { path: this.#path });
      return { listener, identity: await files.identity(this.#path).catch(() => undefined) };
    } catch (err) {
      this.#fault = `${unhealthy}: ${describeError(err)}`;
      log.error('Failed to serve the registration of device plugins', { path: this.#path, err });
      return undefined;
    }
  }

  async #register(request: RegisterRequest, { signal }: RpcCall): Promise<Record<string, never>> {
    const { directory, log, registry } = this.#deps;
    const { endpoint, resourceName: resource, version } = request;
    const fault = versionFault(version) ?? resourceFault(resource) ?? endpointFault(endpoint);
    if (fault !== undefined) {
      log.error('Rejected registration of device plugin', { reason: fault });
      throw new RpcFailure('UNKNOWN', fault);
    }
    log.info('Got registration request from device plugin', { resource, endpoint });
    try {
      const socket = `${directory}/${endpoint}`;
      await registry.register({ resource, socket, versions: [version] }, signal);
      return {};
    } catch (err) {
      log.error('Failed to register device plugin', { resource, endpoint, err });
      throw new RpcFailure('UNKNOWN', describeError(err));
    }
  }
}

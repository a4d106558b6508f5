// The connections to device plugins, several per resource by socket, and the stream of devices of each.
// Upstream: plugin/v1beta1 and endpointStore of pkg/kubelet/cm/devicemanager.
// Invariants: the newest connection of a resource serves its calls, and losing it promotes the newest other one; the number of
// connections is bounded; a flood of lists is coalesced to the latest one.
import { isQualifiedName } from '../../api/k8s/names.ts';
import type {
  DevicePluginDialer,
  DevicePluginRegistry,
  PluginDevice,
  PluginOptions,
} from '../../api/ports/device-plugins.ts';
import { isExtendedResource } from '../../api/quantity/extended-resources.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { ConnectedPlugin } from './connected-plugin.ts';
import { CoalescedLists, computeDeviceList, ReadPace } from './device-lists.ts';

const apiVersion = 'v1beta1';
const mostConnections = 64;

type Registration = Parameters<DevicePluginRegistry['register']>[0];

interface PluginConnectionsDeps {
  readonly dialer: DevicePluginDialer;
  readonly clock: Clock;
  readonly log: Logger;
  /** Throws if the resource cannot be added. */
  readonly onConnected: (resource: string) => void;
  readonly onList: (resource: string, devices: readonly PluginDevice[]) => void;
  /** The last connection of the resource ended. */
  readonly onLost: (resource: string) => void;
  readonly onRegistration: (resource: string) => void;
}

export class PluginConnections implements DevicePluginRegistry {
  readonly #deps: PluginConnectionsDeps;
  /** By resource, the newest last. */
  readonly #plugins = new Map<string, readonly ConnectedPlugin[]>();
  /** Of the plugin that served last, connected or not. */
  readonly #served = new Map<string, ConnectedPlugin>();
  #dialing = 0;
  #isStopped = false;

  constructor(deps: PluginConnectionsDeps) {
    this.#deps = deps;
  }

  /** The plugin that serves the resource; undefined if none is connected. */
  serving(resource: string): ConnectedPlugin | undefined {
    return this.#plugins.get(resource)?.at(-1);
  }

  /** The options and socket of the last plugin of the resource, connected or not; undefined before the first registration. */
  last(resource: string): { readonly socket: string; readonly options: PluginOptions } | undefined {
    return this.#served.get(resource);
  }

  async register(plugin: Registration, signal: AbortSignal): Promise<void> {
    const { clock, dialer, log, onConnected, onRegistration } = this.#deps;
    const { resource, socket } = plugin;
    checkRegistration(plugin);
    onRegistration(resource);
    const isKnown = this.#find(resource, socket) !== undefined;
    if (!isKnown && this.#size() + this.#dialing >= mostConnections) throw tooMany();
    this.#dialing += 1;
    try {
      const connection = await dialer.dial(socket, signal);
      const connected = new ConnectedPlugin(connection, clock);
      try {
        if (this.#isStopped)
          throw new KubeletError('unavailable', 'Stopping', 'the device manager is stopping');
        onConnected(resource);
      } catch (err) {
        connected.close();
        throw err;
      }
      this.#add(resource, connected);
      log.info('Device plugin connected', { resource, socket });
      void this.#watch(resource, connected);
    } finally {
      this.#dialing -= 1;
    }
  }

  deregister({ resource, socket }: Pick<Registration, 'resource' | 'socket'>): void {
    const found = this.#find(resource, socket);
    if (found !== undefined) this.#drop(resource, found);
  }

  stop(): void {
    this.#isStopped = true;
    const all = [...this.#plugins.values()].flat();
    this.#plugins.clear();
    for (const plugin of all) plugin.close();
  }

  /**
   * differs from upstream, which fails the registration of a socket that is still connected and then never notices the end of the
   * old connection: the plugin has restarted faster than its connection broke, so the new one takes its place.
   */
  #add(resource: string, plugin: ConnectedPlugin): void {
    const replaced = this.#find(resource, plugin.socket);
    const others = (this.#plugins.get(resource) ?? []).filter((each) => each !== replaced);
    this.#plugins.set(resource, [...others, plugin]);
    this.#served.set(resource, plugin);
    replaced?.close();
  }

  #drop(resource: string, plugin: ConnectedPlugin): void {
    plugin.close();
    const before = this.#plugins.get(resource);
    if (before?.includes(plugin) !== true) return;
    const rest = before.filter((each) => each !== plugin);
    const { log, onLost } = this.#deps;
    log.info('Device plugin disconnected', { resource, socket: plugin.socket, others: rest.length });
    const promoted = rest.at(-1);
    if (promoted === undefined) {
      this.#plugins.delete(resource);
      onLost(resource);
    } else {
      this.#plugins.set(resource, rest);
      this.#served.set(resource, promoted);
    }
  }

  async #watch(resource: string, plugin: ConnectedPlugin): Promise<void> {
    const { clock, log, onList } = this.#deps;
    const lists = new CoalescedLists(clock, (devices) => onList(resource, devices));
    const pace = new ReadPace(clock);
    const signal = plugin.closed;
    let isTooLong = false;
    try {
      const stream = plugin.connection.devices(signal)[Symbol.asyncIterator]();
      for (;;) {
        const next = await raceAbort(stream.next(), signal);
        if (next.done === true) break;
        const { devices, ignored } = computeDeviceList(next.value);
        if (ignored > 0 && !isTooLong) {
          isTooLong = true;
          log.warn('Device plugin reported too many devices or invalid IDs', { resource, ignored });
        }
        lists.push(devices);
        await pace.read(next.value.length, signal);
      }
      log.warn('ListAndWatch ended', { resource, socket: plugin.socket });
    } catch (err) {
      if (!signal.aborted)
        log.warn('ListAndWatch ended unexpectedly', { resource, socket: plugin.socket, err });
    } finally {
      lists.stop();
      this.#drop(resource, plugin);
    }
  }

  #find(resource: string, socket: string): ConnectedPlugin | undefined {
    return this.#plugins.get(resource)?.find((each) => each.socket === socket);
  }

  #size(): number {
    return [...this.#plugins.values()].reduce((sum, { length }) => sum + length, 0);
  }
}

function checkRegistration({ resource, versions }: Registration): void {
  if (!versions.includes(apiVersion)) {
    const [only = ''] = versions;
    // The first is the answer to a request, the second that to the plugin manager, which passes a list.
    const text =
      versions.length === 1
        ? `requested API version ${JSON.stringify(only)} is not supported by kubelet. Supported version is ["${apiVersion}"]`
        : `manager version, ${apiVersion}, is not among plugin supported versions [${versions.join(' ')}]`;
    throw new KubeletError('invalid', 'UnsupportedVersion', text);
  }
  // As the name of a quota, which is longer.
  if (!isExtendedResource(resource) || isQualifiedName(`requests.${resource}`).length > 0)
    throw new KubeletError(
      'invalid',
      'InvalidResourceName',
      `the ResourceName ${JSON.stringify(resource)} is invalid`,
    );
}

function tooMany(): KubeletError {
  const text = `the kubelet is connected to ${mostConnections} device plugins, which is the most it allows`;
  return new KubeletError('forbidden', 'TooManyDevicePlugins', text);
}

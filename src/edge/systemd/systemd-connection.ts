// The connection to systemd's manager: over the system bus or, without one, over systemd's private socket.
// Upstream: go-systemd's dbus.NewWithContext. Invariant: an open connection receives the signals of ended jobs.
import type { Message } from 'dbus-native';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import {
  type BusConnection,
  type BusObject,
  openBus,
  openSocket,
  systemBusAddress,
} from './bus-connection.ts';
import type { UnitProperty } from './unit-properties.ts';

export interface BusAddresses {
  readonly systemBus: string;
  /** systemd's private socket: D-Bus without a bus daemon. */
  readonly privateSocket: string;
}

export const defaultAddresses: BusAddresses = {
  systemBus: systemBusAddress,
  privateSocket: '/run/systemd/private',
};

export const systemdManager: BusObject = {
  destination: 'org.freedesktop.systemd1',
  path: '/org/freedesktop/systemd1',
  interface: 'org.freedesktop.systemd1.Manager',
};

const jobRule = `type='signal',interface='${systemdManager.interface}',member='JobRemoved'`;

export class SystemdConnection {
  readonly #bus: BusConnection;
  /** Called for every job that ended, with its path and result. */
  onJob: (job: string, result: string) => void = () => undefined;

  constructor(bus: BusConnection) {
    this.#bus = bus;
    bus.onMessage = (message) => this.#handleSignal(message);
  }

  get isClosed(): boolean {
    return this.#bus.isClosed;
  }

  set onClose(listener: () => void) {
    this.#bus.onClose = listener;
  }

  async call(member: string, signature: string, body: readonly unknown[]): Promise<unknown> {
    return await this.#bus.call(systemdManager, member, signature, body);
  }

  async version(): Promise<string> {
    return String(await this.#bus.property(systemdManager, 'Version'));
  }

  close(): void {
    this.#bus.close();
  }

  #handleSignal(message: Message): void {
    if (message.member !== 'JobRemoved' || message.interface !== systemdManager.interface) return;
    const [, job, , result] = message.body ?? [];
    if (typeof job === 'string' && typeof result === 'string') this.onJob(job, result);
  }
}

/** Properties in the form that the library expects. */
export async function toWire(properties: readonly UnitProperty[]): Promise<readonly unknown[]> {
  const { Variant } = (await import('dbus-native')).default;
  return properties.map(({ name, signature, value }) => [name, new Variant(signature, value)]);
}

export async function connectToSystemd(addresses: BusAddresses, clock: Clock): Promise<SystemdConnection> {
  try {
    return await connectOverBus(addresses.systemBus, clock);
  } catch (err) {
    const privately = openSocket(addresses.privateSocket, clock).catch((privateErr: unknown) => {
      const message = `cannot reach systemd over ${addresses.systemBus} or ${addresses.privateSocket}`;
      throw new KubeletError('unavailable', 'NoSystemd', message, {
        cause: new AggregateError([err, privateErr], 'both failed'),
      });
    });
    return new SystemdConnection(await privately);
  }
}

async function connectOverBus(busAddress: string, clock: Clock): Promise<SystemdConnection> {
  const connection = new SystemdConnection(await openBus(busAddress, [jobRule], clock));
  try {
    // Fails if systemd is not on this bus.
    await connection.version();
    return connection;
  } catch (err) {
    connection.close();
    throw err;
  }
}

// One D-Bus connection to systemd: over the system bus or, without one, over systemd's private socket.
// Upstream: go-systemd's dbus.NewWithContext. Why this library: docs/decisions/0012-dbus-native.md.
// Invariants: the library is loaded with the first connection; every call has a deadline; when the connection is lost,
// every call in flight fails with 'Disconnected' and isClosed is true.
import type { Message, MessageBus } from 'dbus-native';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { UnitProperty } from './unit-properties.ts';

export interface BusAddresses {
  /** D-Bus address of the system bus. */
  readonly systemBus: string;
  /** systemd's private socket: D-Bus without a bus daemon. */
  readonly privateSocket: string;
}

export const defaultAddresses: BusAddresses = {
  systemBus: process.env['DBUS_SYSTEM_BUS_ADDRESS'] ?? 'unix:path=/run/dbus/system_bus_socket',
  privateSocket: '/run/systemd/private',
};

const manager = 'org.freedesktop.systemd1.Manager';
const destination = 'org.freedesktop.systemd1';
const path = '/org/freedesktop/systemd1';
const callMs = 10_000;

export class BusConnection {
  readonly #bus: MessageBus;
  readonly #clock: Clock;
  #isClosed = false;
  /** Called for every job that ended, with its path and result. */
  onJob: (job: string, result: string) => void = () => undefined;
  onClose: () => void = () => undefined;

  constructor(bus: MessageBus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    bus.connection.on('message', (message: Message) => this.#handleSignal(message));
    // The library fails the pending calls; the next call reconnects.
    bus.connection.on('error', () => this.#closed());
    bus.connection.on('end', () => this.#closed());
    bus.connection.on('close', () => this.#closed());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Calls a method of systemd's manager. */
  async call(member: string, signature: string, body: readonly unknown[]): Promise<unknown> {
    return await this.send({ destination, path, interface: manager, member, signature, body: [...body] });
  }

  async version(): Promise<string> {
    const value = await this.send({
      destination,
      path,
      interface: 'org.freedesktop.DBus.Properties',
      member: 'Get',
      signature: 'ss',
      body: [manager, 'Version'],
    });
    return String(value);
  }

  async send(message: Message): Promise<unknown> {
    const what = `systemd call ${message.member ?? ''}`;
    try {
      return await withDeadline({ clock: this.#clock, ms: callMs, what }, (signal) =>
        Promise.resolve(this.#bus.invoke(message, { signal })),
      );
    } catch (err) {
      throw toKubeletError(err, what, this.#isClosed);
    }
  }

  close(): void {
    this.#bus.connection.end();
    this.#closed();
  }

  #handleSignal(message: Message): void {
    if (message.member !== 'JobRemoved' || message.interface !== manager) return;
    const [, job, , result] = message.body ?? [];
    if (typeof job === 'string' && typeof result === 'string') this.onJob(job, result);
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onClose();
  }
}

/** Properties in the form that the library expects. */
export async function toWire(properties: readonly UnitProperty[]): Promise<readonly unknown[]> {
  const { Variant } = (await import('dbus-native')).default;
  return properties.map(({ name, signature, value }) => [name, new Variant(signature, value)]);
}

/** Also subscribes to the signals of ended jobs. */
export async function connectToSystemd(addresses: BusAddresses, clock: Clock): Promise<BusConnection> {
  try {
    return await connectOverBus(addresses.systemBus, clock);
  } catch (err) {
    return await open({ socket: addresses.privateSocket }, clock).catch((privateErr: unknown) => {
      const message = `cannot reach systemd over ${addresses.systemBus} or ${addresses.privateSocket}`;
      throw new KubeletError('unavailable', 'NoSystemd', message, {
        cause: new AggregateError([err, privateErr], 'both failed'),
      });
    });
  }
}

const busDaemon = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
};

async function connectOverBus(busAddress: string, clock: Clock): Promise<BusConnection> {
  const connection = await open({ busAddress }, clock);
  try {
    await connection.send({ ...busDaemon, member: 'Hello' });
    const rule = `type='signal',interface='${manager}',member='JobRemoved'`;
    await connection.send({ ...busDaemon, member: 'AddMatch', signature: 's', body: [rule] });
    // Fails if systemd is not on this bus.
    await connection.version();
    return connection;
  } catch (err) {
    connection.close();
    throw err;
  }
}

async function open(
  where: { readonly busAddress: string } | { readonly socket: string },
  clock: Clock,
): Promise<BusConnection> {
  const { default: dbus } = await import('dbus-native');
  const options = { ...where, direct: true, plainValues: true, returnBigInt: true };
  return await withDeadline({ clock, ms: callMs, what: 'connecting to systemd' }, async (signal) => {
    const bus = dbus.createClient(options);
    const connection = new BusConnection(bus, clock);
    await new Promise<void>((resolve, reject) => {
      bus.connection.once('connect', () => resolve());
      bus.connection.once('error', reject);
      bus.connection.once('close', () => reject(new Error('the connection was closed')));
      signal.addEventListener('abort', () => connection.close(), { once: true });
    });
    return connection;
  });
}

/** The last part of the D-Bus error name becomes the reason: `org.freedesktop.systemd1.UnitExists` → `UnitExists`. */
function toKubeletError(err: unknown, what: string, isClosed: boolean): KubeletError {
  if (err instanceof KubeletError) return err;
  const text = err instanceof Error ? err.message : String(err);
  if (isClosed || (err instanceof Error && 'code' in err && err.code === 'ECONNCLOSED'))
    return new KubeletError('unavailable', 'Disconnected', `${what}: the connection was closed`, {
      cause: err,
    });
  const name = err instanceof Error && 'dbusName' in err ? String(err.dbusName) : '';
  const reason = name.slice(name.lastIndexOf('.') + 1) || 'SystemdError';
  const kind = reason === 'NoSuchUnit' ? 'not-found' : reason === 'UnitExists' ? 'conflict' : 'internal';
  return new KubeletError(kind, reason, `${what} failed: ${text}`, { details: { name } });
}

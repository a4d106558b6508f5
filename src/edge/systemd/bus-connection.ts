// One connection to systemd: over the system bus, or, where there is none, over systemd's own socket.
// Upstream: go-systemd's dbus.NewWithContext. Invariants: the library is loaded with the first connection; every call has
// a deadline; when the connection goes, every call under way fails with 'Disconnected' and closed says so.
import type { Message, MessageBus } from 'dbus-native';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { UnitProperty } from './unit-properties.ts';

export interface BusPlaces {
  /** D-Bus address of the system bus. */
  readonly systemBus: string;
  /** systemd's own socket; it speaks D-Bus without a bus in between. */
  readonly privateSocket: string;
}

export const usualPlaces: BusPlaces = {
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
  /** Told of every job that ended: its path and its result. */
  onJob: (job: string, result: string) => void = () => undefined;
  onClose: () => void = () => undefined;

  constructor(bus: MessageBus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    bus.connection.on('message', (message: Message) => this.#see(message));
    // Whoever waits for an answer is told by the library; the next call connects again.
    bus.connection.on('error', () => this.#closed());
    bus.connection.on('end', () => this.#closed());
    bus.connection.on('close', () => this.#closed());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Of systemd's manager. */
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
    const what = `${message.member ?? ''} of systemd`;
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

  #see(message: Message): void {
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

/** A property in the form in which the library takes it. */
export async function toWire(properties: readonly UnitProperty[]): Promise<readonly unknown[]> {
  const { Variant } = (await import('dbus-native')).default;
  return properties.map(({ name, signature, value }) => [name, new Variant(signature, value)]);
}

/** Asks for jobs that end as well: a bus passes on only what somebody asked for. */
export async function connectToSystemd(places: BusPlaces, clock: Clock): Promise<BusConnection> {
  try {
    return await overSystemBus(places.systemBus, clock);
  } catch (err) {
    return await open({ socket: places.privateSocket }, clock).catch((ownErr: unknown) => {
      const message = `cannot reach systemd, neither over ${places.systemBus} nor at ${places.privateSocket}`;
      throw new KubeletError('unavailable', 'NoSystemd', message, {
        cause: new AggregateError([err, ownErr], 'both failed'),
      });
    });
  }
}

const busItself = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
};

async function overSystemBus(busAddress: string, clock: Clock): Promise<BusConnection> {
  const connection = await open({ busAddress }, clock);
  try {
    await connection.send({ ...busItself, member: 'Hello' });
    const rule = `type='signal',interface='${manager}',member='JobRemoved'`;
    await connection.send({ ...busItself, member: 'AddMatch', signature: 's', body: [rule] });
    // A bus without systemd behind it is no way to systemd.
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

/** The D-Bus name of an error becomes its reason: `org.freedesktop.systemd1.UnitExists` → `UnitExists`. */
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

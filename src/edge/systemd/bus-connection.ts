// One D-Bus connection: to a bus, or to a socket without a bus daemon. Upstream: godbus/dbus.
// Why this library: docs/decisions/0012-dbus-native.md.
// Invariants: the library is loaded with the first connection; every call has a deadline; when the connection is lost,
// every call in flight fails with 'Disconnected' and isClosed is true.
import type { Message, MessageBus } from 'dbus-native';
import { withDeadline } from '../../base/abort/deadline.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';

/** D-Bus address of the system bus. */
export const systemBusAddress =
  process.env['DBUS_SYSTEM_BUS_ADDRESS'] || 'unix:path=/run/dbus/system_bus_socket';

/** An object of a service, and one of its interfaces. */
export interface BusObject {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
}

const callMs = 10_000;
/** Any user of the machine may send signals to the kubelet. A longer message ends the connection before it is decoded. */
const maxMessageBytes = 1024 * 1024;

export class BusConnection {
  readonly #bus: MessageBus;
  readonly #clock: Clock;
  #isClosed = false;
  /** Called for every message that is not the reply of a call. */
  onMessage: (message: Message) => void = () => undefined;
  onClose: () => void = () => undefined;

  constructor(bus: MessageBus, clock: Clock) {
    this.#bus = bus;
    this.#clock = clock;
    bus.connection.on('message', (message: Message) => this.onMessage(message));
    // The library fails the pending calls; the next call reconnects.
    bus.connection.on('error', () => this.#closed());
    bus.connection.on('end', () => this.#closed());
    bus.connection.on('close', () => this.#closed());
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  async call(
    object: BusObject,
    member: string,
    signature = '',
    body: readonly unknown[] = [],
  ): Promise<unknown> {
    const content = signature === '' ? {} : { signature, body: [...body] };
    const what = `${serviceName(object)} call ${member}`;
    try {
      return await withDeadline({ clock: this.#clock, ms: callMs, what }, (signal) =>
        Promise.resolve(this.#bus.invoke({ ...object, member, ...content }, { signal })),
      );
    } catch (err) {
      throw toKubeletError(err, what, this.#isClosed);
    }
  }

  async property(object: BusObject, name: string): Promise<unknown> {
    const properties = { ...object, interface: 'org.freedesktop.DBus.Properties' };
    return await this.call(properties, 'Get', 'ss', [object.interface, name]);
  }

  close(): void {
    this.#bus.connection.end();
    this.#closed();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.onClose();
  }
}

/** The bus daemon itself, which the bus does not let any other client impersonate. */
export const busDaemon: BusObject = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
};

/** A connection that receives the signals of these match rules. */
export async function openBus(
  busAddress: string,
  rules: readonly string[],
  clock: Clock,
): Promise<BusConnection> {
  const connection = await open({ busAddress }, clock);
  try {
    await connection.call(busDaemon, 'Hello');
    for (const rule of rules) await connection.call(busDaemon, 'AddMatch', 's', [rule]);
    return connection;
  } catch (err) {
    connection.close();
    throw err;
  }
}

/** D-Bus without a bus daemon: every signal of the peer is received. */
export async function openSocket(socket: string, clock: Clock): Promise<BusConnection> {
  return await open({ socket }, clock);
}

async function open(
  where: { readonly busAddress: string } | { readonly socket: string },
  clock: Clock,
): Promise<BusConnection> {
  const { default: dbus } = await import('dbus-native');
  const values = { plainValues: true, returnBigInt: true };
  const options = { ...where, direct: true, maxMessageSize: maxMessageBytes, ...values };
  return await withDeadline({ clock, ms: callMs, what: 'connecting to D-Bus' }, async (signal) => {
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

/** `org.freedesktop.systemd1` → `systemd1`. */
function serviceName({ destination }: BusObject): string {
  return destination.slice(destination.lastIndexOf('.') + 1);
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
  const reason = name.slice(name.lastIndexOf('.') + 1) || 'BusError';
  const kind = reason === 'NoSuchUnit' ? 'not-found' : reason === 'UnitExists' ? 'conflict' : 'internal';
  return new KubeletError(kind, reason, `${what} failed: ${text}`, { details: { name } });
}

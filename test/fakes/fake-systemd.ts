// systemd's D-Bus interface: transient units with properties, jobs that end with a signal, and errors by name. Serves
// systemd's private socket (serve) or joins a real bus (join). Tests can make it fail, stall, respond out of order and
// drop the connection. Invariant: a unit is started once; every job ends with one JobRemoved.
import { createServer, type Server, type Socket } from 'node:net';
import dbus, { type DBusConnection, type Message } from 'dbus-native';

type UnitState = Readonly<Record<string, unknown>>;

const manager = 'org.freedesktop.systemd1.Manager';
const path = '/org/freedesktop/systemd1';
const { error, methodCall, methodReturn, signal } = dbus.messageType;

export class FakeSystemd {
  readonly units = new Map<string, UnitState>();
  /** Every call, in order: `StartTransientUnit kubepods.slice`. */
  readonly calls: string[] = [];
  version = '252.38-1~deb12u1';
  /** The result of the next job. */
  nextResult = 'done';
  /** Errors of the next calls, by member. */
  readonly faults = new Map<string, string>();
  /** How many times the connection is dropped instead of a response. */
  drops = 0;
  /** Emits JobRemoved before the reply with the job's number. */
  signalsFirst = false;
  /** Jobs never end. */
  stalls = false;
  #serial = 1;
  #job = 0;
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();

  /** Serves a private socket like systemd's, without a bus. */
  async serve(socketPath: string): Promise<void> {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      const connection = dbus.createConnection({
        stream: socket,
        server: true,
        direct: true,
        returnBigInt: true,
        plainValues: true,
      });
      connection.on('error', () => socket.destroy());
      connection.on('message', (message: Message) =>
        this.#answer(connection, message, () => socket.destroy()),
      );
    });
    await new Promise<void>((resolve) => this.#server?.listen(socketPath, resolve));
  }

  /** Takes systemd's name on a bus. Resolves to a function that leaves the bus. */
  async join(busAddress: string): Promise<() => void> {
    const connection = dbus.createConnection({ busAddress, returnBigInt: true, plainValues: true });
    // The bus daemon may exit first.
    connection.on('error', () => undefined);
    connection.on('message', (message: Message) => this.#answer(connection, message, () => undefined));
    await this.#callBus(connection, { member: 'Hello' });
    await this.#callBus(connection, {
      member: 'RequestName',
      signature: 'su',
      body: ['org.freedesktop.systemd1', 0],
    });
    return () => void connection.end();
  }

  async #callBus(connection: DBusConnection, message: Message): Promise<void> {
    const serial = this.#serial++;
    const answered = new Promise<void>((resolve) =>
      connection.on('message', ({ replySerial }: Message) => {
        if (replySerial === serial) resolve();
      }),
    );
    const destination = 'org.freedesktop.DBus';
    const bus = { destination, path: '/org/freedesktop/DBus', interface: destination };
    connection.message({ type: methodCall, serial, ...bus, ...message });
    await answered;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) =>
      this.#server === undefined ? resolve() : this.#server.close(() => resolve()),
    );
  }

  #answer(connection: DBusConnection, message: Message, drop: () => void): void {
    if (message.type !== methodCall) return;
    const { body = [], member = '' } = message;
    if (member === 'Get') {
      this.#reply(connection, message, 'v', [new dbus.Variant('s', this.version)]);
      return;
    }
    this.calls.push(`${member} ${String(body[0])}`);
    if (this.drops > 0) {
      this.drops--;
      drop();
      return;
    }
    const fault = this.faults.get(member) ?? this.#rejection(member, String(body[0]));
    if (fault !== undefined) {
      this.faults.delete(member);
      this.#send(connection, {
        type: error,
        errorName: fault,
        ...this.#to(message),
        signature: 's',
        body: [`no: ${fault}`],
      });
      return;
    }
    if (member === 'ResetFailedUnit') this.#reply(connection, message, '', []);
    else if (member === 'SetUnitProperties') {
      this.#set(String(body[0]), body[2]);
      this.#reply(connection, message, '', []);
    } else this.#run(connection, message);
  }

  #rejection(member: string, unit: string): string | undefined {
    const exists = this.units.has(unit);
    if (member === 'StartTransientUnit' && exists) return 'org.freedesktop.systemd1.UnitExists';
    if (member !== 'StartTransientUnit' && !exists) return 'org.freedesktop.systemd1.NoSuchUnit';
    return undefined;
  }

  #run(connection: DBusConnection, message: Message): void {
    const { body = [], member } = message;
    const unit = String(body[0]);
    const result = this.nextResult;
    this.nextResult = 'done';
    if (member === 'StopUnit') this.units.delete(unit);
    else if (result === 'done') this.#set(unit, body[2]);
    const job = `${path}/job/${++this.#job}`;
    const emitRemoved = (): void =>
      this.#send(connection, {
        type: signal,
        path,
        interface: manager,
        member: 'JobRemoved',
        signature: 'uoss',
        body: [this.#job, job, unit, result],
      });
    if (this.signalsFirst) emitRemoved();
    this.#reply(connection, message, 'o', [job]);
    if (!this.signalsFirst && !this.stalls) emitRemoved();
  }

  #set(unit: string, properties: unknown): void {
    const pairs = properties as readonly (readonly [string, unknown])[];
    this.units.set(unit, { ...this.units.get(unit), ...Object.fromEntries(pairs) });
  }

  #to(message: Message): Pick<Message, 'replySerial' | 'destination'> {
    return {
      replySerial: message.serial ?? 0,
      ...(message.sender === undefined ? {} : { destination: message.sender }),
    };
  }

  #reply(connection: DBusConnection, message: Message, signature: string, body: unknown[]): void {
    const content = signature === '' ? {} : { signature, body };
    this.#send(connection, { type: methodReturn, ...this.#to(message), ...content });
  }

  #send(connection: DBusConnection, message: Message): void {
    connection.message({ serial: this.#serial++, ...message });
  }
}

// A D-Bus daemon with systemd-logind on it, on a real socket: it answers the calls that the kubelet makes, and sends any message.
// Invariant: a client gets one reply per call.
import { createServer, type Server, type Socket } from 'node:net';
import dbus, { type DBusConnection, type Message } from 'dbus-native';

const { error, methodCall, methodReturn, signal } = dbus.messageType;
const owner = ':1.7';

export class FakeBus {
  /** Every call but those to the bus itself, in order: `Get InhibitDelayMaxUSec`. */
  readonly calls: string[] = [];
  readonly rules: string[] = [];
  readonly owner = owner;
  properties: Readonly<Record<string, readonly [signature: string, value: unknown]>> = {
    PreparingForShutdown: ['b', false],
    InhibitDelayMaxUSec: ['t', 5_000_000n],
  };
  /** Called right after the reply to the question for logind's owner. */
  afterOwner: () => void = () => undefined;
  #serial = 1;
  #server: Server | undefined;
  readonly #clients = new Map<Socket, DBusConnection>();

  async serve(socketPath: string): Promise<void> {
    this.#server = createServer((socket) => {
      const connection = dbus.createConnection({
        stream: socket,
        server: true,
        direct: true,
        returnBigInt: true,
        plainValues: true,
      });
      this.#clients.set(socket, connection);
      socket.on('close', () => this.#clients.delete(socket));
      connection.on('error', () => socket.destroy());
      connection.on('message', (message: Message) => this.#answer(connection, message));
    });
    await new Promise<void>((resolve) => this.#server?.listen(socketPath, resolve));
  }

  /** Sends a signal to every client. */
  emit(message: Pick<Message, 'sender' | 'interface' | 'member' | 'path' | 'signature' | 'body'>): void {
    for (const connection of this.#clients.values())
      connection.message({ type: signal, serial: this.#serial++, ...message });
  }

  dropClients(): void {
    for (const socket of this.#clients.keys()) socket.destroy();
  }

  async close(): Promise<void> {
    this.dropClients();
    await new Promise<void>((resolve) => void this.#server?.close(() => resolve()));
  }

  #answer(connection: DBusConnection, message: Message): void {
    if (message.type !== methodCall) return;
    const { body = [], member = '' } = message;
    if (member === 'Hello') return this.#reply(connection, message, 's', [':1.42']);
    if (member === 'GetNameOwner') {
      this.#reply(connection, message, 's', [owner]);
      return this.afterOwner();
    }
    if (member === 'AddMatch') {
      this.rules.push(String(body[0]));
      return this.#reply(connection, message, '', []);
    }
    this.calls.push(`${member} ${body.slice(member === 'Get' ? 1 : 0).join(' ')}`);
    if (member !== 'Get') return this.#reply(connection, message, '', []);
    const [signature, value] = this.properties[String(body[1])] ?? [];
    if (signature !== undefined)
      return this.#reply(connection, message, 'v', [new dbus.Variant(signature, value)]);
    const errorName = 'org.freedesktop.DBus.Error.ServiceUnknown';
    const replySerial = message.serial ?? 0;
    const text = ['The name is not activatable'];
    connection.message({
      type: error,
      serial: this.#serial++,
      replySerial,
      errorName,
      signature: 's',
      body: text,
    });
  }

  #reply(connection: DBusConnection, message: Message, signature: string, body: unknown[]): void {
    const content = signature === '' ? {} : { signature, body };
    const replySerial = message.serial ?? 0;
    connection.message({ type: methodReturn, serial: this.#serial++, replySerial, ...content });
  }
}

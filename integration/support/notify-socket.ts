// The notify socket of systemd for a service of Type=notify: a datagram socket that collects the received states in
// order. Node has no Unix datagram sockets, so the socket is created by system calls and polled.
import { waitFor } from '../rig/wait.ts';

const unix = 1;
const datagrams = 2;
const closeOnExecAndNonBlocking = 0o2004000;

interface Native {
  socket(domain: number, type: number, protocol: number): number;
  bind(fd: number, address: Uint8Array, length: number): number;
  recv(fd: number, buffer: Uint8Array, length: number, flags: number): number;
  close(fd: number): number;
}

async function loadNative(): Promise<Native> {
  const koffi = await import('koffi');
  const libc = koffi.load(null);
  return {
    socket: libc.func('socket', 'int', ['int', 'int', 'int']) as Native['socket'],
    bind: libc.func('bind', 'int', ['int', 'void *', 'uint32']) as Native['bind'],
    recv: libc.func('recv', 'long', ['int', 'void *', 'size_t', 'int']) as Native['recv'],
    close: libc.func('close', 'int', ['int']) as Native['close'],
  };
}

export class NotifySocket {
  readonly path: string;
  readonly #native: Native;
  readonly #fd: number;
  readonly #states: string[] = [];

  private constructor(path: string, native: Native, fd: number) {
    this.path = path;
    this.#native = native;
    this.#fd = fd;
  }

  static async open(path: string): Promise<NotifySocket> {
    const native = await loadNative();
    const fd = native.socket(unix, datagrams | closeOnExecAndNonBlocking, 0);
    const address = Buffer.concat([Buffer.from([unix, 0]), Buffer.from(path)]);
    if (fd < 0 || native.bind(fd, address, address.length) !== 0) throw new Error(`cannot bind ${path}`);
    return new NotifySocket(path, native, fd);
  }

  /** The states received so far. */
  states(): readonly string[] {
    const buffer = Buffer.alloc(4096);
    for (;;) {
      const length = this.#native.recv(this.#fd, buffer, buffer.length, 0);
      if (length < 0) return [...this.#states];
      this.#states.push(buffer.toString('utf8', 0, length));
    }
  }

  async untilState(state: string, times = 1): Promise<void> {
    await waitFor(() => {
      const states = this.states();
      if (states.filter((each) => each === state).length >= times) return true;
      throw new Error(`received: ${states.join(', ')}`);
    }, `${state} to be received ${times} times`);
  }

  close(): void {
    this.#native.close(this.#fd);
  }
}

// A command in a container over a WebSocket. Invariants: everything that the container writes is passed on in order; if the terminal
// has more than maxPendingBytes to draw, the socket is read no further: a browser has no other way than to keep what it has received,
// so beyond maxHeldBytes the connection is closed.
import {
  bearerProtocol,
  channelProtocol,
  closeStdinMessage,
  parseMessage,
  resizeMessage,
  stdinMessage,
} from './channels.ts';

export interface ExecEnd {
  readonly exitCode: number | undefined;
  readonly why: string;
}

interface ExecDeps {
  readonly url: URL;
  readonly token: string | undefined;
  readonly onOpen: () => void;
  /** Calls back once the data was drawn. */
  readonly write: (data: Uint8Array, drawn: () => void) => void;
  readonly onEnd: (end: ExecEnd) => void;
}

const maxPendingBytes = 1024 * 1024;
const maxHeldBytes = 32 * 1024 * 1024;

export class ExecConnection {
  readonly #deps: ExecDeps;
  readonly #socket: WebSocket;
  #pending = 0;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #wasOpen = false;
  #end: ExecEnd | undefined;
  #isOver = false;

  constructor(deps: ExecDeps) {
    this.#deps = deps;
    const { token, url } = deps;
    const protocols = token === undefined ? [] : [bearerProtocol(token)];
    this.#socket = new WebSocket(url, [channelProtocol, ...protocols]);
    this.#socket.binaryType = 'arraybuffer';
    this.#socket.addEventListener('open', () => {
      this.#wasOpen = true;
      deps.onOpen();
    });
    this.#socket.addEventListener('message', ({ data }: MessageEvent<ArrayBuffer | string>) => {
      this.#take(typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data));
    });
    this.#socket.addEventListener('close', () => this.#finish());
  }

  get wasOpen(): boolean {
    return this.#wasOpen;
  }

  input(text: string): void {
    this.#send(stdinMessage(new TextEncoder().encode(text)));
  }

  /** Bytes that are not UTF-8, such as old mouse reports, one per character. */
  binaryInput(text: string): void {
    this.#send(stdinMessage(Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff)));
  }

  resize(columns: number, rows: number): void {
    this.#send(resizeMessage(columns, rows));
  }

  /** Ends the session; onEnd is not called. */
  close(): void {
    this.#isOver = true;
    this.#send(closeStdinMessage());
    this.#socket.close();
  }

  #send(message: Uint8Array<ArrayBuffer>): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(message);
  }

  #take(bytes: Uint8Array): void {
    const message = parseMessage(bytes);
    if (message.is === 'ended') this.#end = message;
    if (message.is !== 'output' || this.#isOver) return;
    this.#held.push(message.data);
    this.#heldBytes += message.data.length;
    if (this.#heldBytes > maxHeldBytes) {
      this.#end = { exitCode: undefined, why: 'The command writes more than the browser can draw.' };
      this.#held = [];
      this.#socket.close();
    }
    this.#draw();
  }

  #draw(): void {
    while (this.#pending < maxPendingBytes) {
      const data = this.#held.shift();
      if (data === undefined) break;
      this.#heldBytes -= data.length;
      this.#pending += data.length;
      this.#deps.write(data, () => {
        this.#pending -= data.length;
        if (!this.#isOver) this.#draw();
      });
    }
    if (this.#pending === 0 && this.#held.length === 0) this.#report();
  }

  #finish(): void {
    this.#end ??= { exitCode: undefined, why: '' };
    this.#draw();
    this.#report();
  }

  /** After the last output was drawn and the socket was closed. */
  #report(): void {
    const isClosed = this.#socket.readyState === WebSocket.CLOSED;
    if (!isClosed || this.#end === undefined || this.#isOver || this.#pending > 0 || this.#held.length > 0)
      return;
    this.#isOver = true;
    this.#deps.onEnd(this.#end);
  }
}

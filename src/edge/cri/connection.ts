// One connection to a runtime's socket, opened on first use and reopened until it is closed.
// Upstream: the dialling half of staging/src/k8s.io/cri-client.
// Invariants: while the runtime is down calls fail at once; the first call after it is back succeeds, whatever the
// backoff of the background reconnects; `changed` announces each loss and each reconnect once.
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { Channel } from '../../base/channel.ts';
import type { Clock, Timer } from '../../base/clock.ts';

/** Lists of a full node exceed HTTP/2's initial window of 64 KiB, which would cost each a round trip. */
const windowBytes = 1024 * 1024;
/** In units of a million bytes, Node's unit: room for a few of the largest messages at once. */
const sessionMemory = 128;
const firstRetryMs = 100;
const maxRetryMs = 3_000;

export class CriConnection {
  /** Announces whether there is a connection, whenever that changes. The first success counts as a change. */
  readonly changed = new Channel<boolean>();
  readonly path: string;
  readonly #clock: Pick<Clock, 'setTimer'>;
  #session: ClientHttp2Session | undefined;
  #retry: Timer | undefined;
  #retryMs = firstRetryMs;
  #connected = false;
  #closed = false;

  constructor(path: string, clock: Pick<Clock, 'setTimer'>) {
    this.path = path;
    this.#clock = clock;
  }

  get connected(): boolean {
    return this.#connected;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * The session for the next call. A connect to a unix socket fails or succeeds at once, so a session that is still
   * connecting is usable: the call is sent once it is connected, or fails with it.
   */
  session(): ClientHttp2Session {
    this.#retry?.cancel();
    this.#retry = undefined;
    const session = this.#session;
    return session === undefined || session.destroyed || session.closed ? this.#open() : session;
  }

  close(): void {
    this.#closed = true;
    this.#connected = false;
    this.#retry?.cancel();
    const session = this.#session;
    this.#session = undefined;
    session?.destroy();
  }

  #open(): ClientHttp2Session {
    const session = connectHttp2('http://localhost', {
      createConnection: () => connect(this.path),
      settings: { enablePush: false, initialWindowSize: windowBytes },
      maxSessionMemory: sessionMemory,
    });
    this.#session = session;
    session.once('connect', () => session.setLocalWindowSize(windowBytes));
    // Only the settings frame proves that the peer speaks HTTP/2.
    session.once('remoteSettings', () => {
      if (this.#session !== session) return;
      this.#retryMs = firstRetryMs;
      this.#setConnected(true);
    });
    // The calls on the session report the error themselves.
    session.on('error', () => this.#lost(session));
    // The session closes by itself once its calls have ended.
    session.once('goaway', () => this.#lost(session));
    session.once('close', () => this.#lost(session));
    return session;
  }

  /** Reconnects without a call, so that the return of the runtime is noticed. */
  #lost(session: ClientHttp2Session): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#retry = this.#clock.setTimer(this.#retryMs, () => void this.session());
    this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs);
    this.#setConnected(false);
  }

  #setConnected(connected: boolean): void {
    if (this.#connected === connected) return;
    this.#connected = connected;
    this.changed.push(connected);
  }
}

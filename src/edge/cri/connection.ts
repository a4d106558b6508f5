// One connection to a runtime's socket, made when first needed and made again for as long as it is not closed.
// Upstream: the dialling half of staging/src/k8s.io/cri-client.
// Invariants: while the runtime is away calls fail at once; the first call after it came back goes through, whatever
// the back-off of the background attempts; `changed` announces a loss and a comeback once each.
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { Channel } from '../../base/channel.ts';
import type { Clock, Timer } from '../../base/clock.ts';

/** Lists of a full node are longer than HTTP/2's initial window of 64 KiB; without this each waits for a round trip. */
const windowBytes = 1024 * 1024;
/** In units of a million bytes, as Node counts: a few of the largest messages at once. */
const sessionMemory = 128;
const firstRetryMs = 100;
const longestRetryMs = 3_000;

export class CriConnection {
  /** Says whether there is a connection, whenever that changes. The first success counts as a change. */
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
   * The session to make the next call on. A connect to a unix socket fails or succeeds at once, so that one that is not there
   * yet needs no waiting for: the call is sent when it is, or fails with it.
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
    // Only now is it sure that somebody speaks HTTP/2 there.
    session.once('remoteSettings', () => {
      if (this.#session !== session) return;
      this.#retryMs = firstRetryMs;
      this.#note(true);
    });
    // Calls on it hear of it themselves.
    session.on('error', () => this.#lost(session));
    // It closes by itself when what is under way on it has ended.
    session.once('goaway', () => this.#lost(session));
    session.once('close', () => this.#lost(session));
    return session;
  }

  /** It is made again without a call, so that a comeback is noticed. */
  #lost(session: ClientHttp2Session): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    this.#retry = this.#clock.setTimer(this.#retryMs, () => void this.session());
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
    this.#note(false);
  }

  #note(connected: boolean): void {
    if (this.#connected === connected) return;
    this.#connected = connected;
    this.changed.push(connected);
  }
}

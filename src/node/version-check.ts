// Reads the API server's version once connected and after reconnects, and logs one warning if the version skew policy does
// not cover it. A loop with one key. Invariants: nothing waits for it; at most one request every five minutes, and with
// backoff while requests fail.
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, type LoopLoad, on } from '../base/component.ts';
import { isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { computeVersionSkew, type ServerVersion, type VersionSkew } from './version-skew.ts';

interface VersionCheckDeps {
  readonly read: (signal: AbortSignal) => Promise<ServerVersion>;
  readonly kubeletVersion: string;
  /** Announced after every new connection to the API server, which may be another one, or upgraded. */
  readonly connected: Subscribable<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

const minIntervalMs = 5 * 60_000;
const backoff = { initialMs: 1_000, maxMs: minIntervalMs };
const maxVersionLength = 64;

const advice: Readonly<Partial<Record<VersionSkew, string>>> = {
  'kubelet-too-new': 'a kubelet must not be newer than its API server',
  'kubelet-too-old': 'a kubelet may be at most three minor releases older than its API server',
};

export class VersionCheck implements Component {
  readonly name = 'version-check';
  readonly #deps: VersionCheckDeps;
  readonly #queue: KeyedQueue<'version'>;
  #checkedAtMs: number | undefined;
  #lastText = '';

  constructor(deps: VersionCheckDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<'version'>({
      clock: deps.clock,
      parallel: 1,
      run: (_key, signal) => this.#check(signal),
      backoff,
      onError: (_key, err, retryInMs) =>
        deps.log.v(2).info('Failed to read the version of the API server', { err, retryInMs }),
    });
  }

  get wakes() {
    return [on(this.#deps.connected, () => this.#onConnected())];
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.add('version');
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  /** Before the first success the backoff decides, since the request itself may have opened the connection. */
  #onConnected(): void {
    if (this.#checkedAtMs === undefined) return;
    const waitMs = this.#checkedAtMs + minIntervalMs - this.#deps.clock.monotonic();
    this.#queue.addAfter('version', Math.max(0, waitMs));
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { clock, kubeletVersion, log } = this.#deps;
    const server = await this.#read(signal);
    this.#checkedAtMs = clock.monotonic();
    if (server === undefined) return;
    const serverVersion = String(server.gitVersion).slice(0, maxVersionLength);
    const skew = computeVersionSkew(kubeletVersion, server);
    if (`${serverVersion} ${skew}` === this.#lastText) return;
    this.#lastText = `${serverVersion} ${skew}`;
    const versions = { kubeletVersion, serverVersion };
    const reason = advice[skew];
    if (reason === undefined) log.info('Connected to the API server', versions);
    else log.warn('Versions of kubelet and API server are not supported together', { ...versions, reason });
  }

  /** Undefined if the server refuses to report its version to this client, which a retry would not change. */
  async #read(signal: AbortSignal): Promise<ServerVersion | undefined> {
    try {
      return await this.#deps.read(signal);
    } catch (err) {
      if (isKind(err, 'forbidden') || isKind(err, 'not-found') || isKind(err, 'invalid')) return undefined;
      throw err;
    }
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }
}

// Streamed lists: a watch that begins with every present object and marks their end by a bookmark.
// Upstream: watchList in client-go/tools/cache/reflector.go, KEP-3157.
// Invariant: objects are handed over as a whole, once the bookmark has confirmed that none is missing.
import type { KubeObject, WatchEvent } from '../../api/ports/api-client.ts';
import type { Clock } from '../../base/clock.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { statusCodeOf } from './status-error.ts';

const endAnnotation = 'k8s.io/initial-events-end';

/** How long reflectors use plain lists after a server has refused to stream them. */
const refusalMs = 10 * 60_000;
/** Longest silence before the bookmark. A server that does not know the parameter never sends it. */
const silenceMs = 30_000;

/** The parameters of a streamed list; without a version, the most recent state. */
export function watchListQuery(version: string | undefined) {
  return {
    ...(version === undefined ? {} : { resourceVersion: version }),
    resourceVersionMatch: 'NotOlderThan',
    sendInitialEvents: true,
  };
}

/** Whether the API server streams lists. Shared by all reflectors of a client. */
export class WatchListSupport {
  readonly #deps: { readonly enabled: boolean; readonly clock: Clock; readonly log: Logger };
  #refusedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(deps: { readonly enabled: boolean; readonly clock: Clock; readonly log: Logger }) {
    this.#deps = deps;
  }

  mayTry(): boolean {
    const { clock, enabled } = this.#deps;
    return enabled && clock.monotonic() >= this.#refusedUntilMs;
  }

  /**
   * Whether a plain list takes the place of the failed stream. As upstream, it does after every error, except those of a
   * server that is unreachable, busy, or does not have the version.
   */
  fallsBack(err: unknown): boolean {
    const { clock, log } = this.#deps;
    const code = statusCodeOf(err);
    const isUnreachable = code === undefined && isKind(err, 'unavailable');
    if (isUnreachable || code === 429 || code === 410 || isVersionTooLarge(err)) return false;
    // differs from upstream: remembered for all reflectors, so that an old server rejects one request, not one per object.
    if (code === 422 || isSilence(err)) {
      this.#refusedUntilMs = clock.monotonic() + refusalMs;
      log.v(2).info('API server does not stream lists, using plain lists', { err });
    }
    return true;
  }
}

/** Collects the objects of a streamed list until its end. */
export class InitialEvents<T extends KubeObject> {
  readonly #objects = new Map<string, T>();
  readonly #clock: Clock;
  readonly #silent = new AbortController();
  #lastMs: number;
  #timer: { cancel(): void };

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastMs = clock.monotonic();
    this.#timer = clock.setTimer(silenceMs, () => this.#check());
  }

  /** Aborted if the server is silent for too long. */
  get silent(): AbortSignal {
    return this.#silent.signal;
  }

  /** The whole collection after its last event; undefined before. */
  add(event: WatchEvent<T>): readonly T[] | undefined {
    this.#lastMs = this.#clock.monotonic();
    if (event.type === 'BOOKMARK') {
      if (event.object.metadata?.annotations?.[endAnnotation] !== 'true') return undefined;
      this.close();
      const objects = [...this.#objects.values()];
      // The watch continues for minutes, and would keep their first versions in memory.
      this.#objects.clear();
      return objects;
    }
    if (event.type === 'DELETED') this.#objects.delete(keyOf(event.object));
    else this.#objects.set(keyOf(event.object), event.object);
    return undefined;
  }

  close(): void {
    this.#timer.cancel();
  }

  #check(): void {
    const restMs = this.#lastMs + silenceMs - this.#clock.monotonic();
    if (restMs > 0) this.#timer = this.#clock.setTimer(restMs, () => this.#check());
    else
      this.#silent.abort(new KubeletError('timeout', silence, 'the end of the streamed list did not come'));
  }
}

const silence = 'InitialEventsTimeout';

function isSilence(err: unknown): boolean {
  return err instanceof KubeletError && err.reason === silence;
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

/** The server is behind: another one at the same address, or one restored from a backup. */
export function isVersionTooLarge(err: unknown): boolean {
  if (!(err instanceof KubeletError)) return false;
  const details = err.details['statusDetails'] as { causes?: readonly { reason?: string }[] } | undefined;
  return details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false;
}

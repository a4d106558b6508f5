// Lists and watches one collection: streams the list as the beginning of the watch, or lists in pages and watches from there;
// resumes after a broken watch, relists if needed.
// Upstream: client-go/tools/cache/reflector.go, whose timeouts and backoff these are.
// Invariants: the sink receives every object's latest state in order; a broken watch does not cause a relist unless the
// resource version has expired (410) or is newer than the server's; requests to a failing server back off.
import type {
  ApiClient,
  Follow,
  KubeList,
  KubeObject,
  WatchSink,
  WatchTarget,
} from '../../api/ports/api-client.ts';
import { forbiddenRetryMs } from '../../api/ports/authorizer-lag.ts';
import type { Clock } from '../../base/clock.ts';
import { isAbortOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { statusCodeOf } from './status-error.ts';
import { InitialEvents, isVersionTooLarge, WatchListSupport, watchListQuery } from './watch-list.ts';

interface ReflectorDeps {
  readonly client: Pick<ApiClient, 'list' | 'watch'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The gate WatchListClient: prefer streamed lists. */
  readonly watchLists: boolean;
  /** In [0, 1). */
  readonly random?: () => number;
}

const pageSize = 500;
/** Watches last 5 to 10 minutes, so that they do not all reconnect at once. */
const minWatchMs = 5 * 60_000;
const initialDelayMs = 800;
const maxDelayMs = 30_000;
/** The backoff resets after this time without a failure. */
const backoffResetMs = 2 * 60_000;
/** A watch that ends sooner and without an event counts as a failure: something cuts it. */
const shortWatchMs = 1_000;

export function reflector(deps: ReflectorDeps): Follow {
  const { clock, log, watchLists: enabled } = deps;
  const support = new WatchListSupport({ enabled, clock, log });
  return async (target, sink, signal) => {
    await new Reflector(deps, support, target, sink).run(signal);
  };
}

class Reflector<T extends KubeObject> {
  readonly #deps: ReflectorDeps;
  readonly #support: WatchListSupport;
  readonly #target: WatchTarget;
  readonly #sink: WatchSink<T>;
  readonly #delays: RetryDelays;
  /** The last resource version the sink has seen. A list must not be older, or the sink would go back in time. '0': any. */
  #version = '0';
  #mustList = true;
  /** The server does not have `#version`: list the most recent state, at the cost of a read from etcd. */
  #versionLost = false;

  constructor(deps: ReflectorDeps, support: WatchListSupport, target: WatchTarget, sink: WatchSink<T>) {
    this.#deps = deps;
    this.#support = support;
    this.#target = target;
    this.#sink = sink;
    this.#delays = new RetryDelays(deps.clock, deps.random ?? Math.random);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const wasUseful = await this.#listAndWatch(signal);
        if (!wasUseful) await this.#pause(signal, this.#delays.next(false).ms);
      } catch (err) {
        if (isAbortOf(err, signal)) return;
        const delay = this.#delays.next(statusCodeOf(err) === 403);
        this.#report(err, delay.isExpected);
        await this.#pause(signal, delay.ms);
      }
    }
  }

  /** Whether the watch was useful: it lasted, or it delivered an event. */
  async #listAndWatch(signal: AbortSignal): Promise<boolean> {
    if (this.#mustList && this.#support.mayTry()) {
      const initial = new InitialEvents<T>(this.#deps.clock);
      try {
        const wasUseful = await this.#watch(signal, initial);
        // Otherwise the stream ended before its bookmark.
        if (!this.#mustList) return wasUseful;
      } catch (err) {
        if (!this.#mustList || isAbortOf(err, signal) || !this.#support.fallsBack(err)) throw err;
      } finally {
        initial.close();
      }
    }
    if (this.#mustList) await this.#list(signal);
    return await this.#watch(signal);
  }

  #report(err: unknown, isExpected: boolean): void {
    const { log } = this.#deps;
    const { path } = this.#target;
    const code = statusCodeOf(err);
    if (code === 410 || isVersionTooLarge(err)) {
      // The first relist may be served from the server's watch cache if it is not older; the next one must not.
      this.#versionLost = this.#mustList || code !== 410;
      this.#mustList = true;
      log.v(2).info('Resource version of the watch expired, relisting', { path });
      return;
    }
    this.#sink.failed?.(err);
    if (isExpected) log.v(2).info('List or watch was forbidden, retrying', { path, err });
    else log.warn('Failed to list or watch, retrying', { path, err });
  }

  async #pause(signal: AbortSignal, ms: number): Promise<void> {
    await this.#deps.clock.sleep(ms, signal).catch(() => undefined);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const objects: T[] = [];
    let version = '';
    let continueToken: string | undefined;
    const resourceVersion = this.#versionLost ? undefined : this.#version;
    // A list at a minimum version is served whole from the watch cache; a paged one would not be.
    const limit = resourceVersion === undefined || resourceVersion === '0' ? pageSize : undefined;
    do {
      const page: KubeList<T> = await this.#deps.client.list<T>(this.#target.path, {
        signal,
        query: {
          ...this.#selectors(),
          limit,
          ...(continueToken === undefined ? { resourceVersion } : { continue: continueToken }),
        },
      });
      objects.push(...(page.items ?? []));
      version = page.metadata?.resourceVersion ?? '';
      continueToken = page.metadata?.continue || undefined;
    } while (continueToken !== undefined);
    this.#replace(objects, version);
  }

  #replace(objects: readonly T[], version: string): void {
    this.#sink.replace(objects);
    this.#version = version;
    this.#mustList = false;
    this.#versionLost = false;
  }

  /** With `initial`, the watch begins with the present objects. */
  async #watch(signal: AbortSignal, initial?: InitialEvents<T>): Promise<boolean> {
    const { client, clock, random = Math.random } = this.#deps;
    const beganMs = clock.monotonic();
    let events = 0;
    const query = {
      ...this.#selectors(),
      ...(initial === undefined ? { resourceVersion: this.#version } : watchListQuery(this.#knownVersion())),
      allowWatchBookmarks: true,
      timeoutSeconds: Math.round((minWatchMs * (1 + random())) / 1000),
    };
    const untilSilent = initial === undefined ? signal : AbortSignal.any([signal, initial.silent]);
    for await (const event of client.watch<T>(this.#target.path, query, untilSilent)) {
      events++;
      this.#delays.succeeded();
      if (initial !== undefined && this.#mustList) {
        const objects = initial.add(event);
        if (objects !== undefined) this.#replace(objects, event.object.metadata?.resourceVersion ?? '');
        continue;
      }
      if (event.type === 'DELETED') this.#sink.remove(event.object);
      else if (event.type !== 'BOOKMARK') this.#sink.upsert(event.object);
      this.#version = event.object.metadata?.resourceVersion ?? this.#version;
    }
    return events > 0 || clock.monotonic() - beganMs >= shortWatchMs;
  }

  /** The version that a list must not be older than; undefined for the most recent state. */
  #knownVersion(): string | undefined {
    return this.#versionLost || this.#version === '0' ? undefined : this.#version;
  }

  #selectors(): { fieldSelector?: string; labelSelector?: string } {
    const { fieldSelector, labelSelector } = this.#target;
    return {
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
    };
  }
}

/** 0.8 s to 30 s, doubled each time, with jitter of up to 100 %; resets after two minutes without a failure. */
class RetryDelays {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  next(wasForbidden: boolean): { readonly ms: number; readonly isExpected: boolean } {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#lastMs > backoffResetMs) this.#failures = 0;
    this.#lastMs = nowMs;
    // differs from upstream: a node authorizer whose graph lags behind soon grants what it forbids now.
    if (wasForbidden && this.#failures < forbiddenRetryMs.length)
      return { ms: forbiddenRetryMs[this.#failures++] ?? 0, isExpected: true };
    const plainMs = Math.min(initialDelayMs * 2 ** this.#failures, maxDelayMs);
    this.#failures++;
    return { ms: plainMs * (1 + this.#random()), isExpected: false };
  }

  succeeded(): void {
    this.#failures = 0;
  }
}

// Follows one collection: lists it in pages, watches from there, resumes where it left off, lists again when it must.
// Upstream: client-go/tools/cache/reflector.go, whose time-outs and back-off these are.
// Invariants: the sink hears of every object's latest state in order; after a broken watch nothing is listed again unless
// the server has forgotten the place (410) or says that it is another server's; a failing server is asked less and less often.
import type {
  ApiClient,
  Follow,
  KubeList,
  KubeObject,
  WatchSink,
  WatchTarget,
} from '../../api/ports/api-client.ts';
import { afterRefusalMs } from '../../api/ports/authorizer-lag.ts';
import type { Clock } from '../../base/clock.ts';
import { isAbortOf, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { statusCodeOf } from './status-error.ts';

interface ReflectorDeps {
  readonly client: Pick<ApiClient, 'list' | 'watch'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** In [0, 1). */
  readonly random?: () => number;
}

const pageSize = 500;
/** A watch lasts 5 to 10 minutes, so that not all of them come back at once. */
const shortestWatchMs = 5 * 60_000;
const firstDelayMs = 800;
const longestDelayMs = 30_000;
/** A server that was well for so long is trusted again. */
const forgiveMs = 2 * 60_000;
/** A watch that ends sooner, with nothing told, is counted as a failure: somebody cuts it. */
const shortWatchMs = 1_000;

export function reflector(deps: ReflectorDeps): Follow {
  return async (target, sink, signal) => {
    await new Reflector(deps, target, sink).run(signal);
  };
}

class Reflector<T extends KubeObject> {
  readonly #deps: ReflectorDeps;
  readonly #target: WatchTarget;
  readonly #sink: WatchSink<T>;
  readonly #delays: Delays;
  /** The latest that was told. A list must not be older, so that nobody is sent back in time; at first any will do. */
  #version = '0';
  #mustList = true;
  /** The server does not have `#version`: the present state is asked for, whatever that costs it. */
  #versionLost = false;

  constructor(deps: ReflectorDeps, target: WatchTarget, sink: WatchSink<T>) {
    this.#deps = deps;
    this.#target = target;
    this.#sink = sink;
    this.#delays = new Delays(deps.clock, deps.random ?? Math.random);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#mustList) await this.#list(signal);
        const wentWell = await this.#watch(signal);
        if (!wentWell) await this.#pause(signal, this.#delays.next(false).ms);
      } catch (err) {
        if (isAbortOf(err, signal)) return;
        const delay = this.#delays.next(statusCodeOf(err) === 403);
        this.#note(err, delay.isUsual);
        await this.#pause(signal, delay.ms);
      }
    }
  }

  #note(err: unknown, isUsual: boolean): void {
    const { log } = this.#deps;
    const { path } = this.#target;
    const code = statusCodeOf(err);
    if (code === 410 || isVersionTooLarge(err)) {
      // First the list may still come from the server's memory, if only it is not older; then it must not.
      this.#versionLost = this.#mustList || code !== 410;
      this.#mustList = true;
      log.v(2).info('The API server no longer knows where the watch was, listing again', { path });
      return;
    }
    this.#sink.failed?.(err);
    if (isUsual) log.v(2).info('List or watch refused for a moment', { path, err });
    else log.warn('List or watch failed, trying again', { path, err });
  }

  async #pause(signal: AbortSignal, ms: number): Promise<void> {
    await this.#deps.clock.sleep(ms, signal).catch(() => undefined);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const objects: T[] = [];
    let version = '';
    let from: string | undefined;
    const resourceVersion = this.#versionLost ? undefined : this.#version;
    // A list that must not be older than a version comes whole from the server's memory; a page of it would not.
    const limit = resourceVersion === undefined || resourceVersion === '0' ? pageSize : undefined;
    do {
      const page: KubeList<T> = await this.#deps.client.list<T>(this.#target.path, {
        signal,
        query: {
          ...this.#selectors(),
          limit,
          ...(from === undefined ? { resourceVersion } : { continue: from }),
        },
      });
      objects.push(...(page.items ?? []));
      version = page.metadata?.resourceVersion ?? '';
      from = page.metadata?.continue || undefined;
    } while (from !== undefined);
    this.#sink.replace(objects);
    this.#version = version;
    this.#mustList = false;
    this.#versionLost = false;
  }

  /** Whether the watch did some good: it lasted, or something was told. */
  async #watch(signal: AbortSignal): Promise<boolean> {
    const { client, clock, random = Math.random } = this.#deps;
    const beganMs = clock.monotonic();
    let events = 0;
    const query = {
      ...this.#selectors(),
      resourceVersion: this.#version,
      allowWatchBookmarks: true,
      timeoutSeconds: Math.round((shortestWatchMs * (1 + random())) / 1000),
    };
    for await (const event of client.watch<T>(this.#target.path, query, signal)) {
      events++;
      this.#delays.succeeded();
      if (event.type === 'DELETED') this.#sink.remove(event.object);
      else if (event.type !== 'BOOKMARK') this.#sink.upsert(event.object);
      this.#version = event.object.metadata?.resourceVersion ?? this.#version;
    }
    return events > 0 || clock.monotonic() - beganMs >= shortWatchMs;
  }

  #selectors(): { fieldSelector?: string; labelSelector?: string } {
    const { fieldSelector, labelSelector } = this.#target;
    return {
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
    };
  }
}

/** Another server behind the same address, or one restored from a backup: it has not come this far. */
function isVersionTooLarge(err: unknown): boolean {
  if (!(err instanceof KubeletError)) return false;
  const details = err.details['statusDetails'] as { causes?: readonly { reason?: string }[] } | undefined;
  return details?.causes?.some(({ reason }) => reason === 'ResourceVersionTooLarge') ?? false;
}

/** 0.8 s to 30 s, doubled each time, up to twice as long by chance; from the start again after two good minutes. */
class Delays {
  readonly #clock: Clock;
  readonly #random: () => number;
  #failures = 0;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  next(wasForbidden: boolean): { readonly ms: number; readonly isUsual: boolean } {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#lastMs > forgiveMs) this.#failures = 0;
    this.#lastMs = nowMs;
    // differs from upstream: an authorizer that is behind us grants soon what it refuses now.
    if (wasForbidden && this.#failures < afterRefusalMs.length)
      return { ms: afterRefusalMs[this.#failures++] ?? 0, isUsual: true };
    const plainMs = Math.min(firstDelayMs * 2 ** this.#failures, longestDelayMs);
    this.#failures++;
    return { ms: plainMs * (1 + this.#random()), isUsual: false };
  }

  succeeded(): void {
    this.#failures = 0;
  }
}

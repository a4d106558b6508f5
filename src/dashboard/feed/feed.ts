// Serves GET /ui/api/stream: the live data of the node's page as server-sent events. Owns the viewers. Upstream has no counterpart.
// Invariants: at most 64 viewers; 5 s after the last one, nothing runs and nothing is kept; a stream ends by itself, so that credentials
// are checked again with every reconnect; a viewer that does not read is disconnected.
import type { HttpRequest, HttpResponse } from '../../api/ports/http.ts';
import type { Hello } from '../../api/ports/node-page.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { encodeEvent, encodeRetry, heartbeat } from './event-stream.ts';
import type { FeedMetrics } from './feed-metrics.ts';
import { FeedRun, type FeedSources, samplePeriodMs } from './feed-run.ts';
import { Viewer } from './viewer.ts';

interface FeedDeps {
  readonly identity: {
    /** Random for each process. */
    readonly instance: string;
    readonly nodeName: string;
    readonly version: string;
    readonly startedAtMs: number;
  };
  readonly sources: FeedSources;
  readonly metrics: FeedMetrics;
  readonly clock: Clock;
  /** In [0, 1): spreads the reconnects of viewers. */
  readonly random: () => number;
  /** Resolves after other pending work has run. */
  readonly pause: () => Promise<void>;
  readonly log: Logger;
}

type Access = Hello['may'];

const maxViewers = 64;
const heartbeatMs = 15_000;
const unreadMs = 30_000;
const lifetimeMs = 300_000;
const reconnectMs = 2_000;
/** How long sampling continues for a viewer that reconnects: with another view of the page, or after the lifetime of its stream. */
const lingerMs = 5_000;
/** How long a stopping kubelet waits until its viewers have read the last message. */
const drainMs = 500;
const retryAfterSeconds = 10;
const maxUidLength = 253;

export class Feed implements Component {
  readonly name = 'dashboard-feed';
  readonly #deps: FeedDeps;
  readonly #viewers = new Set<Viewer>();
  /** Ended, with messages that their clients have not read. */
  readonly #leaving = new Set<Viewer>();
  #run: FeedRun | undefined;
  /** Until then the run waits for a viewer that reconnects. */
  #linger: Timer | undefined;
  #isStopping = false;
  #heartbeatDueMs = 0;
  #lastError = '';
  #onEmpty: () => void = () => undefined;

  constructor(deps: FeedDeps) {
    this.#deps = deps;
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return Promise.resolve({ stopped: this.#drain(signal) });
  }

  /** `may`: what the client is allowed to do, as the page shows it; the routes check it again. */
  stream({ query }: Pick<HttpRequest, 'query'>, may: Access = { logs: true, exec: false }): HttpResponse {
    const pod = query.get('pod') ?? undefined;
    if (pod !== undefined && (pod === '' || pod.length > maxUidLength))
      return refusal(400, 'pod must be the UID of a pod');
    if (this.#isStopping) return refusal(503, 'the kubelet is stopping');
    if (this.#viewers.size >= maxViewers)
      return refusal(
        503,
        `${maxViewers} viewers are connected, which is the limit; close one or try again later`,
      );
    const { clock } = this.#deps;
    const health = query.get('health') === '1';
    const viewer = new Viewer({ clock, pod, health, onLeave: (each) => this.#leave(each) });
    viewer.offer('retry', encodeRetry(reconnectMs));
    viewer.offer('hello', encodeEvent('hello', this.#hello(may)));
    this.#viewers.add(viewer);
    this.#deps.metrics.setViewers(this.#viewers.size);
    this.#linger?.cancel();
    if (this.#run === undefined) this.#begin();
    else this.#run.welcome(viewer);
    return { status: 200, headers: streamHeaders, body: viewer, stalledMs: unreadMs };
  }

  #hello(may: Access): Hello {
    const { clock, identity } = this.#deps;
    const { instance, nodeName, startedAtMs, version } = identity;
    return { instance, nodeName, version, startedAtMs, nowMs: clock.now(), samplePeriodMs, may };
  }

  #begin(): void {
    const { clock, metrics, pause, sources } = this.#deps;
    this.#heartbeatDueMs = clock.monotonic() + heartbeatMs;
    this.#run = new FeedRun({
      sources,
      viewers: this.#viewers,
      onSecond: () => this.#checkViewers(),
      observeSample: (seconds) => metrics.observeSample(seconds),
      onError: (err) => this.#logError(err),
      clock,
      pause,
    });
    this.#run.start();
  }

  #checkViewers(): void {
    const { clock, metrics, random } = this.#deps;
    const nowMs = clock.monotonic();
    const isHeartbeatDue = nowMs >= this.#heartbeatDueMs;
    if (isHeartbeatDue) this.#heartbeatDueMs = nowMs + heartbeatMs;
    for (const viewer of this.#viewers) {
      if (viewer.unreadMs() >= unreadMs) {
        metrics.countDropped();
        viewer.drop();
        this.#leave(viewer);
      } else if (nowMs - viewer.connectedMs >= lifetimeMs) {
        this.#end(viewer, 'credentials are checked again', Math.round(reconnectMs * random()));
      } else if (isHeartbeatDue) viewer.offer('heartbeat', heartbeat);
    }
  }

  #end(viewer: Viewer, why: string, retryMs: number): void {
    viewer.end(encodeEvent('bye', { why, retryMs }));
    this.#leaving.add(viewer);
    this.#remove(viewer);
  }

  #leave(viewer: Viewer): void {
    this.#remove(viewer);
    if (this.#leaving.delete(viewer) && this.#leaving.size === 0) this.#onEmpty();
  }

  #remove(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    this.#deps.metrics.setViewers(this.#viewers.size);
    this.#run?.leave(viewer);
    if (this.#viewers.size === 0) this.#linger = this.#deps.clock.setTimer(lingerMs, () => this.#stopRun());
  }

  #stopRun(): void {
    this.#linger?.cancel();
    this.#run?.stop();
    this.#run = undefined;
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#isStopping = true;
    for (const viewer of this.#viewers) this.#end(viewer, 'the kubelet is stopping', reconnectMs);
    this.#stopRun();
    if (this.#leaving.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = this.#deps.clock.setTimer(drainMs, resolve);
      this.#onEmpty = () => {
        timer.cancel();
        resolve();
      };
    });
    for (const viewer of this.#leaving) viewer.drop();
  }

  /** Once until another one occurs: it may repeat every second. */
  #logError(err: unknown): void {
    const text = describeError(err);
    if (text === this.#lastError) return;
    this.#lastError = text;
    this.#deps.log.error("Failed to compose the data of the node's page", { err });
  }
}

const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  // For proxies that would collect the events before they pass them on.
  'x-accel-buffering': 'no',
};

function refusal(status: number, text: string): HttpResponse {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
  const retry = status === 503 ? { 'retry-after': String(retryAfterSeconds) } : {};
  return { status, headers: { ...headers, ...retry }, body: `${text}\n` };
}

// Publishes the pods of a manifest URL. Upstream: pkg/kubelet/config (http.go).
// A loop with one key and a timer. Invariants: a failed response, or one without a usable pod, keeps the last good pods;
// nothing is published before the first response, since no answer does not mean no pods.

import type { Pod } from '../api/k8s/types.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component, LoopLoad } from '../base/component.ts';
import { describeError, isAbort, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import type { PodsOnNode } from './choose-uid.ts';
import { maxManifestBytes } from './decode/decode-manifest.ts';
import { type BuildPods, mergeManifest, reportNewPods } from './manifest-pods.ts';
import { uniquePods } from './unique-pods.ts';

export interface ManifestResponse {
  readonly status: number;
  readonly body: Uint8Array;
}

export interface ManifestRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly limitBytes: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

interface HttpSourceDeps {
  /** Follows redirects. Throws without a response and if it is too large. */
  readonly get: (request: ManifestRequest) => Promise<ManifestResponse>;
  readonly buildPods: BuildPods;
  /** What is on the node already; never rejects. */
  readonly podsOnNode: () => Promise<PodsOnNode>;
  readonly publish: (source: 'http', pods: readonly Pod[]) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly endpoint: { readonly url: string; readonly headers: Readonly<Record<string, readonly string[]>> };
  /** Read for each check; after a change call poke(). */
  readonly httpCheckMs: number;
  readonly staticPods: { readonly nodeName: string; readonly strictIps?: boolean };
}

const timeoutMs = 10_000;
/** An unchanged response that took too much time or memory to decode is retried after this. */
const retryAfterMs = 600_000;
/** How many different failures are logged as errors until the next success; others are logged at level 4. */
const maxLoggedFailures = 8;

interface LastResponse {
  readonly body: Uint8Array;
  readonly reason: string;
  /** By the monotonic clock. */
  readonly retryAtMs?: number;
}

export class HttpSource implements Component {
  readonly name = 'http-source';
  readonly #deps: HttpSourceDeps;
  readonly #queue: KeyedQueue<'read'>;
  readonly #redactedUrl: string;
  #pods: readonly Pod[] | undefined;
  /** The last complete response and its problem; an identical one is not decoded again. */
  #last: LastResponse | undefined;
  readonly #logged = new Set<string>();

  constructor(deps: HttpSourceDeps) {
    this.#deps = deps;
    this.#redactedUrl = redact(deps.endpoint.url);
    this.#queue = new KeyedQueue<'read'>({
      clock: deps.clock,
      parallel: 1,
      run: (_key, signal) => this.#run(signal),
      get backoff() {
        return { initialMs: 1000, maxMs: Math.max(1000, deps.httpCheckMs) };
      },
      onError: (_key, err) => deps.log.error('Failed to read pods from URL', { url: this.#redactedUrl, err }),
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  /** Does not wait for a response: the server may itself be a pod of this node. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#deps.log.v(1).info('Watching URL', { url: this.#redactedUrl });
    this.#queue.add('read');
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  /** Reads now. */
  poke(): void {
    this.#queue.addUnlessBackingOff('read');
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll();
    await this.#queue.stop();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { endpoint, get } = this.#deps;
    try {
      const response = await get({ ...endpoint, limitBytes: maxManifestBytes, timeoutMs, signal });
      if (response.status === 200) await this.#accept(response.body, signal);
      else this.#failed(`the server responded with status ${response.status}`);
    } catch (err) {
      if (isAbort(err)) throw err;
      this.#failed(describeError(err));
    } finally {
      this.#queue.addAfter('read', this.#deps.httpCheckMs);
    }
  }

  async #accept(body: Uint8Array, signal: AbortSignal): Promise<void> {
    if (!this.#isKnown(body)) this.#last = await this.#attempt(body, signal);
    const reason = this.#last?.reason ?? '';
    if (reason === '') this.#succeeded();
    else this.#failed(reason);
  }

  #isKnown(body: Uint8Array): boolean {
    const last = this.#last;
    if (last === undefined || Buffer.compare(last.body, body) !== 0) return false;
    return this.#deps.clock.monotonic() < (last.retryAtMs ?? Number.POSITIVE_INFINITY);
  }

  async #attempt(body: Uint8Array, signal: AbortSignal): Promise<LastResponse> {
    try {
      return { body, reason: await this.#read(body, signal) };
    } catch (err) {
      if (!isKind(err, 'timeout') && !isKind(err, 'invalid')) throw err;
      return { body, reason: describeError(err), retryAtMs: this.#deps.clock.monotonic() + retryAfterMs };
    }
  }

  /** Publishes the usable pods. Returns the problems of the others, empty if there are none. */
  async #read(body: Uint8Array, signal: AbortSignal): Promise<string> {
    const { clock, endpoint, log, buildPods, podsOnNode, staticPods } = this.#deps;
    if (body.length === 0) {
      // differs from upstream: an empty response removes all pods there. Here an empty PodList does.
      if (this.#pods === undefined) this.#publish([]);
      return 'the response is empty';
    }
    const from = { source: 'http' as const, origin: endpoint.url, nowMs: clock.now() };
    const onNode = await podsOnNode();
    const built = await buildPods(body, { ...staticPods, ...from, onNode }, signal);
    reportNewPods(log, built, this.#pods ?? []);
    const read = mergeManifest(built, this.#pods ?? [], staticPods.nodeName);
    const { pods, rejected } = uniquePods([[endpoint.url, read.pods]]);
    const reasons = [...read.reasons, ...(rejected.get(endpoint.url) ?? [])];
    if (read.unknownFields.length > 0)
      log.warn('Ignored unknown fields of manifest', {
        url: this.#redactedUrl,
        fields: read.unknownFields,
      });
    // A response without any usable pod is most likely not the manifest.
    if (read.pods.length > read.kept.length || reasons.length === 0) this.#publish(pods);
    return reasons.join('; ');
  }

  #publish(pods: readonly Pod[]): void {
    const before = this.#pods;
    this.#pods = pods;
    if (before !== undefined && before.length === pods.length && pods.every((pod, at) => pod === before[at]))
      return;
    this.#deps.publish('http', pods);
  }

  #failed(reason: string): void {
    const { log } = this.#deps;
    const fields = { url: this.#redactedUrl, reason };
    if (this.#logged.has(reason) || this.#logged.size >= maxLoggedFailures) {
      log.v(4).info('Failed to read pods from URL', fields);
      return;
    }
    this.#logged.add(reason);
    log.error('Failed to read pods from URL', fields);
  }

  #succeeded(): void {
    if (this.#logged.size > 0)
      this.#deps.log.info('Resumed reading pods from URL', { url: this.#redactedUrl });
    this.#logged.clear();
  }
}

/** Without credentials and query, for the log. */
function redact(text: string): string {
  if (!URL.canParse(text)) return 'an invalid URL';
  const { origin, pathname, protocol } = new URL(text);
  return origin === 'null' ? protocol : `${origin}${pathname}`;
}

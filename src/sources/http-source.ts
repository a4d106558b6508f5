// Turns what a URL answers into pods. Upstream: pkg/kubelet/config (http.go).
// A loop with one key and a timer. Invariants: an answer that fails or gives no usable pod leaves the last good pods as
// they are; nothing is published before the first answer, since silence does not mean that there are no pods.
import type { Pod } from '../api/k8s/types.ts';
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { describeError, isAbort, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { maxManifestBytes } from './decode/decode-manifest.ts';
import { type MakePods, readManifest } from './manifest-pods.ts';
import { uniquePods } from './unique-pods.ts';

export interface ManifestAnswer {
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
  /** Follows redirects; throws when there is no answer or too large a one. */
  readonly get: (request: ManifestRequest) => Promise<ManifestAnswer>;
  readonly makePods: MakePods;
  readonly publish: (source: 'http', pods: readonly Pod[]) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly endpoint: { readonly url: string; readonly headers: Readonly<Record<string, readonly string[]>> };
  readonly httpCheckMs: number;
  readonly staticPods: { readonly nodeName: string; readonly forbidApiReferences: boolean };
}

const timeoutMs = 10_000;
/** An answer that took too much time or memory to read is tried again after this, though it is the same. */
const againMs = 600_000;
/** As many different failures are told until the next success; the others are for those who ask for detail. */
const failuresShown = 8;

interface LastAnswer {
  readonly body: Uint8Array;
  readonly reason: string;
  /** By the monotonic clock. */
  readonly againAtMs?: number;
}

export class HttpSource implements Component {
  readonly name = 'http source';
  readonly #deps: HttpSourceDeps;
  readonly #queue: KeyedQueue<'read'>;
  readonly #shownUrl: string;
  #pods: readonly Pod[] | undefined;
  /** What was last answered in full and what was wrong with it; the same again has nothing new to say. */
  #last: LastAnswer | undefined;
  readonly #told = new Set<string>();

  constructor(deps: HttpSourceDeps) {
    this.#deps = deps;
    this.#shownUrl = withoutSecrets(deps.endpoint.url);
    this.#queue = new KeyedQueue<'read'>({
      clock: deps.clock,
      parallel: 1,
      run: (_key, signal) => this.#run(signal),
      backoff: { initialMs: 1000, maxMs: Math.max(1000, deps.httpCheckMs) },
      onError: (_key, err) => deps.log.error('Reading pods from URL failed', { url: this.#shownUrl, err }),
    });
  }

  /** Does not wait for an answer: the server may itself be a pod of this node. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#deps.log.v(1).info('Watching URL', { url: this.#shownUrl });
    this.#queue.add('read');
    this.#queue.start();
    return { stopped: this.#stopAfter(signal) };
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    this.#queue.abortAll();
    await this.#queue.stop();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { endpoint, get, httpCheckMs } = this.#deps;
    try {
      const answer = await get({ ...endpoint, limitBytes: maxManifestBytes, timeoutMs, signal });
      if (answer.status === 200) await this.#take(answer.body, signal);
      else this.#failed(`the server answered with status ${answer.status}`);
    } catch (err) {
      if (isAbort(err)) throw err;
      this.#failed(describeError(err));
    } finally {
      this.#queue.addAfter('read', httpCheckMs);
    }
  }

  async #take(body: Uint8Array, signal: AbortSignal): Promise<void> {
    if (!this.#isKnown(body)) this.#last = await this.#attempt(body, signal);
    const reason = this.#last?.reason ?? '';
    if (reason === '') this.#succeeded();
    else this.#failed(reason);
  }

  #isKnown(body: Uint8Array): boolean {
    const last = this.#last;
    if (last === undefined || Buffer.compare(last.body, body) !== 0) return false;
    return this.#deps.clock.monotonic() < (last.againAtMs ?? Number.POSITIVE_INFINITY);
  }

  async #attempt(body: Uint8Array, signal: AbortSignal): Promise<LastAnswer> {
    try {
      return { body, reason: await this.#read(body, signal) };
    } catch (err) {
      if (!isKind(err, 'timeout') && !isKind(err, 'invalid')) throw err;
      return { body, reason: describeError(err), againAtMs: this.#deps.clock.monotonic() + againMs };
    }
  }

  /** Takes what is usable; returns what is not, or nothing. */
  async #read(body: Uint8Array, signal: AbortSignal): Promise<string> {
    const { clock, endpoint, log, makePods, staticPods } = this.#deps;
    if (body.length === 0) {
      // differs from upstream: there an empty answer takes all pods away. An empty PodList does that here.
      if (this.#pods === undefined) this.#publish([]);
      return 'the answer is empty';
    }
    const origin = { ...staticPods, source: 'http' as const, origin: endpoint.url, nowMs: clock.now() };
    const made = await makePods(body, origin, signal);
    const read = readManifest(made, this.#pods ?? [], staticPods.nodeName);
    const { pods, refused } = uniquePods([[endpoint.url, read.pods]]);
    const reasons = [...read.reasons, ...(refused.get(endpoint.url) ?? [])];
    if (read.unknownFields.length > 0)
      log.warn('Manifest has unknown fields, ignoring them', {
        url: this.#shownUrl,
        fields: read.unknownFields,
      });
    // An answer of which nothing can be used is most likely not the manifest at all.
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
    const fields = { url: this.#shownUrl, reason };
    if (this.#told.has(reason) || this.#told.size >= failuresShown) {
      log.v(4).info('Failed to read pods from URL', fields);
      return;
    }
    this.#told.add(reason);
    log.error('Failed to read pods from URL', fields);
  }

  #succeeded(): void {
    if (this.#told.size > 0) this.#deps.log.info('Read pods from URL again', { url: this.#shownUrl });
    this.#told.clear();
  }
}

/** Credentials and query strings are not for the log. */
function withoutSecrets(text: string): string {
  if (!URL.canParse(text)) return 'an invalid URL';
  const { origin, pathname, protocol } = new URL(text);
  return origin === 'null' ? protocol : `${origin}${pathname}`;
}

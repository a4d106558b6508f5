// In-flight pulls, shared among the pods that wait for them. Upstream: pkg/kubelet/images/puller.go and the throttling in
// helpers.go.
// Invariants: an image with the same credentials is pulled once, however many pods wait for it; a pod that stops waiting does
// not cancel a pull that others wait for, and a pull without waiters is cancelled; a pull that hangs does not block others for
// longer than its lease.

import type { Image, PodSandboxConfig } from '../api/cri/generated/runtime/v1/api.ts';
import type { CriImages, CriRequest } from '../api/cri/runtime.ts';
import { raceAbort } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, isAbort, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { TokenBucket } from '../base/rate-limit.ts';
import { Slots } from '../base/slots.ts';
import type { PullCredential } from './credentials/keyring.ts';
import { joinedFailure } from './pull-error.ts';

/** Read for each pull, so that they may change. */
interface PullLimits {
  /** How many pulls may run at once. */
  readonly parallelPulls: number;
  /** 0: unlimited. */
  readonly pullQps: number;
  readonly pullBurst: number;
}

interface SharedPullsDeps {
  readonly limits: PullLimits;
  readonly images: Pick<CriImages, 'imageStatus' | 'pullImage'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The limits that KubeletConfiguration sets, read from it each time. */
export function pullLimits(config: {
  readonly serializeImagePulls: boolean;
  readonly maxParallelImagePulls?: number | undefined;
  readonly registryPullQPS: number;
  readonly registryBurst: number;
}): PullLimits {
  return {
    get parallelPulls() {
      return config.serializeImagePulls ? 1 : (config.maxParallelImagePulls ?? Number.MAX_SAFE_INTEGER);
    },
    get pullQps() {
      return config.registryPullQPS;
    },
    get pullBurst() {
      return config.registryBurst;
    },
  };
}

export interface PullRequest {
  /** With its tag. */
  readonly image: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly sandboxConfig: CriRequest<PodSandboxConfig>;
  /** Another runtime handler may have its own image store. */
  readonly runtimeClass: string;
  /** Tried in order; pulled without credentials if there are none. */
  readonly credentials: readonly PullCredential[];
}

export interface PullResult {
  readonly imageRef: string;
  readonly used: PullCredential | undefined;
  /** The image after the pull; undefined if the runtime does not return it. */
  readonly image: Image | undefined;
  /** Without the time it was queued. */
  readonly tookMs: number;
}

interface Pull {
  readonly done: Promise<PullResult>;
  readonly abort: AbortController;
  waiters: number;
}

/** A pull that hangs for this long no longer blocks others. */
const pullLeaseMs = 120_000;
/** Longer than a pod takes from inspecting an image to requesting its pull. */
const recentMs = 60_000;

export class SharedPulls {
  readonly #deps: SharedPullsDeps;
  readonly #pulls = new Map<string, Pull>();
  /** Pulls that completed a moment ago, for pods that found the image missing before that. */
  readonly #recent = new Map<string, { readonly result: PullResult; readonly atMs: number }>();
  readonly #slots: Slots;
  readonly #limit: TokenBucket;

  constructor(deps: SharedPullsDeps) {
    this.#deps = deps;
    const { clock, limits } = deps;
    this.#slots = new Slots({
      clock,
      get count() {
        return limits.parallelPulls;
      },
      leaseMs: pullLeaseMs,
    });
    this.#limit = new TokenBucket({
      clock,
      get qps() {
        return limits.pullQps;
      },
      get burst() {
        return limits.pullBurst;
      },
    });
  }

  /** Pulls that wait for a slot may start now. */
  limitsChanged(): void {
    this.#slots.countChanged();
  }

  /** `sinceMs`: when the image was found missing. A pull that completed after that is reused. */
  async pull(request: PullRequest, sinceMs: number, signal: AbortSignal): Promise<PullResult> {
    const key = keyOf(request);
    const recent = this.#recent.get(key);
    if (recent !== undefined && recent.atMs >= sinceMs) return recent.result;
    const pull = this.#pulls.get(key) ?? this.#start(key, request);
    pull.waiters += 1;
    try {
      return await raceAbort(pull.done, signal);
    } finally {
      pull.waiters -= 1;
      if (pull.waiters === 0) this.#abandon(key, pull, signal);
    }
  }

  #start(key: string, request: PullRequest): Pull {
    const abort = new AbortController();
    const done = this.#run(request, abort.signal)
      .then((result) => this.#remember(key, result))
      .finally(() => this.#drop(key, pull));
    // Every waiter gets the outcome through its own race; the failure of a pull without waiters is ignored.
    done.catch(() => undefined);
    const pull: Pull = { done, abort, waiters: 0 };
    this.#pulls.set(key, pull);
    return pull;
  }

  #remember(key: string, result: PullResult): PullResult {
    const nowMs = this.#deps.clock.monotonic();
    for (const [old, { atMs }] of this.#recent) if (nowMs - atMs > recentMs) this.#recent.delete(old);
    this.#recent.set(key, { result, atMs: nowMs });
    return result;
  }

  /** Cancels a pull without waiters; the next request starts another one. */
  #abandon(key: string, pull: Pull, { reason }: AbortSignal): void {
    this.#drop(key, pull);
    pull.abort.abort(reason);
  }

  #drop(key: string, pull: Pull): void {
    if (this.#pulls.get(key) === pull) this.#pulls.delete(key);
  }

  async #run(request: PullRequest, signal: AbortSignal): Promise<PullResult> {
    const { clock, log } = this.#deps;
    const { image } = request;
    const slot = await this.#slots.acquire(0, signal);
    try {
      if (!this.#limit.tryTake()) throw new KubeletError('unavailable', 'UNKNOWN', 'pull QPS exceeded');
      const startedMs = clock.monotonic();
      log.info('Pulling image', { image, credentials: request.credentials.length });
      const pulled = await this.#tryAll(request, signal);
      const found = await this.#inspect(request, signal);
      const tookMs = clock.monotonic() - startedMs;
      log.info('Pulled image', { image, imageRef: pulled.imageRef, tookMs: Math.round(tookMs) });
      return { ...pulled, image: found, tookMs };
    } finally {
      slot.release();
    }
  }

  async #tryAll(
    request: PullRequest,
    signal: AbortSignal,
  ): Promise<{ readonly imageRef: string; readonly used: PullCredential | undefined }> {
    const { annotations, credentials, image, sandboxConfig } = request;
    const failures: unknown[] = [];
    for (const used of credentials.length === 0 ? [undefined] : credentials) {
      const auth =
        used === undefined ? {} : { auth: { username: used.username, password: used.password.reveal() } };
      try {
        const { imageRef } = await this.#deps.images.pullImage(
          { image: { image, annotations }, ...auth, sandboxConfig },
          { signal },
        );
        if (imageRef !== '') return { imageRef, used };
        failures.push(new KubeletError('internal', 'UNKNOWN', `imageRef of image "${image}" is not set`));
      } catch (err) {
        if (isAbort(err) || signal.aborted) throw err;
        failures.push(err);
      }
    }
    throw joinedFailure(failures);
  }

  async #inspect({ image }: PullRequest, signal: AbortSignal): Promise<Image | undefined> {
    try {
      return (await this.#deps.images.imageStatus({ image: { image } }, { signal })).image;
    } catch (err) {
      if (isAbort(err) || signal.aborted) throw err;
      this.#deps.log.warn('Failed to inspect pulled image', { image, err: describeError(err) });
      return undefined;
    }
  }
}

/** Pods with different credentials do not share a pull: their permissions may differ. */
function keyOf({ credentials, image, runtimeClass }: PullRequest): string {
  const proofs = credentials.map(({ hash, source }) => [hash, source?.from, source?.at]);
  return JSON.stringify([image, runtimeClass, proofs]);
}

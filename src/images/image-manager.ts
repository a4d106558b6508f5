// Makes sure an image is on the node before a container is made from it. Upstream: pkg/kubelet/images/image_manager.go.
// Owns the pulls under way and their back-off. Invariants: one image is pulled once however many pods wait for it;
// a pod that stops waiting does not end a pull that others wait for.
import type { CriImages, CriRequest } from '../api/cri.ts';
import { formatDuration } from '../api/duration.ts';
import type { Image, PodSandboxConfig } from '../api/generated/runtime/v1/api.ts';
import type { Container, Pod } from '../api/k8s.ts';
import { podRef, podUid } from '../api/pod-ref.ts';
import { Backoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, isAbort, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { raceAbort } from '../base/race-abort.ts';
import { Slots } from '../base/slots.ts';
import { normalizeImageName } from './image-name.ts';

export interface ImageManagerDeps {
  readonly images: Pick<CriImages, 'imageStatus' | 'pullImage'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** How many pulls may run at once. */
  readonly parallelPulls: number;
}

export interface PresentImage {
  /** What the runtime calls it: goes into the container's config. */
  readonly ref: string;
  readonly uid: bigint | undefined;
  readonly username: string;
}

export interface ImageRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly sandboxConfig: CriRequest<PodSandboxConfig>;
}

interface Pull {
  readonly done: Promise<string>;
  readonly abort: AbortController;
  waiters: number;
}

const backoffInitialMs = 10_000;
const backoffMaxMs = 300_000;
/** How long a failed pull is told as the failure it was, before it is told as a back-off. */
const newsMs = 2_000;
/** A pull that hangs this long no longer keeps others from starting. */
const pullLeaseMs = 120_000;

export class ImageManager {
  readonly #deps: ImageManagerDeps;
  readonly #pulls = new Map<string, Pull>();
  readonly #slots: Slots;
  readonly #backoff = new Backoff<string>({ initialMs: backoffInitialMs, maxMs: backoffMaxMs });
  readonly #failures = new Map<string, { readonly atMs: number; readonly error: KubeletError }>();

  constructor(deps: ImageManagerDeps) {
    this.#deps = deps;
    this.#slots = new Slots({ clock: deps.clock, count: deps.parallelPulls, leaseMs: pullLeaseMs });
  }

  /** The image as it is on the node now; undefined when it is not there. Never pulls. */
  async find(image: string, signal: AbortSignal): Promise<PresentImage | undefined> {
    const name = normalizeImageName(image);
    try {
      const answer = await this.#deps.images.imageStatus({ image: { image: name } }, { signal });
      return answer.image === undefined ? undefined : presentImage(answer.image);
    } catch (err) {
      if (isAbort(err)) throw err;
      const kind = err instanceof KubeletError ? err.kind : 'internal';
      const message = `Failed to inspect image "${name}": ${describeError(err)}`;
      throw new KubeletError(kind, 'ImageInspectError', message, { cause: err });
    }
  }

  /** Resolves when the image is there; `found` is what find() said a moment ago, to spare asking twice. */
  async ensure(
    request: ImageRequest,
    found: PresentImage | undefined,
    signal: AbortSignal,
  ): Promise<PresentImage> {
    const name = request.container.image ?? '';
    const image = normalizeImageName(name);
    const policy = request.container.imagePullPolicy ?? 'IfNotPresent';
    if (policy !== 'Always' && found !== undefined) return found;
    if (policy === 'Never') {
      throw new KubeletError(
        'not-found',
        'ErrImageNeverPull',
        `Container image "${name}" is not present with pull policy of Never`,
      );
    }
    const key = keyOf(request.pod, request.container);
    this.#refuseInBackoff(key, name);
    try {
      await this.#pull(image, request, signal);
    } catch (err) {
      if (isAbort(err)) throw err;
      throw this.#failed(key, name, err);
    }
    this.#backoff.reset(key);
    this.#failures.delete(key);
    const present = await this.find(image, signal);
    if (present !== undefined) return present;
    throw new KubeletError('internal', 'ErrImagePull', `image "${name}" was pulled but is not there`);
  }

  /** When to ask again although nothing changes, since the answer will be another; undefined: it may be asked now. */
  retryInMs(pod: Pod, container: Container): number | undefined {
    const key = keyOf(pod, container);
    const failure = this.#failures.get(key);
    if (failure === undefined) return undefined;
    const ageMs = this.#deps.clock.monotonic() - failure.atMs;
    return Math.max(0, (isNews(ageMs) ? newsMs : this.#backoff.delay(key)) - ageMs);
  }

  /** Forgets what was kept for a pod that has gone. */
  forget(uid: string): void {
    for (const key of this.#failures.keys()) {
      if (!key.startsWith(`${uid}/`)) continue;
      this.#failures.delete(key);
      this.#backoff.reset(key);
    }
  }

  #refuseInBackoff(key: string, name: string): void {
    const failure = this.#failures.get(key);
    const nowMs = this.#deps.clock.monotonic();
    if (failure === undefined || !this.#backoff.isInBackoffSince(key, failure.atMs, nowMs)) return;
    // Who looks once a second has to see what went wrong before it is wrapped into a back-off.
    if (isNews(nowMs - failure.atMs)) throw failure.error;
    throw new KubeletError(
      'unavailable',
      'ImagePullBackOff',
      `Back-off pulling image "${name}": ${failure.error.reason}: ${failure.error.message}`,
    );
  }

  #failed(key: string, name: string, err: unknown): KubeletError {
    const { clock, log } = this.#deps;
    const nowMs = clock.monotonic();
    const delayMs = this.#backoff.next(key, nowMs, nowMs);
    log.v(2).info('Image pull failed', { key, backoff: formatDuration(BigInt(delayMs) * 1_000_000n), err });
    const error = pullError(name, err);
    this.#failures.set(key, { atMs: nowMs, error });
    return error;
  }

  async #pull(image: string, request: ImageRequest, signal: AbortSignal): Promise<void> {
    const pull = this.#pulls.get(image) ?? this.#startPull(image, request);
    pull.waiters += 1;
    try {
      await raceAbort(pull.done, signal);
    } finally {
      pull.waiters -= 1;
      if (pull.waiters === 0) this.#abandon(image, pull, signal);
    }
  }

  #startPull(image: string, request: ImageRequest): Pull {
    const abort = new AbortController();
    const done = this.#runPull(image, request, abort.signal).finally(() => this.#drop(image, pull));
    // Every waiter sees the outcome through its own race; a pull nobody waits for any more ends unheard.
    done.catch(() => undefined);
    const pull: Pull = { done, abort, waiters: 0 };
    this.#pulls.set(image, pull);
    return pull;
  }

  /** Ends a pull nobody waits for; who comes for the image next begins another one. */
  #abandon(image: string, pull: Pull, { reason }: AbortSignal): void {
    this.#drop(image, pull);
    pull.abort.abort(reason);
  }

  #drop(image: string, pull: Pull): void {
    if (this.#pulls.get(image) === pull) this.#pulls.delete(image);
  }

  async #runPull(image: string, request: ImageRequest, signal: AbortSignal): Promise<string> {
    const { clock, images, log } = this.#deps;
    const slot = await this.#slots.acquire(0, signal);
    try {
      const startedAt = clock.monotonic();
      log.info('Pulling image', { image, pod: podRef(request.pod) });
      const answer = await images.pullImage(
        { image: { image }, sandboxConfig: request.sandboxConfig },
        { signal },
      );
      log.info('Pulled image', { image, tookMs: Math.round(clock.monotonic() - startedAt) });
      return answer.imageRef;
    } finally {
      slot.release();
    }
  }
}

/** By the name as it is written: one that no registry could serve has its place here as well. */
function keyOf(pod: Pod, container: Container): string {
  return `${podUid(pod)}/${container.image ?? ''}`;
}

/** Runtimes put the names of these two in front of their message. */
const namedFailures = [
  ['RegistryUnavailable', 'the registry is unavailable'],
  ['SignatureValidationFailed', 'the signature validation failed'],
] as const;

function pullError(image: string, cause: unknown): KubeletError {
  const message = describeError(cause);
  for (const [reason, why] of namedFailures) {
    if (!message.startsWith(reason)) continue;
    const text = `image pull failed for ${image} because ${why}${message.slice(reason.length)}`;
    // Not as the cause: its text is part of this one already.
    return new KubeletError('unavailable', reason, text);
  }
  return new KubeletError('unavailable', 'ErrImagePull', message, { cause });
}

function isNews(ageMs: number): boolean {
  return ageMs >= 0 && ageMs < newsMs;
}

function presentImage(image: Image): PresentImage {
  const username = image.username;
  // An image that names no user runs as root.
  const uid = image.uid?.value ?? (username === '' ? 0n : undefined);
  return { ref: image.id, uid, username };
}

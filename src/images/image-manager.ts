// Ensures that an image is present before a container is created from it, and that the pod may use it.
// Upstream: pkg/kubelet/images/image_manager.go, whose events and messages these are.
// Invariants: every failure is emitted as an event of the requesting pod and rejects with the reason that its status shows; no
// credential appears in either.

import type { PodSandboxConfig } from '../api/cri/generated/runtime/v1/api.ts';
import type { CriImages, CriRequest } from '../api/cri/runtime.ts';
import { formatDurationMs } from '../api/k8s/duration.ts';
import type { Container, Pod } from '../api/k8s/types.ts';
import { podRef, podUid } from '../api/pod/pod-ref.ts';
import { containerFieldPath, type EventSink, type EventType } from '../api/ports/events.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { OpenStage, StartStages } from '../api/ports/start-stages.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, isAbort, isAbortOf, KubeletError } from '../base/errors.ts';
import { InFlight } from '../base/in-flight.ts';
import type { Logger } from '../base/log/log.ts';
import type { FoundCredentials } from './credentials/find-credentials.ts';
import type { PullCredential } from './credentials/keyring.ts';
import { normalizeImageName, parseImageName } from './image-name.ts';
import { type PresentImage, presentImage } from './present-image.ts';
import { PullBackoff } from './pull-backoff.ts';
import { pullError, runtimeText } from './pull-error.ts';
import type { PullResult, SharedPulls } from './shared-pulls.ts';

export interface ImageManagerDeps {
  readonly images: Pick<CriImages, 'imageStatus'>;
  readonly pulls: Pick<SharedPulls, 'pull'>;
  readonly credentials: {
    find(repository: string, pod: Pod, signal: AbortSignal): Promise<FoundCredentials>;
  };
  /** Undefined: every pod may use any present image (gate KubeletEnsureSecretPulledImages is off). */
  readonly history: ImageHistory | undefined;
  readonly events: EventSink;
  readonly stages?: StartStages | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ImageManagerMetrics;
}

interface ImageManagerMetrics {
  observePull(sizeBytes: number, seconds: number): void;
  /** Undefined: unknown, since the request failed before. */
  countEnsure(policy: string, isPresent: boolean | undefined, needsPull: boolean | undefined): void;
}

export interface ImageHistory {
  begin(image: string, signal: AbortSignal): Promise<void>;
  succeeded(image: string, imageRef: string, used: PullCredential | undefined): Promise<void>;
  failed(image: string): Promise<void>;
  mayUseImage(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
    signal: AbortSignal,
  ): Promise<boolean>;
}

/** The container gives image and pull policy; a container that is not in the pod's spec stands for the pod itself. */
interface ImageRequester {
  readonly pod: Pod;
  readonly container: Container;
}

interface ImageRequest extends ImageRequester {
  readonly sandboxConfig: CriRequest<PodSandboxConfig>;
}

/** Looks the credentials up at the first call, and never again. */
type LookUp = () => Promise<FoundCredentials>;

export class ImageManager {
  readonly #deps: ImageManagerDeps;
  readonly #backoff: PullBackoff;
  readonly #inFlight = new InFlight<PodActivity>();

  constructor(deps: ImageManagerDeps) {
    this.#deps = deps;
    this.#backoff = new PullBackoff(deps.clock);
  }

  /** The present image; undefined if it is missing or the policy is Always. Never pulls. */
  async find(
    image: string,
    signal: AbortSignal,
    requester?: ImageRequester,
  ): Promise<PresentImage | undefined> {
    try {
      const name = normalizeImageName(image);
      if (requester !== undefined && policyOf(requester) === 'Always') return undefined;
      return await this.#inspect(name, signal);
    } catch (err) {
      if (!isAbort(err) && requester !== undefined) {
        this.#deps.metrics.countEnsure(policyOf(requester), undefined, undefined);
        this.#emit(requester, 'Warning', 'InspectFailed', describeError(err));
      }
      throw err;
    }
  }

  /** Resolves when the image is present. `found` is the recent result of find(), to avoid a second inspection. */
  async ensure(
    request: ImageRequest,
    found: PresentImage | undefined,
    signal: AbortSignal,
  ): Promise<PresentImage> {
    const policy = policyOf(request);
    const sinceMs = this.#deps.clock.monotonic();
    const lookUp = once(() => this.#credentials(request, signal));
    const pull = (): Promise<PresentImage> => this.#pull(request, lookUp, sinceMs, signal);
    const count = (isPresent: boolean | undefined, needsPull: boolean | undefined): void =>
      this.#deps.metrics.countEnsure(policy, isPresent, needsPull);
    if (policy === 'Always') {
      count(undefined, true);
      return await pull();
    }
    // Another pod may have pulled it since.
    const present =
      found ?? (policy === 'Never' ? undefined : await this.find(nameOf(request), signal, request));
    const isAllowed = present !== undefined && (await this.#isAllowed(request, present, lookUp, signal));
    if (isAllowed) {
      count(true, false);
      this.#backoff.succeeded(keyOf(request));
      return present;
    }
    // As upstream, a missing image that must not be pulled is neither required nor not.
    count(present !== undefined, policy === 'Never' && present === undefined ? undefined : true);
    // The same message whether it is missing or forbidden: a pod without access must not learn that it is present.
    if (policy === 'Never') throw this.#neverPulled(request);
    return await pull();
  }

  /** Delay until ensure() would have a different result; undefined if it may be called now. */
  retryInMs(pod: Pod, container: Container): number | undefined {
    return this.#backoff.retryInMs(keyOf({ pod, container }));
  }

  /** The pod's in-flight pulls, for /explain. */
  activities(uid: string): readonly PodActivity[] {
    return this.#inFlight.activities(uid);
  }

  /** Drops the backoff state of a removed pod. */
  forget(uid: string): void {
    this.#backoff.forget(`${uid}/`);
  }

  async #inspect(name: string, signal: AbortSignal): Promise<PresentImage | undefined> {
    try {
      const answer = await this.#deps.images.imageStatus({ image: { image: name } }, { signal });
      return answer.image === undefined ? undefined : presentImage(answer.image);
    } catch (err) {
      if (isAbort(err)) throw err;
      const kind = err instanceof KubeletError ? err.kind : 'internal';
      // differs from upstream: the image is named.
      const message = `Failed to inspect image "${name}": ${describeError(err)}`;
      throw new KubeletError(kind, 'ImageInspectError', message, { cause: err });
    }
  }

  async #credentials(request: ImageRequester, signal: AbortSignal): Promise<FoundCredentials> {
    const { repository } = parseImageName(nameOf(request));
    return await this.#deps.credentials.find(repository, request.pod, signal);
  }

  /** Whether the pod may use the present image; emits an event if so. */
  async #isAllowed(
    request: ImageRequester,
    { ref }: PresentImage,
    lookUp: LookUp,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { history, metrics } = this.#deps;
    if (history === undefined) {
      this.#emitPresent(request, '');
      return true;
    }
    const credentials = async (): Promise<readonly PullCredential[]> => (await lookUp()).credentials;
    try {
      if (!(await history.mayUseImage(nameOf(request), ref, credentials, signal))) return false;
    } catch (err) {
      metrics.countEnsure(policyOf(request), true, undefined);
      throw err;
    }
    this.#emitPresent(request, ' and can be accessed by the pod');
    return true;
  }

  async #pull(
    request: ImageRequest,
    lookUp: LookUp,
    sinceMs: number,
    signal: AbortSignal,
  ): Promise<PresentImage> {
    const { clock, log, metrics } = this.#deps;
    const name = nameOf(request);
    const key = keyOf(request);
    const rejection = this.#backoff.rejection(key, name);
    if (rejection?.reason === 'ImagePullBackOff') {
      this.#emit(request, 'Normal', 'BackOff', `Back-off pulling image "${name}"`);
    }
    if (rejection !== undefined) throw rejection;
    const requestedMs = clock.monotonic();
    const stage = this.#beginPull(request);
    let result: PullResult;
    try {
      const what = `image ${name} is being pulled, attempt ${this.#backoff.attempt(key)}`;
      const activity = { what, sinceMs: clock.now() };
      const pull = (): Promise<PullResult> => this.#pullRecorded(request, lookUp, sinceMs, signal);
      result = await this.#inFlight.during(podUid(request.pod), activity, pull);
      if (result.image === undefined) {
        throw new KubeletError('internal', 'ErrImagePull', `image "${name}" was pulled but is not present`);
      }
      stage?.end();
    } catch (err) {
      stage?.end(err);
      if (isAbort(err) || isAbortOf(err, signal)) throw err;
      const error = pullError(name, err);
      this.#emit(request, 'Warning', 'Failed', `Failed to pull image "${name}": ${runtimeText(err)}`);
      if (error.reason === 'ErrImagePull') await this.#reportMissingSecrets(request, lookUp);
      const delayMs = this.#backoff.failed(key, error);
      log.v(2).info('Failed to pull image', { key, backoff: formatDurationMs(delayMs), err });
      throw error;
    }
    this.#backoff.succeeded(key);
    const waitedMs = clock.monotonic() - requestedMs;
    const size = result.image.size;
    metrics.observePull(Number(size), waitedMs / 1000);
    const message = `Successfully pulled image "${name}" in ${wholeMs(result.tookMs)} (${wholeMs(waitedMs)} including waiting). Image size: ${size} bytes.`;
    this.#emit(request, 'Normal', 'Pulled', message);
    return presentImage(result.image);
  }

  /** A container that is not in the pod's spec has no name. */
  #beginPull({ container, pod }: ImageRequest): OpenStage | undefined {
    const { image, name } = container;
    return this.#deps.stages?.begin(podUid(pod), 'pull', name === '' ? undefined : name, image);
  }

  /** Pulls the image, with an intent recorded before and the outcome after. */
  async #pullRecorded(
    request: ImageRequest,
    lookUp: LookUp,
    sinceMs: number,
    signal: AbortSignal,
  ): Promise<PullResult> {
    const { history, pulls } = this.#deps;
    const { pod, sandboxConfig } = request;
    const name = nameOf(request);
    const image = normalizeImageName(name);
    const { credentials } = await lookUp();
    await history?.begin(name, signal);
    let result: PullResult;
    try {
      this.#emit(request, 'Normal', 'Pulling', `Pulling image "${name}"`);
      const annotations = pod.metadata?.annotations ?? {};
      const runtimeClass = pod.spec?.runtimeClassName ?? '';
      const pull = { image, annotations, sandboxConfig, runtimeClass, credentials };
      result = await pulls.pull(pull, sinceMs, signal);
    } catch (err) {
      await history?.failed(name);
      throw err;
    }
    await history?.succeeded(name, result.imageRef, result.used);
    return result;
  }

  async #reportMissingSecrets({ pod }: ImageRequest, lookUp: LookUp): Promise<void> {
    const missing = await lookUp().then(
      ({ missingSecrets }) => missingSecrets,
      () => [],
    );
    if (missing.length === 0) return;
    this.#deps.events.pod(pod, {
      type: 'Warning',
      reason: 'FailedToRetrieveImagePullSecret',
      message: `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
    });
  }

  #neverPulled(requester: ImageRequester): KubeletError {
    const message = `Container image "${nameOf(requester)}" is not present with pull policy of Never`;
    this.#emit(requester, 'Warning', 'ErrImageNeverPull', message);
    return new KubeletError('not-found', 'ErrImageNeverPull', message);
  }

  #emitPresent(requester: ImageRequester, more: string): void {
    this.#emit(
      requester,
      'Normal',
      'Pulled',
      `Container image "${nameOf(requester)}" already present on machine${more}`,
    );
  }

  #emit({ container, pod }: ImageRequester, type: EventType, reason: string, message: string): void {
    this.#deps.log.v(4).info('Image event', { pod: podRef(pod), reason, message });
    this.#deps.events.pod(pod, { type, reason, message }, containerFieldPath(pod, container.name));
  }
}

function nameOf({ container }: ImageRequester): string {
  return container.image ?? '';
}

function policyOf({ container }: ImageRequester): string {
  return container.imagePullPolicy ?? 'IfNotPresent';
}

/** By the name as the pod spells it, so that invalid names have a key, too. */
function keyOf(requester: ImageRequester): string {
  return `${podUid(requester.pod)}/${nameOf(requester)}`;
}

function wholeMs(ms: number): string {
  return formatDurationMs(Math.trunc(ms));
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}

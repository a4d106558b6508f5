// Makes sure an image is on the node before a container is made from it, and that the pod may have it.
// Upstream: pkg/kubelet/images/image_manager.go, whose events and messages these are.
// Invariants: whatever fails is told as an event of the pod that wanted the image and rejects with the reason its status
// shows; no credential appears in either.

import type { Image, PodSandboxConfig } from '../api/cri/generated/runtime/v1/api.ts';
import type { CriImages, CriRequest } from '../api/cri/runtime.ts';
import { formatDurationMs } from '../api/k8s/duration.ts';
import type { Container, Pod } from '../api/k8s/types.ts';
import { podRef, podUid } from '../api/pod/pod-ref.ts';
import { containerFieldPath, type EventSink, type EventType } from '../api/ports/events.ts';
import type { PodActivity } from '../api/ports/pod-activity.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, isAbort, isAbortOf, KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { Ongoing } from '../base/ongoing.ts';
import type { PullCredential } from './credentials/keyring.ts';
import { normalizeImageName, parseImageName } from './image-name.ts';
import { PullBackoff } from './pull-backoff.ts';
import { pullError, runtimeText } from './pull-error.ts';
import type { PullResult, SharedPulls } from './shared-pulls.ts';

export interface ImageManagerDeps {
  readonly images: Pick<CriImages, 'imageStatus'>;
  readonly pulls: Pick<SharedPulls, 'pull'>;
  readonly credentials: {
    find(repository: string, pod: Pod, signal: AbortSignal): Promise<readonly PullCredential[]>;
    /** Tells of secrets that are missing, for a pod that needs none. Never rejects. */
    checkSecrets(pod: Pod, signal: AbortSignal): Promise<void>;
  };
  /** Undefined: images that are there are there for every pod (gate KubeletEnsureSecretPulledImages). */
  readonly history: ImageHistory | undefined;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observePull: (sizeBytes: number, seconds: number) => void;
}

export interface ImageHistory {
  begin(image: string, signal: AbortSignal): Promise<void>;
  succeeded(image: string, imageRef: string, used: PullCredential | undefined): Promise<void>;
  failed(image: string): Promise<void>;
  mayUse(
    image: string,
    imageRef: string,
    credentials: readonly PullCredential[],
    signal: AbortSignal,
  ): Promise<boolean>;
}

export interface PresentImage {
  /** What the runtime calls it: goes into the container's config. */
  readonly ref: string;
  readonly uid: bigint | undefined;
  readonly username: string;
}

/** Who wants an image. The container gives name and policy; one that the pod does not have stands for the pod itself. */
interface ImageAsker {
  readonly pod: Pod;
  readonly container: Container;
}

interface ImageRequest extends ImageAsker {
  readonly sandboxConfig: CriRequest<PodSandboxConfig>;
}

export class ImageManager {
  readonly #deps: ImageManagerDeps;
  readonly #backoff: PullBackoff;
  readonly #active = new Ongoing<PodActivity>();

  constructor(deps: ImageManagerDeps) {
    this.#deps = deps;
    this.#backoff = new PullBackoff(deps.clock);
  }

  /** The image as it is on the node now; undefined when it is not there, or will be pulled anyway. Never pulls. */
  async find(image: string, signal: AbortSignal, asker?: ImageAsker): Promise<PresentImage | undefined> {
    try {
      const name = normalizeImageName(image);
      if (asker !== undefined && policyOf(asker) === 'Always') return undefined;
      return await this.#look(name, signal);
    } catch (err) {
      if (!isAbort(err) && asker !== undefined)
        this.#tell(asker, 'Warning', 'InspectFailed', describeError(err));
      throw err;
    }
  }

  /** Resolves when the image is there; `found` is what find() said a moment ago, to spare asking twice. */
  async ensure(
    request: ImageRequest,
    found: PresentImage | undefined,
    signal: AbortSignal,
  ): Promise<PresentImage> {
    const policy = policyOf(request);
    if (policy === 'Always') return await this.#pull(request, this.#deps.clock.monotonic(), signal);
    const sinceMs = this.#deps.clock.monotonic();
    // Another pod may have brought it since.
    const present =
      found ?? (policy === 'Never' ? undefined : await this.find(nameOf(request), signal, request));
    if (present !== undefined && (await this.#isGiven(request, present, signal))) {
      this.#backoff.succeeded(keyOf(request));
      return present;
    }
    // The same words whether it is missing or not allowed: who may not have it need not know that it is there.
    if (policy === 'Never') throw this.#neverPulled(request);
    return await this.#pull(request, sinceMs, signal);
  }

  /** When to ask again although nothing changes, since the answer will be another; undefined: it may be asked now. */
  retryInMs(pod: Pod, container: Container): number | undefined {
    return this.#backoff.retryInMs(keyOf({ pod, container }));
  }

  /** What the pod waits for here now, for who explains it. */
  activities(uid: string): readonly PodActivity[] {
    return this.#active.of(uid);
  }

  /** Forgets what was kept for a pod that has gone. */
  forget(uid: string): void {
    this.#backoff.forget(`${uid}/`);
  }

  async #look(name: string, signal: AbortSignal): Promise<PresentImage | undefined> {
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

  async #credentials(request: ImageAsker, signal: AbortSignal): Promise<readonly PullCredential[]> {
    const { repository } = parseImageName(nameOf(request));
    return await this.#deps.credentials.find(repository, request.pod, signal);
  }

  /** Whether the pod may have the image that is there; tells so. */
  async #isGiven(request: ImageAsker, { ref }: PresentImage, signal: AbortSignal): Promise<boolean> {
    const { credentials, history } = this.#deps;
    if (history === undefined) {
      void credentials.checkSecrets(request.pod, signal);
      this.#tellPresent(request, '');
      return true;
    }
    const given = await this.#credentials(request, signal);
    if (!(await history.mayUse(nameOf(request), ref, given, signal))) return false;
    this.#tellPresent(request, ' and can be accessed by the pod');
    return true;
  }

  async #pull(request: ImageRequest, sinceMs: number, signal: AbortSignal): Promise<PresentImage> {
    const { clock, log, observePull } = this.#deps;
    const name = nameOf(request);
    const key = keyOf(request);
    const refusal = this.#backoff.refusal(key, name);
    if (refusal?.reason === 'ImagePullBackOff') {
      this.#tell(request, 'Normal', 'BackOff', `Back-off pulling image "${name}"`);
    }
    if (refusal !== undefined) throw refusal;
    const askedMs = clock.monotonic();
    let result: PullResult;
    try {
      const what = `image ${name} is being pulled, attempt ${this.#backoff.attempt(key)}`;
      const active = { what, sinceMs: clock.now() };
      const pull = (): Promise<PullResult> => this.#pullRecorded(request, sinceMs, signal);
      result = await this.#active.during(podUid(request.pod), active, pull);
      if (result.image === undefined) {
        throw new KubeletError('internal', 'ErrImagePull', `image "${name}" was pulled but is not there`);
      }
    } catch (err) {
      if (isAbort(err) || isAbortOf(err, signal)) throw err;
      const error = pullError(name, err);
      this.#tell(request, 'Warning', 'Failed', `Failed to pull image "${name}": ${runtimeText(err)}`);
      const delayMs = this.#backoff.failed(key, error);
      log.v(2).info('Image pull failed', { key, backoff: formatDurationMs(delayMs), err });
      throw error;
    }
    this.#backoff.succeeded(key);
    const waitedMs = clock.monotonic() - askedMs;
    const size = result.image.size;
    observePull(Number(size), waitedMs / 1000);
    const message = `Successfully pulled image "${name}" in ${wholeMs(result.tookMs)} (${wholeMs(waitedMs)} including waiting). Image size: ${size} bytes.`;
    this.#tell(request, 'Normal', 'Pulled', message);
    return presentImage(result.image);
  }

  /** The pull itself, with what is written down before and after it. */
  async #pullRecorded(request: ImageRequest, sinceMs: number, signal: AbortSignal): Promise<PullResult> {
    const { history, pulls } = this.#deps;
    const { pod, sandboxConfig } = request;
    const name = nameOf(request);
    const image = normalizeImageName(name);
    const credentials = await this.#credentials(request, signal);
    await history?.begin(name, signal);
    let result: PullResult;
    try {
      this.#tell(request, 'Normal', 'Pulling', `Pulling image "${name}"`);
      const annotations = pod.metadata?.annotations ?? {};
      const runtimeClass = pod.spec?.runtimeClassName ?? '';
      const wanted = { image, annotations, sandboxConfig, runtimeClass, credentials };
      result = await pulls.pull(wanted, sinceMs, signal);
    } catch (err) {
      await history?.failed(name);
      throw err;
    }
    await history?.succeeded(name, result.imageRef, result.used);
    return result;
  }

  #neverPulled(asker: ImageAsker): KubeletError {
    const message = `Container image "${nameOf(asker)}" is not present with pull policy of Never`;
    this.#tell(asker, 'Warning', 'ErrImageNeverPull', message);
    return new KubeletError('not-found', 'ErrImageNeverPull', message);
  }

  #tellPresent(asker: ImageAsker, more: string): void {
    this.#tell(
      asker,
      'Normal',
      'Pulled',
      `Container image "${nameOf(asker)}" already present on machine${more}`,
    );
  }

  #tell({ container, pod }: ImageAsker, type: EventType, reason: string, message: string): void {
    this.#deps.log.v(4).info('Image event', { pod: podRef(pod), reason, message });
    this.#deps.events.pod(pod, { type, reason, message }, containerFieldPath(pod, container.name));
  }
}

function nameOf({ container }: ImageAsker): string {
  return container.image ?? '';
}

function policyOf({ container }: ImageAsker): string {
  return container.imagePullPolicy ?? 'IfNotPresent';
}

/** By the name as it is written: one that no registry could serve has its place here as well. */
function keyOf(asker: ImageAsker): string {
  return `${podUid(asker.pod)}/${nameOf(asker)}`;
}

function wholeMs(ms: number): string {
  return formatDurationMs(Math.trunc(ms));
}

function presentImage(image: Image): PresentImage {
  const username = image.username;
  // An image that names no user runs as root.
  const uid = image.uid?.value ?? (username === '' ? 0n : undefined);
  return { ref: image.id, uid, username };
}

// The records of pulls on disk, and which pods may use a present image. Upstream: pkg/kubelet/images/pullmanager.
// Owns <root>/image_manager. Invariants: an intent is on disk before the pull starts and stays until the record is written, so
// that a kubelet killed in between still knows that the image is not preloaded; records are read and written one at a time; if
// records cannot be read, the pod needs credentials.
import type { CriImages } from '../../api/cri/runtime.ts';
import type { Clock } from '../../base/clock.ts';
import { isAbort, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { PullCredential } from '../credentials/keyring.ts';
import { fullImageName, parseImageName } from '../image-name.ts';
import { mergeCredentials } from './merge-credentials.ts';
import {
  decodeIntent,
  decodePulledRecord,
  encodeIntent,
  encodePulledRecord,
  isRecordFileName,
  type PulledRecord,
  type RecordedCredentials,
  recordedCredentials,
  recordFileName,
} from './pull-record.ts';
import { type VerificationPolicy, type VerificationSettings, verifyAccess } from './verify-access.ts';

export interface RecordFiles {
  /** Names in the directory; empty if it does not exist. */
  list(directory: string): Promise<readonly string[]>;
  /** Undefined if the file does not exist. */
  read(path: string): Promise<string | undefined>;
  /** Writes atomically; creates the directory. */
  write(path: string, text: string): Promise<void>;
  /** Succeeds if the file does not exist. */
  remove(path: string): Promise<void>;
}

interface PullHistoryDeps {
  readonly files: RecordFiles;
  readonly images: Pick<CriImages, 'listImages'>;
  readonly rootDir: string;
  readonly verification: VerificationSettings;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The history, with verification as KubeletConfiguration sets it; undefined if the gate is off. */
export function pullHistory({
  config,
  gates,
  ...deps
}: Omit<PullHistoryDeps, 'verification'> & {
  readonly config: {
    readonly imagePullCredentialsVerificationPolicy: string;
    readonly preloadedImagesVerificationAllowlist: readonly string[];
  };
  readonly gates: { readonly KubeletEnsureSecretPulledImages: boolean };
}): PullHistory | undefined {
  if (!gates.KubeletEnsureSecretPulledImages) return undefined;
  const policy = config.imagePullCredentialsVerificationPolicy as VerificationPolicy;
  const allowlist = config.preloadedImagesVerificationAllowlist;
  return new PullHistory({ ...deps, verification: { policy, allowlist } });
}

export class PullHistory {
  readonly #deps: PullHistoryDeps;
  /** Numbers of in-flight pulls, by image name as pods spell it. */
  readonly #intents = new Map<string, number>();
  #queue: Promise<unknown> = Promise.resolve();
  #recovered = false;

  constructor(deps: PullHistoryDeps) {
    this.#deps = deps;
  }

  /** Records the intent to pull. Rejects if it cannot be written: the image must not be pulled then. */
  begin(image: string, signal: AbortSignal): Promise<void> {
    return this.#serialize(async () => {
      await this.#recover(signal);
      try {
        await this.#deps.files.write(this.#intentPath(image), encodeIntent(image));
      } catch (err) {
        const message = `Failed to record image pull intent for container image "${image}"`;
        throw new KubeletError('internal', 'ErrImagePull', message, { cause: err });
      }
      this.#intents.set(image, (this.#intents.get(image) ?? 0) + 1);
    });
  }

  /** If the record cannot be written, the intent stays: the image counts as pulled with unknown credentials. */
  succeeded(image: string, imageRef: string, used: PullCredential | undefined): Promise<void> {
    return this.#serialize(async () => {
      try {
        await this.#updateRecord(image, imageRef, recordedCredentials(used));
      } catch (err) {
        this.#deps.log.error('Failed to write image pulled record', { image, imageRef, err });
        return;
      }
      await this.#endIntent(image);
    });
  }

  failed(image: string): Promise<void> {
    return this.#serialize(() => this.#endIntent(image));
  }

  /** Whether a pod with these credentials may use the present image `imageRef`. */
  mayUseImage(
    image: string,
    imageRef: string,
    credentials: readonly PullCredential[],
    signal: AbortSignal,
  ): Promise<boolean> {
    return this.#serialize(async () => {
      const { log, verification } = this.#deps;
      try {
        await this.#recover(signal);
        const record = await this.#record(imageRef);
        const hasIntent = record === undefined && (await this.#hasIntent(image));
        const access = verifyAccess({ image, record, hasIntent, credentials }, verification);
        if (access.allowed && access.learned !== undefined) {
          const learned = { secrets: [access.learned], serviceAccounts: [], nodePodsAccessible: false };
          await this.#updateRecord(image, imageRef, learned).catch((err: unknown) => {
            log.error('Failed to write image pulled record', { image, imageRef, err });
          });
        }
        return access.allowed;
      } catch (err) {
        if (isAbort(err)) throw err;
        log.error('Failed to read image pull records', { image, imageRef, err });
        return false;
      }
    });
  }

  /** Removes the records of images that are no longer present, unless they were updated after `beforeMs`. For image GC. */
  prune(present: ReadonlySet<string>, beforeMs: number): Promise<void> {
    return this.#serialize(async () => {
      const { files, log } = this.#deps;
      for (const name of (await files.list(this.#pulledDirectory)).filter(isRecordFileName)) {
        const path = `${this.#pulledDirectory}/${name}`;
        try {
          const text = await files.read(path);
          if (text === undefined) continue;
          const record = decodePulledRecord(text);
          if (record.lastUpdatedMs < beforeMs && !present.has(record.imageRef)) await files.remove(path);
        } catch (err) {
          log.error('Failed to prune image pulled record', { path, err });
        }
      }
    });
  }

  get #pulledDirectory(): string {
    return `${this.#deps.rootDir}/image_manager/pulled`;
  }

  get #pullingDirectory(): string {
    return `${this.#deps.rootDir}/image_manager/pulling`;
  }

  #intentPath(image: string): string {
    return `${this.#pullingDirectory}/${recordFileName(image)}`;
  }

  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#queue.then(work);
    this.#queue = mine.catch(() => undefined);
    return mine;
  }

  async #record(imageRef: string): Promise<PulledRecord | undefined> {
    const text = await this.#deps.files.read(`${this.#pulledDirectory}/${recordFileName(imageRef)}`);
    const record = text === undefined ? undefined : decodePulledRecord(text);
    return record?.imageRef === imageRef ? record : undefined;
  }

  async #hasIntent(image: string): Promise<boolean> {
    if (this.#intents.has(image)) return true;
    const text = await this.#deps.files.read(this.#intentPath(image));
    return text !== undefined && decodeIntent(text) === image;
  }

  /** `fresh` undefined: pulled by the kubelet with unknown credentials. */
  async #updateRecord(
    image: string,
    imageRef: string,
    fresh: RecordedCredentials | undefined,
  ): Promise<void> {
    const { clock, files, log } = this.#deps;
    const { repository } = parseImageName(image);
    const nowMs = clock.now();
    const old = await this.#record(imageRef).catch((err: unknown) => {
      log.warn('Failed to read image pulled record, replacing it', { imageRef, err });
      return undefined;
    });
    const next =
      old === undefined
        ? {
            imageRef,
            lastUpdatedMs: nowMs,
            credentials: new Map(fresh === undefined ? [] : [[repository, fresh]]),
          }
        : fresh === undefined
          ? undefined
          : mergeCredentials(old, repository, fresh, nowMs);
    if (next === undefined) return;
    await files.write(`${this.#pulledDirectory}/${recordFileName(imageRef)}`, encodePulledRecord(next));
  }

  async #endIntent(image: string): Promise<void> {
    const left = (this.#intents.get(image) ?? 0) - 1;
    if (left > 0) {
      this.#intents.set(image, left);
      return;
    }
    try {
      await this.#deps.files.remove(this.#intentPath(image));
      this.#intents.delete(image);
    } catch (err) {
      this.#deps.log.error('Failed to remove image pull intent', { image, err });
    }
  }

  /** Runs once: intents of a previous run whose image is present become records without credentials. */
  async #recover(signal: AbortSignal): Promise<void> {
    if (this.#recovered) return;
    const { files, images, log } = this.#deps;
    const names = (await files.list(this.#pullingDirectory)).filter(isRecordFileName);
    if (names.length > 0) {
      // The intents stay valid until the runtime answers; the next call retries.
      const answer = await images.listImages({}, { signal }).catch((err: unknown) => {
        if (isAbort(err)) throw err;
        log.warn('Failed to list images for interrupted pulls', { err });
        return undefined;
      });
      if (answer === undefined) return;
      const refs = new Map(
        answer.images.flatMap(({ id, repoDigests, repoTags }) =>
          [...repoTags, ...repoDigests].map((name) => [name, id] as const),
        ),
      );
      for (const name of names) await this.#recoverOne(`${this.#pullingDirectory}/${name}`, refs);
    }
    this.#recovered = true;
  }

  async #recoverOne(path: string, refs: ReadonlyMap<string, string>): Promise<void> {
    const { files, log } = this.#deps;
    try {
      const text = await files.read(path);
      if (text === undefined) return;
      const image = decodeIntent(text);
      if (this.#intents.has(image)) return;
      // differs from upstream: short names are found, too, so that their intents do not stay forever.
      const imageRef = refs.get(image) ?? refs.get(fullImageName(image));
      if (imageRef === undefined) return;
      await this.#updateRecord(image, imageRef, undefined);
      await files.remove(path);
      log.info('Recovered the record of an interrupted image pull', { image, imageRef });
    } catch (err) {
      log.error('Failed to recover an interrupted image pull', { path, err });
    }
  }
}

// The records of pulls on disk, and which pods may use a present image. Upstream: pkg/kubelet/images/pullmanager.
// Owns <root>/image_manager. Invariants: an intent is on disk before the pull starts and stays until the record is written, so
// that a kubelet killed in between still knows that the image is not preloaded; records are written one at a time; if records
// cannot be read, the pod needs credentials; a lookup of credentials delays no other pod.
import type { CriImages } from '../../api/cri/runtime.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import type { Component } from '../../base/component.ts';
import { isAbort, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import type { PullCredential } from '../credentials/keyring.ts';
import { fullImageName, untaggedName } from '../image-name.ts';
import { mergeCredentials } from './merge-credentials.ts';
import {
  decodeIntent,
  decodePulledRecord,
  encodeIntent,
  encodePulledRecord,
  type PulledRecord,
  type PullIntent,
  type RecordedCredentials,
  recordedCredentials,
} from './pull-record.ts';
import { type RecordFiles, type RecordSizes, RecordStore, recordLimitBytes } from './record-store.ts';
import {
  type CheckResult,
  judgeAccess,
  matchCredentials,
  type VerificationPolicy,
  type VerificationSettings,
} from './verify-access.ts';

interface PullHistoryMetrics {
  countAccessCheck(result: CheckResult): void;
  setPullIntents(sizes: RecordSizes): void;
  setPulledRecords(sizes: RecordSizes): void;
}

interface PullHistoryDeps {
  readonly files: RecordFiles;
  readonly images: Pick<CriImages, 'listImages'>;
  readonly rootDir: string;
  readonly verification: VerificationSettings;
  readonly cacheSizes: CacheSizes;
  readonly metrics: PullHistoryMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

interface CacheSizes {
  readonly intents: number;
  readonly records: number;
}

interface PullHistoryConfig {
  readonly imagePullCredentialsVerificationPolicy: string;
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  readonly maxPods: number;
  readonly maxParallelImagePulls?: number | undefined;
}

/** The history, with verification as KubeletConfiguration sets it; undefined if the gate is off. */
export function pullHistory({
  config,
  gates,
  ...deps
}: Omit<PullHistoryDeps, 'verification' | 'cacheSizes'> & {
  readonly config: PullHistoryConfig;
  readonly gates: { readonly KubeletEnsureSecretPulledImages: boolean };
}): PullHistory | undefined {
  if (!gates.KubeletEnsureSecretPulledImages) return undefined;
  const policy = config.imagePullCredentialsVerificationPolicy as VerificationPolicy;
  const allowlist = config.preloadedImagesVerificationAllowlist;
  return new PullHistory({ ...deps, verification: { policy, allowlist }, cacheSizes: cacheSizes(config) });
}

/** Upstream's sizes. */
function cacheSizes({ maxParallelImagePulls: pulls = 0, maxPods }: PullHistoryConfig): CacheSizes {
  return {
    intents: clamp(2 * Math.max(maxPods, pulls), 1024),
    records: clamp(5 * maxPods, 2000),
  };
}

function clamp(size: number, most: number): number {
  return Math.max(1, Math.min(size, most));
}

export class PullHistory implements Component {
  readonly name = 'pull-history';
  readonly #deps: PullHistoryDeps;
  /** By image name as pods spell it. */
  readonly #intents: RecordStore<PullIntent>;
  /** By the runtime's reference of the image. */
  readonly #records: RecordStore<PulledRecord>;
  /** Numbers of in-flight pulls, by image name as pods spell it. */
  readonly #pulling = new Map<string, number>();
  #queue: Promise<unknown> = Promise.resolve();
  #recovered = false;

  constructor(deps: PullHistoryDeps) {
    this.#deps = deps;
    const { cacheSizes: sizes, files, log, metrics, rootDir } = deps;
    this.#intents = new RecordStore({
      files,
      directory: `${rootDir}/image_manager/pulling`,
      format: { keyOf: ({ image }) => image, encode: encodeIntent, decode: decodeIntent },
      capacity: sizes.intents,
      observe: (each) => metrics.setPullIntents(each),
      log,
    });
    this.#records = new RecordStore({
      files,
      directory: `${rootDir}/image_manager/pulled`,
      format: {
        keyOf: ({ imageRef }) => imageRef,
        encode: encodePulledRecord,
        decode: decodePulledRecord,
      },
      capacity: sizes.records,
      observe: (each) => metrics.setPulledRecords(each),
      log,
    });
  }

  /** Loads all records in the background and rewrites those of older versions. Pods do not wait for it. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const loaded = this.#loadAll(signal).catch((err: unknown) => {
      if (!isAbort(err)) this.#deps.log.error('Failed to load image pull records', { err });
    });
    return { stopped: Promise.all([loaded, untilAborted(signal)]).then(() => undefined) };
  }

  /** Records the intent to pull. Rejects if it cannot be written: the image must not be pulled then. */
  begin(image: string, signal: AbortSignal): Promise<void> {
    return this.#serialize(async () => {
      try {
        await this.#recover(signal);
        await this.#intents.set({ image });
      } catch (err) {
        if (isAbort(err)) throw err;
        const message = `Failed to record image pull intent for container image "${image}"`;
        throw new KubeletError('internal', 'ErrImagePull', message, { cause: err });
      }
      this.#pulling.set(image, (this.#pulling.get(image) ?? 0) + 1);
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

  /**
   * Whether the pod may use the present image `imageRef`. `credentials` finds all with which the pod could pull the image;
   * it is called only if the answer depends on them. Rejects if it does.
   */
  async mayUseImage(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredential[]>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { log, metrics, verification } = this.#deps;
    let result: CheckResult = 'error';
    try {
      const records = await this.#find(image, imageRef, signal).catch((err: unknown) => {
        if (isAbort(err)) throw err;
        log.error('Failed to read image pull records', { image, imageRef, err });
        return undefined;
      });
      if (records === undefined) return false;
      const verdict = judgeAccess({ image, ...records }, verification);
      if (verdict.compareWith === undefined) {
        result = verdict.result;
      } else {
        const match = matchCredentials(verdict.compareWith, await credentials());
        result = match.result;
        if (match.learned !== undefined) await this.#learn(image, imageRef, match.learned);
      }
    } finally {
      metrics.countAccessCheck(result);
    }
    return result === 'credentialPolicyAllowed' || result === 'credentialRecordFound';
  }

  /** Removes the records of images that are no longer present, unless they were updated after `beforeMs`. For image GC. */
  prune(present: ReadonlySet<string>, beforeMs: number): Promise<void> {
    return this.#serialize(async () => {
      for (const name of await this.#records.names()) {
        const record = await this.#records.load(name);
        if (record === undefined || record === 'invalid') continue;
        if (record.lastUpdatedMs >= beforeMs || present.has(record.imageRef)) continue;
        await this.#records.delete(record.imageRef).catch((err: unknown) => {
          this.#deps.log.error('Failed to prune image pulled record', { imageRef: record.imageRef, err });
        });
      }
    });
  }

  async #loadAll(signal: AbortSignal): Promise<void> {
    const stores: readonly Pick<RecordStore<unknown>, 'load' | 'names'>[] = [this.#intents, this.#records];
    for (const store of stores) {
      for (const name of await store.names()) {
        signal.throwIfAborted();
        // One by one: pods that need a record now do not wait for all of them.
        await this.#serialize(() => store.load(name));
      }
    }
  }

  async #find(
    image: string,
    imageRef: string,
    signal: AbortSignal,
  ): Promise<{ readonly record: PulledRecord | 'invalid' | undefined; readonly hasIntent: boolean }> {
    if (!this.#recovered) await this.#serialize(() => this.#recover(signal));
    const record = await this.#records.get(imageRef);
    const hasIntent = record === undefined && (await this.#hasIntent(image));
    return { record, hasIntent };
  }

  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#queue.then(work);
    this.#queue = mine.catch(() => undefined);
    return mine;
  }

  async #hasIntent(image: string): Promise<boolean> {
    return this.#pulling.has(image) || (await this.#intents.get(image)) !== undefined;
  }

  async #learn(
    image: string,
    imageRef: string,
    learned: RecordedCredentials['secrets'][number],
  ): Promise<void> {
    const fresh = { secrets: [learned], serviceAccounts: [], nodePodsAccessible: false };
    await this.#serialize(() => this.#updateRecord(image, imageRef, fresh)).catch((err: unknown) => {
      this.#deps.log.error('Failed to write image pulled record', { image, imageRef, err });
    });
  }

  /** `fresh` undefined: pulled by the kubelet with unknown credentials. */
  async #updateRecord(
    image: string,
    imageRef: string,
    fresh: RecordedCredentials | undefined,
  ): Promise<void> {
    const name = untaggedName(image);
    const nowMs = this.#deps.clock.now();
    const old = await this.#records.get(imageRef);
    const first = {
      imageRef,
      lastUpdatedMs: nowMs,
      credentials: new Map(fresh === undefined ? [] : [[name, fresh]]),
    };
    if (old === undefined || old === 'invalid') {
      await this.#records.set(first);
      return;
    }
    const next = fresh === undefined ? undefined : mergeCredentials(old, name, fresh, nowMs);
    if (next === undefined) return;
    // Pods with the dropped credentials pull the image again.
    const isTooLarge = encodePulledRecord(next).length > recordLimitBytes;
    await this.#records.set(isTooLarge ? first : next);
  }

  async #endIntent(image: string): Promise<void> {
    const left = (this.#pulling.get(image) ?? 0) - 1;
    if (left > 0) {
      this.#pulling.set(image, left);
      return;
    }
    try {
      await this.#intents.delete(image);
      this.#pulling.delete(image);
    } catch (err) {
      this.#deps.log.error('Failed to remove image pull intent', { image, err });
    }
  }

  /** Runs once: intents of a previous run whose image is present become records without credentials. */
  async #recover(signal: AbortSignal): Promise<void> {
    if (this.#recovered) return;
    const { images, log } = this.#deps;
    const names = await this.#intents.names();
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
      for (const name of names) await this.#recoverOne(name, refs);
    }
    this.#recovered = true;
  }

  async #recoverOne(name: string, refs: ReadonlyMap<string, string>): Promise<void> {
    const { log } = this.#deps;
    const intent = await this.#intents.load(name);
    if (intent === undefined || intent === 'invalid') return;
    const { image } = intent;
    if (this.#pulling.has(image)) return;
    try {
      // differs from upstream: short names are found, too, so that their intents do not stay forever.
      const imageRef = refs.get(image) ?? refs.get(fullImageName(image));
      if (imageRef === undefined) return;
      await this.#updateRecord(image, imageRef, undefined);
      await this.#intents.delete(image);
      log.info('Recovered the record of an interrupted image pull', { image, imageRef });
    } catch (err) {
      log.error('Failed to recover an interrupted image pull', { image, err });
    }
  }
}

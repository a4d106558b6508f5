// Collects unused images: every five minutes by age and disk usage, and all of them on behalf of eviction.
// Owns the records of images. Invariants: one run at a time; a failed removal neither stops a run nor the next one; pull records
// are pruned only against a complete list of the images on the node.
// Upstream: realImageGCManager, and StartGarbageCollection in pkg/kubelet/kubelet.go.
import type { EventSink } from '../../api/ports/events.ts';
import type { ImageReclaim } from '../../api/ports/reclaim.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { raceAbort, untilAborted } from '../../base/abort/race-abort.ts';
import type { Component, LoopLoad } from '../../base/component.ts';
import { Aborted, isAbortOf, isKind, KubeletError } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import { inSpan, type Tracer } from '../../base/tracer.ts';
import { runtimeText } from '../pull-error.ts';
import {
  computeAged,
  computeCandidates,
  computeRemovable,
  computeSpaceGoal,
  type FsSpace,
  type ImageGcPolicy,
} from './compute-removals.ts';
import { type DetectImagesDeps, detectImages } from './detect-images.ts';
import { ageFailure, insufficientSpace, invalidCapacity, spaceFailure } from './gc-messages.ts';
import type { ImageFs } from './image-fs.ts';
import { type ImageRecord, updateRecords } from './image-records.ts';
import { keepList } from './keep-list.ts';
import { type RemovalReason, type RemoveImagesDeps, removeImages } from './remove-images.ts';

export interface ImageGcDeps extends Omit<DetectImagesDeps, 'images'>, Omit<RemoveImagesDeps, 'images'> {
  readonly images: DetectImagesDeps['images'] & RemoveImagesDeps['images'];
  readonly fs: ImageFs;
  /** Undefined without pull records. */
  readonly history: { prune(present: ReadonlySet<string>, beforeMs: number): Promise<void> } | undefined;
  readonly events: Pick<EventSink, 'node'>;
  readonly policy: ImageGcPolicy;
  /** Names and prefixes of images that are never removed. */
  readonly keep: readonly string[];
  readonly log: Logger;
  readonly tracer?: Tracer | undefined;
}

const periodMs = 5 * 60_000;
const pruneDeadlineMs = 10_000;
const span = { scope: 'k8s.io/kubernetes/pkg/kubelet/images', name: 'Images/GarbageCollect' };

/** One run, from its detection on. */
interface Run {
  readonly nowMs: number;
  /** Pull records that were updated since then stay. By both clocks, since records have the time of the one that may step. */
  readonly started: { readonly wallMs: number; readonly monotonicMs: number };
  readonly candidates: readonly ImageRecord[];
  readonly signal: AbortSignal;
}

export class ImageGc implements Component, ImageReclaim {
  readonly name = 'image-gc';
  readonly #deps: ImageGcDeps;
  readonly #isKept;
  readonly #queue: KeyedQueue<'run'>;
  /** By key. */
  #records: ReadonlyMap<string, ImageRecord> = new Map();
  /** The images when pull records were last pruned; undefined before the first time. */
  #pruned: ReadonlySet<string> | undefined;
  #beganMs = 0;
  #failedBefore = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: ImageGcDeps) {
    this.#deps = deps;
    this.#isKept = keepList(deps.keep);
    this.#queue = new KeyedQueue({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: periodMs, maxMs: periodMs },
      run: (_key, signal) => this.#tick(signal),
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#beganMs = this.#deps.clock.monotonic();
    if (!this.#isPeriodic()) {
      this.#deps.log.info(
        'Disabled the periodic image garbage collection: threshold of 100 and no maximum age',
      );
    }
    this.#queue.start();
    this.#queue.add('run');
    return { stopped: this.#drain(signal) };
  }

  /** For eviction: removes every candidate older than the minimum age. */
  deleteUnusedImages(signal: AbortSignal): Promise<number> {
    return this.#alone(async () => {
      const { log, policy } = this.#deps;
      log.info('Deleting unused images to reclaim disk space');
      const run = await this.#detect(signal);
      try {
        const removable = computeRemovable(run.candidates, run.nowMs, policy);
        const { freedBytes } = await this.#remove(run, removable, 'space', Number.POSITIVE_INFINITY);
        return freedBytes;
      } finally {
        await this.#prune(run);
      }
    }, signal);
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#queue.abortAll(new Aborted('the kubelet stops'));
    await this.#queue.stop();
  }

  #isPeriodic(): boolean {
    const { highThresholdPercent, maxAgeMs } = this.#deps.policy;
    return highThresholdPercent < 100 || maxAgeMs > 0;
  }

  /** Runs never overlap. A caller that gives up waits no longer. */
  #alone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const mine = this.#last.then(() => {
      signal.throwIfAborted();
      return work();
    });
    this.#last = mine.catch(() => undefined);
    return raceAbort(mine, signal);
  }

  async #tick(signal: AbortSignal): Promise<void> {
    const { events, log, tracer } = this.#deps;
    try {
      await this.#alone(async () => {
        if (this.#isPeriodic()) await inSpan(tracer, span, () => this.#collect(signal));
        else await this.#detect(signal);
      }, signal);
      if (this.#failedBefore) log.info('Image garbage collection succeeded again');
      this.#failedBefore = false;
    } catch (err) {
      if (isAbortOf(err, signal)) return;
      // An unavailable runtime is logged once, by the relist.
      const failed = (message: string): void =>
        isKind(err, 'unavailable') ? log.v(2).info(message, { err }) : log.error(message, { err });
      if (!this.#isPeriodic()) {
        failed('Failed to monitor images');
        return;
      }
      if (this.#failedBefore) {
        failed('Image garbage collection failed multiple times in a row');
        events.node({ type: 'Warning', reason: 'ImageGCFailed', message: runtimeText(err) });
      } else {
        failed('Image garbage collection failed once. Stats initialization may not have completed yet');
      }
      this.#failedBefore = true;
    } finally {
      this.#queue.addAfter('run', periodMs);
    }
  }

  async #collect(signal: AbortSignal): Promise<void> {
    const { policy } = this.#deps;
    const run = await this.#detect(signal);
    try {
      const aged = computeAged(run.candidates, { nowMs: run.nowMs, beganMs: this.#beganMs }, policy);
      const { failures } = await this.#remove(run, aged, 'age', Number.POSITIVE_INFINITY);
      // differs from upstream: a failure here does not keep the run from freeing space.
      await this.#freeSpace(run);
      if (failures.length > 0) throw failure(ageFailure(policy.maxAgeMs, failures));
    } finally {
      await this.#prune(run);
    }
  }

  async #freeSpace(run: Run): Promise<void> {
    const { events, log, policy } = this.#deps;
    const space = await this.#space(run.signal);
    const { capacityBytes } = space;
    if (capacityBytes === 0) {
      events.node({ type: 'Warning', reason: 'InvalidDiskCapacity', message: invalidCapacity });
      throw failure(invalidCapacity);
    }
    const goal = computeSpaceGoal(space, policy);
    if (goal === undefined) return;
    const { highThresholdPercent: highThreshold, lowThresholdPercent: lowThreshold } = policy;
    log.info('Disk usage on image filesystem was over the high threshold', {
      usage: goal.usagePercent,
      highThreshold,
      lowThreshold,
      amountToFree: goal.bytes,
    });
    const left = run.candidates.filter(({ key }) => this.#records.has(key));
    const removable = computeRemovable(left, run.nowMs, policy);
    const { failures, freedBytes } = await this.#remove(run, removable, 'space', goal.bytes);
    if (failures.length > 0) throw failure(spaceFailure(goal.bytes, freedBytes, failures));
    if (freedBytes >= goal.bytes) return;
    const message = insufficientSpace(goal, capacityBytes, freedBytes);
    events.node({ type: 'Warning', reason: 'FreeDiskSpaceFailed', message });
    throw failure(message);
  }

  async #space(signal: AbortSignal): Promise<FsSpace> {
    return (await this.#deps.fs.imageFs(signal)) ?? { capacityBytes: 0, availableBytes: 0 };
  }

  async #detect(signal: AbortSignal): Promise<Run> {
    const { clock, events } = this.#deps;
    const started = { wallMs: clock.now(), monotonicMs: clock.monotonic() };
    const { images, inUse } = await detectImages(this.#deps, signal);
    const nowMs = clock.monotonic();
    const valid = images.filter(({ id, key }) => {
      if (id === '') {
        const message = `ImageID is not valid, skipping, image: ${key}`;
        events.node({ type: 'Warning', reason: 'InvalidImageID', message });
      }
      return id !== '';
    });
    this.#records = updateRecords(this.#records, valid, inUse, nowMs);
    const candidates = computeCandidates(this.#records.values(), inUse, this.#isKept);
    return { nowMs, started, candidates, signal };
  }

  async #remove(run: Run, images: readonly ImageRecord[], reason: RemovalReason, goalBytes: number) {
    const outcome = await removeImages(this.#deps, images, { goalBytes, reason }, run.signal);
    const gone = new Set(outcome.removed.map(({ key }) => key));
    this.#records = new Map([...this.#records].filter(([key]) => !gone.has(key)));
    return outcome;
  }

  // differs from upstream: every image on the node counts as present, in use or not, and a run that removed images by age or on
  // behalf of eviction prunes, too. Upstream prunes the records of images in use, so that any pod may use them.
  /** Removes the pull records of images that are gone, if any went since the last time. */
  async #prune({ signal, started }: Run): Promise<void> {
    const { clock, history, log } = this.#deps;
    const present = new Set<string>();
    for (const { id, names } of this.#records.values()) for (const name of [id, ...names]) present.add(name);
    if (history === undefined || signal.aborted) return;
    if (this.#pruned !== undefined && [...this.#pruned].every((each) => present.has(each))) {
      this.#pruned = present;
      return;
    }
    const beforeMs = Math.min(started.wallMs, clock.now() - (clock.monotonic() - started.monotonicMs));
    try {
      // A hung disk must not keep images from being removed for eviction.
      await withDeadline({ clock, ms: pruneDeadlineMs, signal, what: 'prune pull records' }, () =>
        history.prune(present, beforeMs),
      );
      this.#pruned = present;
    } catch (err) {
      if (!isAbortOf(err, signal)) log.error('Failed to prune image pulled records', { err });
    }
  }
}

function failure(message: string): KubeletError {
  return new KubeletError('internal', 'ImageGCFailed', message);
}

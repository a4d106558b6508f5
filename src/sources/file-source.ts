// Publishes the pods of a manifest directory or a single manifest. Upstream: pkg/kubelet/config (file.go, file_linux.go).
// A loop with one key: file events and a timer trigger a scan, which lists the directory, reads changed files and publishes
// the whole set if it differs. Invariants: the first successful scan publishes the set, even an empty one; a bad file never
// affects the pods of another.
import type { Pod } from '../api/k8s/types.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Clock } from '../base/clock.ts';
import type { Component, LoopLoad } from '../base/component.ts';
import { describeError, isAbort, isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import type { PodsOnNode } from './choose-uid.ts';
import { maxManifestBytes } from './decode/decode-manifest.ts';
import { FaultLog } from './fault-log.ts';
import {
  afterFailure,
  afterRead,
  alreadyRead,
  isUpToDate,
  type KnownFile,
  type ManifestContent,
  settleMs,
  unknownFile,
} from './known-file.ts';
import {
  type BuildPods,
  type BuiltManifest,
  type ManifestPods,
  mergeManifest,
  reportNewPods,
} from './manifest-pods.ts';
import { type SlowRead, SlowReads } from './slow-reads.ts';
import { uniquePods } from './unique-pods.ts';

export interface ManifestEntry {
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'other' | 'missing' | 'unreadable';
  /** Changes whenever the content may have changed. Empty if unknown. */
  readonly stamp: string;
  /** Of an `unreadable` entry. */
  readonly reason?: string;
}

export type ManifestListing =
  | { readonly kind: 'missing' }
  | { readonly kind: 'other' }
  /** In lexical order, without dot files. */
  | { readonly kind: 'directory' | 'file'; readonly entries: readonly ManifestEntry[] };

export interface ManifestFiles {
  list(path: string): Promise<ManifestListing>;
  /** Throws `not-found`, `forbidden`, or `invalid` if too large or not a regular file. Never blocks on a pipe. */
  read(path: string, limitBytes: number): Promise<ManifestContent>;
  /** Until closed, calls onChange soon after the path or a target of its links may have changed. */
  watch(path: string, onChange: () => void, onError: (err: unknown) => void): ManifestWatch;
}

export interface ManifestWatch {
  close(): void;
  /**
   * Paths from which a manifest was removed since the last call, even if another has taken its place. A replacement by rename
   * is not a removal. Empty if removals cannot be observed.
   */
  takeRemoved(): Promise<readonly string[]>;
}

interface FileSourceDeps {
  readonly files: ManifestFiles;
  readonly buildPods: BuildPods;
  /** What is on the node already; never rejects. */
  readonly podsOnNode: () => Promise<PodsOnNode>;
  readonly publish: (source: 'file', pods: readonly Pod[]) => void;
  readonly clock: Clock;
  readonly log: Logger;
  readonly path: string;
  /** Read for each check; after a change call poke(). */
  readonly fileCheckMs: number;
  readonly staticPods: { readonly nodeName: string; readonly strictIps?: boolean };
}

const unusable = 'Failed to process manifest file';
const unlisted = 'Failed to read manifest path';
const unwatched = 'Failed to watch manifest path, relying on rescans';
const ignored = 'Ignored entry of manifest directory';
const unknownFields = 'Ignored unknown fields of manifest';

const slowScanMs = 30_000;
/** A manifest that took too much time or memory is retried after this, since the node may have been busy. */
const retryAfterMs = 600_000;

export class FileSource implements Component {
  readonly name = 'file-source';
  readonly #deps: FileSourceDeps;
  readonly #path: string;
  readonly #faults: FaultLog;
  readonly #queue: KeyedQueue<'scan'>;
  readonly #slow: SlowReads;
  #stopping = false;
  #known: ReadonlyMap<string, KnownFile> = new Map();
  #published: readonly Pod[] | undefined;
  #onFirstScan: () => void = () => undefined;
  #watch: ManifestWatch | undefined;

  constructor(deps: FileSourceDeps) {
    this.#deps = deps;
    // regex-bound: 4096, a path that the operator gave
    this.#path = deps.path.replace(/(?<=.)\/+$/, '');
    this.#faults = new FaultLog(deps.log);
    this.#queue = new KeyedQueue<'scan'>({
      clock: deps.clock,
      parallel: 1,
      run: () => this.#run(),
      get backoff() {
        return { initialMs: 1000, maxMs: Math.max(1000, deps.fileCheckMs) };
      },
      onError: (_key, err) => deps.log.error('Failed to scan manifests', { path: this.#path, err }),
    });
    this.#slow = new SlowReads(() => this.#queue.add('scan'));
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  /** Resolves after the first scan, so that components started later find the pods. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { files, log } = this.#deps;
    log.v(1).info('Watching path', { path: this.#path });
    const watcher = files.watch(
      this.#path,
      () => this.#queue.add('scan'),
      (err) => this.#faults.report('error', unwatched, this.#path, describeError(err)),
    );
    this.#watch = watcher;
    const aborted = untilAborted(signal);
    const firstScan = new Promise<void>((resolve) => {
      this.#onFirstScan = resolve;
    });
    this.#queue.add('scan');
    this.#queue.start();
    await Promise.race([firstScan, aborted]);
    return { stopped: this.#stopAfter(aborted, watcher) };
  }

  /** Scans now. */
  poke(): void {
    this.#queue.addUnlessBackingOff('scan');
  }

  async #stopAfter(aborted: Promise<void>, watcher: { close(): void }): Promise<void> {
    await aborted;
    this.#stopping = true;
    watcher.close();
    await this.#slow.stopAll();
    await this.#queue.stop();
    await this.#slow.stopAll();
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#deps;
    const slow = clock.setTimer(slowScanMs, () =>
      log.warn('Manifest scan is taking long', { path: this.#path, seconds: slowScanMs / 1000 }),
    );
    try {
      await this.#scan();
    } finally {
      slow.cancel();
      this.#queue.addAfter('scan', this.#deps.fileCheckMs);
      this.#onFirstScan();
    }
  }

  async #scan(): Promise<void> {
    const entries = await this.#list();
    // A failed list does not mean an empty directory: keep the pods, and do not publish a first set yet.
    if (entries === undefined) return;
    // After the list, so that removals before it are known; a file that was written again is read again.
    await this.#withdrawRemoved();
    const known = new Map<string, KnownFile>();
    for (const entry of entries) {
      const file = await this.#inspect(entry);
      if (file !== undefined) known.set(entry.path, file);
      if (file === this.#known.get(entry.path) || this.#stopping) continue;
      // A pod does not wait for the manifests after its own: docs/decisions/0008-how-many-pods-start-at-once.md.
      this.#publishEarly(entries, known);
    }
    this.#slow.dropExcept(new Set(known.keys()));
    // The first set must be complete: pods that are not in it are terminated. Later, a slow manifest keeps its pods meanwhile.
    if (this.#published === undefined) await this.#slow.settled();
    if (this.#stopping) return;
    for (const [path, read] of this.#slow.ended())
      known.set(path, this.#afterSlow(known.get(path) ?? unknownFile, read));
    this.#known = known;
    this.#faults.forgetExcept(new Set([this.#path, ...entries.map((entry) => entry.path)]));
    this.#publish(this.#assemble());
  }

  /** Publishes the set without the pods of removed manifests, even if the next scan finds the same manifest again. */
  async #withdrawRemoved(): Promise<void> {
    if (this.#published === undefined) return;
    const removed = new Set(await this.#watch?.takeRemoved());
    if (removed.size === 0 || this.#stopping) return;
    this.#known = new Map([...this.#known].filter(([path]) => !removed.has(path)));
    for (const path of removed) this.#slow.drop(path);
    this.#publish(uniquePods([...this.#known].map(([path, file]) => [path, file.pods])).pods);
  }

  /** Publishes the new state of the scanned files and the previous state of the others. Never for the first set. */
  #publishEarly(entries: readonly ManifestEntry[], scanned: ReadonlyMap<string, KnownFile>): void {
    if (this.#published === undefined) return;
    const files = entries.flatMap(({ path }) => {
      const file = scanned.get(path) ?? this.#known.get(path);
      return file === undefined ? [] : [[path, file.pods] as const];
    });
    this.#publish(uniquePods(files).pods);
  }

  async #list(): Promise<readonly ManifestEntry[] | undefined> {
    const cannot = (reason: string): undefined => {
      this.#faults.report('error', unlisted, this.#path, reason);
    };
    try {
      const listing = await this.#deps.files.list(this.#path);
      if (listing.kind === 'other') return cannot('it is neither a directory nor a regular file');
      if (listing.kind === 'missing') cannot('it does not exist, ignoring it');
      else this.#faults.clear(unlisted, this.#path);
      return listing.kind === 'missing' ? [] : listing.entries;
    } catch (err) {
      return cannot(describeError(err));
    }
  }

  async #inspect(entry: ManifestEntry): Promise<KnownFile | undefined> {
    const before = this.#known.get(entry.path) ?? unknownFile;
    if (entry.kind === 'file') {
      const same = isUpToDate(before, entry.stamp, this.#deps.clock.monotonic());
      const known = same || this.#slow.get(entry.path, entry.stamp) !== undefined;
      return known ? before : this.#read(entry.path, before);
    }
    this.#slow.drop(entry.path);
    if (entry.kind === 'unreadable') return afterFailure(before, entry.reason ?? 'it cannot be inspected');
    if (entry.kind === 'directory') this.#faults.report('warn', ignored, entry.path, 'it is a directory');
    else if (entry.kind === 'other')
      this.#faults.report('warn', ignored, entry.path, 'it is not a regular file');
    else this.#faults.report('error', unusable, entry.path, 'it is a dangling link');
    return undefined;
  }

  async #read(path: string, before: KnownFile): Promise<KnownFile | undefined> {
    const { clock, files, log, buildPods, podsOnNode, staticPods } = this.#deps;
    log.v(3).info('Reading config file', { path });
    this.#slow.drop(path);
    try {
      const content = await files.read(path, maxManifestBytes);
      const nowMs = clock.now();
      const already = alreadyRead(before, content.bytes);
      if (already !== undefined) return afterRead(before, content, already, nowMs);
      const stop = new AbortController();
      const onNode = await podsOnNode();
      const origin = { ...staticPods, source: 'file' as const, origin: path, nowMs, onNode };
      const built = buildPods(content.bytes, origin, stop.signal);
      if (!(built instanceof Promise)) return afterRead(before, content, this.#pods(built, before), nowMs);
      this.#slow.add(path, content, nowMs, { built, stop });
      return before;
    } catch (err) {
      // Removed between the list and the read: the next scan decides.
      return isKind(err, 'not-found') ? undefined : afterFailure(before, describeError(err));
    }
  }

  #afterSlow(before: KnownFile, { content, readAtMs, result }: SlowRead): KnownFile {
    if (result === undefined) return before;
    if ('built' in result) return afterRead(before, content, this.#pods(result.built, before), readAtMs);
    if (isAbort(result.err)) return before;
    const tooMuch = isKind(result.err, 'timeout') || isKind(result.err, 'invalid');
    return afterFailure(
      before,
      describeError(result.err),
      tooMuch ? { stamp: content.stamp, retryAtMs: this.#deps.clock.monotonic() + retryAfterMs } : undefined,
    );
  }

  #pods(built: BuiltManifest, before: KnownFile): ManifestPods {
    reportNewPods(this.#deps.log, built, before.pods);
    return mergeManifest(built, before.pods, this.#deps.staticPods.nodeName);
  }

  #assemble(): readonly Pod[] {
    const { pods, rejected } = uniquePods([...this.#known].map(([path, file]) => [path, file.pods]));
    for (const [path, file] of this.#known)
      this.#reportFile(path, file, [...file.reasons, ...(rejected.get(path) ?? [])]);
    return pods;
  }

  #reportFile(path: string, file: KnownFile, reasons: readonly string[]): void {
    const kept = file.kept.length > 0 ? { keeping: file.kept.join(', ') } : {};
    if (reasons.length > 0) this.#faults.report('error', unusable, path, reasons.join('; '), kept);
    if (file.unsettled) {
      this.#queue.addAfter('scan', settleMs);
      return;
    }
    if (reasons.length === 0) this.#faults.clear(unusable, path);
    if (file.unknownFields.length === 0) this.#faults.clear(unknownFields, path);
    else this.#faults.report('warn', unknownFields, path, file.unknownFields.join(', '));
  }

  #publish(pods: readonly Pod[]): void {
    const before = this.#published;
    if (before !== undefined && before.length === pods.length && pods.every((pod, at) => pod === before[at]))
      return;
    this.#published = pods;
    this.#deps.publish('file', pods);
  }
}

// Checkpoints readiness and startup results by container, so that a kubelet restart changes neither. Upstream has none.
// Invariants: the file is never behind what was published (save() is awaited before a result is published); a disk that fails or
// hangs delays a result by a bounded time and loses only the checkpoint; an unreadable file counts as no checkpoint.

import { asContainerId, type ContainerId } from '../api/pod/pod-ref.ts';
import type { ProbeKind, ProbeOutcome } from '../api/ports/probe-results.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isObject } from '../base/guards.ts';
import type { Logger } from '../base/log/log.ts';

type CheckpointedKind = Exclude<ProbeKind, 'liveness'>;

export interface CheckpointFile {
  /** Undefined if the file does not exist. */
  read(): Promise<string | undefined>;
  /** Replaces the file atomically: a reader sees the old text or the new one. */
  write(text: string): Promise<void>;
}

interface ResultCheckpointDeps {
  readonly file: CheckpointFile;
  readonly clock: Clock;
  readonly log: Logger;
}

type ContainerResults = Partial<Record<CheckpointedKind, ProbeOutcome>>;

/** A node has some hundred containers; older entries belong to none of them. */
const maxContainers = 4096;
/** A disk slower than this must not delay readiness. */
const diskTimeoutMs = 1_000;

export class ResultCheckpoint {
  readonly #deps: ResultCheckpointDeps;
  /** Oldest first. */
  readonly #results = new Map<ContainerId, ContainerResults>();
  /** Read from disk and not yet looked up by a probe of this process. */
  readonly #unclaimed = new Set<ContainerId>();
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #failing = false;

  constructor(deps: ResultCheckpointDeps) {
    this.#deps = deps;
  }

  async load(signal: AbortSignal): Promise<void> {
    const { clock, file, log } = this.#deps;
    try {
      const text = await withDeadline({ clock, ms: diskTimeoutMs, signal, what: 'read probe results' }, () =>
        file.read(),
      );
      for (const [id, results] of text === undefined ? [] : parseCheckpoint(text)) {
        this.#results.set(id, results);
        this.#unclaimed.add(id);
      }
    } catch (err) {
      signal.throwIfAborted();
      log.warn('Failed to read the probe results of the previous run, starting without them', { err });
    }
  }

  get(id: ContainerId, kind: CheckpointedKind): ProbeOutcome | undefined {
    this.#unclaimed.delete(id);
    return this.#results.get(id)?.[kind];
  }

  /** Resolves when the result is on disk, or when the write has failed or timed out. Never rejects. */
  async save(id: ContainerId, kind: CheckpointedKind, outcome: ProbeOutcome): Promise<void> {
    this.#results.set(id, { ...this.#results.get(id), [kind]: outcome });
    const oldest = this.#results.keys().next();
    if (this.#results.size > maxContainers && oldest.done !== true) this.drop(oldest.value);
    const { clock } = this.#deps;
    const saved = this.#scheduleWrite();
    // A write that hangs stays in flight and the next one waits for it, so that an old text never replaces a new one.
    await withDeadline({ clock, ms: diskTimeoutMs, what: 'write probe results' }, () => saved).catch(
      (err: unknown) => this.#logFailure(err),
    );
  }

  /** Removes a container that was removed. The file follows with the next write, since IDs are never reused. */
  drop(id: ContainerId): void {
    this.#results.delete(id);
    this.#unclaimed.delete(id);
  }

  /** Drops the results of the previous run that no probe of this one has looked up. */
  dropUnclaimed(): void {
    for (const id of this.#unclaimed) this.drop(id);
  }

  /** Resolves when no write is in flight. */
  async idle(): Promise<void> {
    await (this.#next ?? this.#writing);
  }

  /** One write at a time; results that arrive meanwhile share the next write. */
  #scheduleWrite(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    this.#next = this.#writeAfter(this.#writing);
    return this.#next;
  }

  async #writeAfter(before: Promise<void> | undefined): Promise<void> {
    await before;
    this.#next = undefined;
    this.#writing = this.#write();
    await this.#writing;
  }

  async #write(): Promise<void> {
    const containers = Object.fromEntries(this.#results);
    try {
      await this.#deps.file.write(`${JSON.stringify({ version: 1, containers })}\n`);
      this.#failing = false;
    } catch (err) {
      this.#logFailure(err);
    } finally {
      this.#writing = undefined;
    }
  }

  #logFailure(err: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#deps.log.error('Failed to write probe results, a kubelet restart will lose them', { err });
  }
}

/** Skips entries it does not understand: another version may have written them. Throws if the text is not JSON. */
export function parseCheckpoint(text: string): readonly (readonly [ContainerId, ContainerResults])[] {
  const parsed: unknown = JSON.parse(text);
  const containers = isObject(parsed) ? parsed['containers'] : undefined;
  if (!isObject(containers)) return [];
  return Object.entries(containers)
    .slice(-maxContainers)
    .flatMap(([id, results]) => {
      if (!isObject(results)) return [];
      const { readiness, startup } = results;
      const known: ContainerResults = {
        ...(isOutcome(readiness) ? { readiness } : {}),
        ...(isOutcome(startup) ? { startup } : {}),
      };
      return Object.keys(known).length === 0 ? [] : [[asContainerId(id), known] as const];
    });
}

function isOutcome(value: unknown): value is ProbeOutcome {
  return value === 'success' || value === 'failure' || value === 'unknown';
}

// Readiness and started state on disk, by container, so that a restart of the kubelet changes neither. Upstream has none.
// Invariants: what is on disk was never behind what was announced (keep() is awaited before a result is published); a disk that
// fails or hangs delays a result by a bounded time and loses only the memory; a file that cannot be read is no memory at all.

import { asContainerId, type ContainerId } from '../api/pod/pod-ref.ts';
import type { ProbeKind, ProbeOutcome } from '../api/ports/probe-results.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import type { Clock } from '../base/clock.ts';
import { isObject } from '../base/guards.ts';
import type { Logger } from '../base/log/log.ts';

type KeptKind = Exclude<ProbeKind, 'liveness'>;

export interface KeptFile {
  /** Undefined when there is none yet. */
  read(): Promise<string | undefined>;
  /** Replaces it as a whole: who reads sees the old text or the new one. */
  write(text: string): Promise<void>;
}

interface KeptResultsDeps {
  readonly file: KeptFile;
  readonly clock: Clock;
  readonly log: Logger;
}

type Kept = Partial<Record<KeptKind, ProbeOutcome>>;

/** A node has some hundred containers; what exceeds this is older than any of them. */
const mostContainers = 4096;
/** A disk that is slower than this must not hold up readiness. */
const diskMs = 1_000;

export class KeptResults {
  readonly #deps: KeptResultsDeps;
  /** Oldest first. */
  readonly #kept = new Map<ContainerId, Kept>();
  /** Read from disk, and not yet seen in this life. */
  readonly #unclaimed = new Set<ContainerId>();
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #failing = false;

  constructor(deps: KeptResultsDeps) {
    this.#deps = deps;
  }

  async load(signal: AbortSignal): Promise<void> {
    const { clock, file, log } = this.#deps;
    try {
      const text = await withDeadline({ clock, ms: diskMs, signal, what: 'read probe results' }, () =>
        file.read(),
      );
      for (const [id, kept] of text === undefined ? [] : parseKept(text)) {
        this.#kept.set(id, kept);
        this.#unclaimed.add(id);
      }
    } catch (err) {
      signal.throwIfAborted();
      log.warn('Probe results of the last life cannot be read; probes begin anew', { err });
    }
  }

  get(id: ContainerId, kind: KeptKind): ProbeOutcome | undefined {
    this.#unclaimed.delete(id);
    return this.#kept.get(id)?.[kind];
  }

  /** Resolves when it is on disk, or when the disk has failed or taken too long. Never rejects. */
  async keep(id: ContainerId, kind: KeptKind, outcome: ProbeOutcome): Promise<void> {
    this.#kept.set(id, { ...this.#kept.get(id), [kind]: outcome });
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > mostContainers && oldest.done !== true) this.drop(oldest.value);
    const { clock } = this.#deps;
    const saved = this.#save();
    // A write that hangs goes on; the next one waits for it, so that an old text never replaces a new one.
    await withDeadline({ clock, ms: diskMs, what: 'write probe results' }, () => saved).catch(
      (err: unknown) => this.#tellFailure(err),
    );
  }

  /** For a container that has gone. Leaves the disk with the next write: an ID never comes back. */
  drop(id: ContainerId): void {
    this.#kept.delete(id);
    this.#unclaimed.delete(id);
  }

  /** Drops what the last life knew and this one has not met. */
  dropUnclaimed(): void {
    for (const id of this.#unclaimed) this.drop(id);
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    await (this.#next ?? this.#writing);
  }

  /** One write at a time; what comes meanwhile goes into one further write. */
  #save(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    this.#next = this.#saveAfter(this.#writing);
    return this.#next;
  }

  async #saveAfter(before: Promise<void> | undefined): Promise<void> {
    await before;
    this.#next = undefined;
    this.#writing = this.#write();
    await this.#writing;
  }

  async #write(): Promise<void> {
    const containers = Object.fromEntries(this.#kept);
    try {
      await this.#deps.file.write(`${JSON.stringify({ version: 1, containers })}\n`);
      this.#failing = false;
    } catch (err) {
      this.#tellFailure(err);
    } finally {
      this.#writing = undefined;
    }
  }

  #tellFailure(err: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#deps.log.error('Probe results cannot be kept on disk: a restart of the kubelet will begin anew', {
      err,
    });
  }
}

/** What it does not understand it leaves out: another version may have written it. Throws on what is no JSON at all. */
export function parseKept(text: string): readonly (readonly [ContainerId, Kept])[] {
  const parsed: unknown = JSON.parse(text);
  const containers = isObject(parsed) ? parsed['containers'] : undefined;
  if (!isObject(containers)) return [];
  return Object.entries(containers)
    .slice(-mostContainers)
    .flatMap(([id, kept]) => {
      if (!isObject(kept)) return [];
      const { readiness, startup } = kept;
      const known: Kept = {
        ...(isOutcome(readiness) ? { readiness } : {}),
        ...(isOutcome(startup) ? { startup } : {}),
      };
      return Object.keys(known).length === 0 ? [] : [[asContainerId(id), known] as const];
    });
}

function isOutcome(value: unknown): value is ProbeOutcome {
  return value === 'success' || value === 'failure' || value === 'unknown';
}

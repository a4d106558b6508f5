// The rows of the table of pods, each computed and encoded only when something of it may have changed.
// Invariant: a row is announced only if its text differs from the one before.
import type { Pod, PodStatus } from '../../api/k8s/types.ts';
import type { PodLifecycle } from '../../api/pod/pod-lifecycle.ts';
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { PodRow } from '../../api/ports/node-page.ts';
import type { Slices } from '../../base/slices.ts';
import { encodeJson } from './event-stream.ts';
import { podRow } from './pod-row.ts';

export interface PodSources {
  readonly desired: {
    get(uid: PodUid): { readonly pod: Pod } | undefined;
    all(): readonly { readonly uid: PodUid; readonly pod: Pod }[];
  };
  readonly lifecycles: {
    get(uid: PodUid): PodLifecycle | undefined;
    all(): ReadonlyMap<PodUid, PodLifecycle>;
  };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly observed: { get(uid: PodUid): { readonly namespace: string; readonly name: string } | undefined };
  readonly explainer: {
    sentence(uid: PodUid): { readonly text: string; readonly sinceMs?: number; readonly isActive: boolean };
  };
}

interface KnownRow {
  readonly row: PodRow;
  readonly text: string;
  /** The last pod of its source. */
  readonly pod: Pod | undefined;
  /** Its sentence may change although no store does: a countdown, an operation in flight. */
  readonly isActive: boolean;
}

export class PodRows {
  readonly #sources: PodSources;
  readonly #known = new Map<PodUid, KnownRow>();
  readonly #marked = new Set<PodUid>();
  #level: Uint8Array | undefined;

  constructor(sources: PodSources) {
    this.#sources = sources;
  }

  mark(uid: PodUid): void {
    this.#marked.add(uid);
  }

  markAll(): void {
    for (const { uid } of this.#sources.desired.all()) this.#marked.add(uid);
    for (const uid of this.#sources.lifecycles.all().keys()) this.#marked.add(uid);
  }

  /** Marks the rows whose sentence may change by itself. True if there are any. */
  markActive(): boolean {
    for (const [uid, { isActive }] of this.#known) if (isActive) this.#marked.add(uid);
    return this.#marked.size > 0;
  }

  row(uid: PodUid): PodRow | undefined {
    return this.#known.get(uid)?.row;
  }

  /** The pod as its source has it, or had it last. */
  pod(uid: PodUid): Pod | undefined {
    return this.#sources.desired.get(uid)?.pod ?? this.#known.get(uid)?.pod;
  }

  /** The UIDs of pods in the phase Running. */
  running(): readonly PodUid[] {
    const { desired, statuses } = this.#sources;
    return desired.all().flatMap(({ uid }) => (statuses.get(uid)?.phase === 'Running' ? [uid] : []));
  }

  counts(): { readonly running: number; readonly total: number } {
    return { running: this.running().length, total: this.#sources.desired.all().length };
  }

  /** Computes the marked rows. The message with what changed; undefined if nothing did. */
  async refresh(slices: Slices): Promise<Uint8Array | undefined> {
    const texts: string[] = [];
    const gone: PodUid[] = [];
    for (const uid of this.#marked) {
      await slices.yieldIfDue();
      this.#marked.delete(uid);
      const before = this.#known.get(uid);
      const known = this.#compute(uid, before);
      if (known === undefined) {
        if (this.#known.delete(uid)) gone.push(uid);
        continue;
      }
      this.#known.set(uid, known);
      if (known.text !== before?.text) texts.push(known.text);
    }
    if (texts.length === 0 && gone.length === 0) return undefined;
    this.#level = undefined;
    return encodeJson('pods', `{"all":false,"rows":[${texts.join(',')}],"gone":${JSON.stringify(gone)}}`);
  }

  /** All rows, encoded once until one of them changes. */
  level(): Uint8Array {
    if (this.#level === undefined) {
      const texts = [...this.#known.values()].map(({ text }) => text);
      this.#level = encodeJson('pods', `{"all":true,"rows":[${texts.join(',')}],"gone":[]}`);
    }
    return this.#level;
  }

  #compute(uid: PodUid, before: KnownRow | undefined): KnownRow | undefined {
    const { desired, explainer, lifecycles, observed, statuses } = this.#sources;
    const current = desired.get(uid)?.pod;
    const lifecycle = lifecycles.get(uid);
    if (current === undefined && lifecycle === undefined) return undefined;
    const pod = current ?? before?.pod;
    const sentence = sameSince(explainer.sentence(uid), before);
    const row = podRow({
      uid,
      pod,
      name: observed.get(uid) ?? { namespace: '', name: '' },
      isRemoved: current === undefined,
      status: statuses.get(uid),
      lifecycle,
      sentence,
    });
    const isActive = sentence.isActive || row.tone === 'busy' || row.tone === 'bad';
    return { row, text: JSON.stringify(row), pod, isActive };
  }
}

type Sentence = ReturnType<PodSources['explainer']['sentence']>;

/** A periodic sync writes the sentence again; while its text is the same, it began with the first one. */
function sameSince(sentence: Sentence, before: KnownRow | undefined): Sentence {
  const { sentence: text, sinceMs } = before?.row ?? {};
  return sinceMs === undefined || text !== sentence.text ? sentence : { ...sentence, sinceMs };
}

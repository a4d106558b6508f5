// What is kept of the API server's state, in memory and on disk. Owns KeptState (sole writers: the decorated client and watches).
// differs from upstream: a kubelet that starts while the API server cannot be reached knows its pods, with --autonomy.
// Invariants: the records follow the API server, and this node's own statuses of pods that have ended; nothing is removed from disk
// because of a state that came from disk; a record that cannot be used is set aside by itself.
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { asPodUid, type PodUid, podUid } from '../api/pod/pod-ref.ts';
import type { KubeObject } from '../api/ports/api-client.ts';
import { isMirrorPod } from '../api/ports/pod-source.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, on } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import { KeptCollections } from './kept-collections.ts';
import { type KeptCollection, type ObjectRef, podOfToken, secretKinds } from './kept-kinds.ts';
import { withoutManagedFields } from './kept-members.ts';
import { computeKeptPod, computePublishedPod, inOrderOfStart, isOver } from './kept-pod.ts';
import { type KeptRecords, loadRecords } from './load-records.ts';
import { RecordWriter } from './record-writer.ts';
import {
  computeLinks,
  computeUsedByPod,
  computeWanted,
  idOf,
  type UsedByPod,
  type Wanted,
} from './references.ts';

interface KeptStateDeps {
  readonly records: KeptRecords;
  /** --autonomy=WithSecrets. */
  readonly keepSecrets: boolean;
  readonly statuses: { get(uid: PodUid): PodStatus | undefined; readonly changed: Subscribable<PodUid> };
  readonly clock: Clock;
  readonly log: Logger;
}

/** `absent`: the API server has no such object. `unkept`: it is not known. */
type KeptObject = { readonly object: KubeObject } | 'absent' | 'unkept';

/** Changes within these times are written once. */
const podWaitMs = 200;
const statusWaitMs = 5_000;
const objectWaitMs = 500;
const sweepWaitMs = 5_000;
const readDeadlineMs = 5_000;
/** Bounds what is kept; the rest waits for the API server. */
const maxPods = 1_000;

export class KeptState implements Component {
  readonly name = 'kept-state';
  readonly wakes;
  readonly #deps: KeptStateDeps;
  readonly #writer: RecordWriter;
  readonly #pods = new Map<string, Pod>();
  /** What the pods use that are not over. */
  readonly #used = new Map<string, UsedByPod>();
  readonly #collections: KeptCollections;
  /** What is on disk, or will be, by ID, with its version; `absent` for objects that do not exist. */
  readonly #kept = new Map<string, { readonly ref: ObjectRef; readonly version: string }>();
  readonly #links = new Map<string, readonly string[]>();
  #wanted: Wanted | undefined;
  /** The API server has listed the pods: what no pod uses may be removed. */
  #hasListed = false;
  #cancelSweep: (() => void) | undefined;

  constructor(deps: KeptStateDeps) {
    const { clock, log, records } = deps;
    this.#deps = deps;
    this.#writer = new RecordWriter({ files: records, clock, log });
    this.#collections = new KeptCollections({
      writer: this.#writer,
      namespaces: () => this.#wantedNow().namespaces,
    });
    this.wakes = [on(deps.statuses.changed, (uid) => this.#statusChanged(uid))];
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    await loadRecords(this.#deps, {
      pod: (uid, pod) => {
        this.#pods.set(uid, pod);
        this.#noteUse(uid, pod);
      },
      collection: (name, objects) => this.#collections.load(name, objects),
      object: (ref, object) => this.#index(ref, object),
    });
    this.#writer.start();
    const stopped = untilAborted(signal).then(() => {
      this.#cancelSweep?.();
      return this.#writer.stop();
    });
    return { stopped };
  }

  /** The pods as they are published while the API server cannot be reached. */
  pods(): readonly Pod[] {
    return inOrderOfStart([...this.#pods.values()].map(computePublishedPod));
  }

  /** Whether the API server has listed the pods since the start. */
  hasListed(): boolean {
    return this.#hasListed;
  }

  podCount(): number {
    return this.#pods.size;
  }

  collection(name: KeptCollection): readonly KubeObject[] | undefined {
    return name === 'pods' ? this.pods() : this.#collections.members(name);
  }

  async object(ref: ObjectRef): Promise<KeptObject> {
    const kept = this.#kept.get(idOf(ref));
    if (kept === undefined) return 'unkept';
    if (kept.version === 'absent') return 'absent';
    const pending = this.#writer.pendingText(ref.kind, ref.key);
    const text = pending ?? (await this.#read(ref));
    if (text !== undefined) return { object: JSON.parse(text) as KubeObject };
    // To be written again with the server's next answer, which may be of the same version.
    if (this.#kept.get(idOf(ref)) === kept) this.#kept.delete(idOf(ref));
    return 'unkept';
  }

  /** A hung disk delays the pods that need the object, and no others. */
  #read({ key, kind }: ObjectRef): Promise<string | undefined> {
    const { clock, records } = this.#deps;
    return withDeadline({ clock, ms: readDeadlineMs, what: 'reading a kept object' }, () =>
      records.read(kind, key),
    );
  }

  /** The API server has this end of a pod: it answers a write before the watch delivers it, or in its place. */
  noteEnd(pod: Pod): void {
    if (this.#pods.has(podUid(pod)) && isTerminalPhase(pod.status?.phase)) this.#putPod(pod);
  }

  /** The complete collection, from the API server. */
  replaceCollection(name: KeptCollection, objects: readonly KubeObject[]): void {
    if (name !== 'pods') return this.#collections.replace(name, objects);
    const uids = new Set(objects.map((each) => each.metadata?.uid));
    for (const uid of this.#pods.keys()) if (!uids.has(uid)) this.#removePod(uid);
    this.#hasListed = true;
    for (const each of objects) this.#putPod(each as Pod);
    this.#sweepSoon();
  }

  upsertInto(name: KeptCollection, object: KubeObject): void {
    if (name === 'pods') this.#putPod(object as Pod);
    else this.#collections.upsert(name, object);
  }

  removeFrom(name: KeptCollection, object: KubeObject): void {
    if (name === 'pods') this.#removePod(object.metadata?.uid ?? '');
    else this.#collections.remove(name, object);
  }

  /** An object as the API server returned it. */
  record(ref: ObjectRef, object: KubeObject): void {
    if (!this.#isWanted(ref)) return;
    const version = object.metadata?.resourceVersion ?? '';
    const id = idOf(ref);
    const before = this.#kept.get(id);
    if (before?.version === 'absent') this.#writer.remove('absent', id);
    this.#link(ref, object);
    if (secretKinds.includes(ref.kind) && !this.#deps.keepSecrets) {
      this.#kept.delete(id);
      return;
    }
    if (before?.version === version && version !== '') return;
    this.#kept.set(id, { ref, version });
    this.#writer.put(ref.kind, ref.key, () => JSON.stringify(withoutManagedFields(object)), objectWaitMs);
  }

  /** The API server has no such object: a pod may start without it if its reference is optional. */
  recordAbsent(ref: ObjectRef): void {
    const id = idOf(ref);
    const before = this.#kept.get(id);
    if (before?.version === 'absent' || !this.#isWanted(ref)) return;
    if (before !== undefined) this.#writer.remove(ref.kind, ref.key);
    this.#kept.set(id, { ref, version: 'absent' });
    this.#writer.put('absent', id, () => JSON.stringify(ref), objectWaitMs);
  }

  /** An object on disk, unless the API server has answered before it was read. */
  #index(ref: ObjectRef, object: KubeObject | undefined): void {
    if (this.#kept.has(idOf(ref))) return;
    this.#kept.set(idOf(ref), {
      ref,
      version: object === undefined ? 'absent' : (object.metadata?.resourceVersion ?? ''),
    });
    if (object !== undefined) this.#link(ref, object);
  }

  #link(ref: ObjectRef, object: KubeObject): void {
    const links = computeLinks(ref, object);
    if (links === undefined) return;
    this.#links.set(idOf(ref), links);
    this.#wanted = undefined;
  }

  #putPod(pod: Pod): void {
    const uid = podUid(pod);
    if (isMirrorPod(pod) || (!this.#pods.has(uid) && this.#pods.size >= maxPods)) return;
    this.#pods.set(uid, withoutManagedFields(pod));
    this.#writePod(uid, podWaitMs);
  }

  #removePod(uid: string): void {
    if (!this.#pods.delete(uid)) return;
    this.#noteUse(uid, undefined);
    this.#writer.remove('pods', uid);
    this.#sweepSoon();
  }

  #statusChanged(uid: PodUid): void {
    if (this.#pods.has(uid)) this.#writePod(uid, statusWaitMs);
  }

  /** A pod that is over is written at once, before its containers are gone. */
  #writePod(uid: string, waitMs: number): void {
    const kept = this.#keptPod(uid);
    if (kept === undefined) return;
    const isEnd = isOver(kept);
    this.#noteUse(uid, kept);
    if (isEnd) this.#sweepSoon();
    const text = (): string => JSON.stringify(this.#keptPod(uid) ?? kept);
    if (isEnd) this.#writer.putNow('pods', uid, text);
    else this.#writer.put('pods', uid, text, waitMs);
  }

  #noteUse(uid: string, pod: Pod | undefined): void {
    const used = pod && computeUsedByPod(pod);
    if (used === undefined) this.#used.delete(uid);
    else this.#used.set(uid, used);
    this.#wanted = undefined;
    if (used !== undefined) this.#collections.namespaceUsed(used.namespace);
  }

  #keptPod(uid: string): Pod | undefined {
    const pod = this.#pods.get(uid);
    return pod && computeKeptPod(pod, this.#deps.statuses.get(asPodUid(uid)));
  }

  #isWanted(ref: ObjectRef): boolean {
    const { objects, podUids } = this.#wantedNow();
    return ref.kind === 'tokens' ? podUids.has(podOfToken(ref.key) ?? '') : objects.has(idOf(ref));
  }

  #wantedNow(): Wanted {
    this.#wanted ??= computeWanted(this.#used, this.#links);
    return this.#wanted;
  }

  #sweepSoon(): void {
    if (this.#cancelSweep !== undefined || !this.#hasListed) return;
    const timer = this.#deps.clock.setTimer(sweepWaitMs, () => {
      this.#cancelSweep = undefined;
      this.#sweep();
    });
    this.#cancelSweep = () => timer.cancel();
  }

  /** Removes what no pod uses any more. */
  #sweep(): void {
    for (const [id, { ref, version }] of this.#kept) {
      if (this.#isWanted(ref)) continue;
      this.#kept.delete(id);
      this.#links.delete(id);
      if (version === 'absent') this.#writer.remove('absent', id);
      else this.#writer.remove(ref.kind, ref.key);
    }
    this.#collections.namespacesReleased();
  }
}

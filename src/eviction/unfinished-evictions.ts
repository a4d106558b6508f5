// Evictions in progress, on disk, so that a kubelet killed in the middle of one is succeeded by one that finishes it. Owns
// <root>/evictions. differs from upstream: there the successor starts the containers of the half-evicted pod again.
// Invariants: an eviction is on disk before its pod is killed; a resumed one is requested before the pod's worker runs; a
// damaged or unwritable file delays no eviction.
import type { Pod } from '../api/k8s/types.ts';
import { isTerminalPhase } from '../api/pod/active-pod.ts';
import { asPodUid, type PodUid } from '../api/pod/pod-ref.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import { withDeadline } from '../base/abort/deadline.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import type { Subscribable } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import { type Component, on } from '../base/component.ts';
import { isObject } from '../base/guards.ts';
import type { Logger } from '../base/log/log.ts';

interface UnfinishedEvictionsDeps {
  readonly files: {
    read(path: string, limitBytes?: number): Promise<string | undefined>;
    write(path: string, text: string): Promise<void>;
  };
  readonly path: string;
  readonly desired: {
    get(uid: PodUid): unknown;
    readonly changed: Subscribable<PodUid>;
    readonly ready: Subscribable<void>;
  };
  /** The pods with the statuses that the API server has. */
  readonly apiPods: { get(uid: PodUid): Pod | undefined; readonly changed: Subscribable<PodUid> };
  readonly kills: { kill(uid: PodUid, kill: PodKill): Promise<void> };
  readonly clock: Clock;
  readonly log: Logger;
}

/** A full or hung disk must not keep a pod from being evicted. */
const writeDeadlineMs = 1_000;
const limitBytes = 4 * 1024 * 1024;

export class UnfinishedEvictions implements Component {
  readonly name = 'unfinished-evictions';
  readonly wakes;
  readonly #deps: UnfinishedEvictionsDeps;
  readonly #evictions = new Map<PodUid, PodKill>();
  /** Read from disk and not requested yet. */
  readonly #toResume = new Set<PodUid>();
  #written: Promise<void> = Promise.resolve();
  /** The write that has not begun. */
  #next: Promise<void> | undefined;

  constructor(deps: UnfinishedEvictionsDeps) {
    this.#deps = deps;
    const { apiPods, desired } = deps;
    this.wakes = [
      on(apiPods.changed, (uid) => this.#forgetReported(uid)),
      on(desired.changed, (uid) => this.#resume(uid)),
      on(desired.ready, () => this.#dropAbsent()),
    ];
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    await this.#read();
    for (const uid of this.#toResume) this.#resume(uid);
    return { stopped: untilAborted(signal).then(() => this.#written) };
  }

  /** Resolves when the eviction is on disk, or after a bounded wait. Never rejects. */
  async add(uid: PodUid, kill: PodKill): Promise<void> {
    this.#evictions.set(uid, kill);
    await this.#write();
  }

  #resume(uid: PodUid): void {
    const { desired, kills, log } = this.#deps;
    const kill = this.#evictions.get(uid);
    if (!this.#toResume.has(uid) || kill === undefined || desired.get(uid) === undefined) return;
    this.#toResume.delete(uid);
    log.info('Resuming the eviction of a pod', { podUID: uid });
    // Rejects only when the kubelet stops.
    kills.kill(uid, kill).catch(() => undefined);
  }

  /** Every source has reported: what none of them has is gone. */
  #dropAbsent(): void {
    const absent = [...this.#toResume].filter((uid) => this.#deps.desired.get(uid) === undefined);
    for (const uid of absent) {
      this.#toResume.delete(uid);
      this.#evictions.delete(uid);
    }
    if (absent.length > 0) void this.#write();
  }

  /** Until the API server has the phase, a successor would not know that the pod has ended. */
  #forgetReported(uid: PodUid): void {
    if (!this.#evictions.has(uid)) return;
    const pod = this.#deps.apiPods.get(uid);
    if (pod === undefined ? this.#toResume.has(uid) : !isTerminalPhase(pod.status?.phase)) return;
    this.#toResume.delete(uid);
    this.#evictions.delete(uid);
    void this.#write();
  }

  async #read(): Promise<void> {
    const { files, log, path } = this.#deps;
    try {
      const text = await files.read(path, limitBytes);
      if (text === undefined) return;
      const parsed: unknown = JSON.parse(text);
      for (const [uid, kill] of Object.entries(isObject(parsed) ? parsed : {})) {
        if (!isKill(kill)) continue;
        this.#evictions.set(asPodUid(uid), kill);
        this.#toResume.add(asPodUid(uid));
      }
    } catch (err) {
      log.error('Failed to read the evictions in progress', { path, err });
    }
  }

  /** A write that has not begun covers every change until then: a hung disk delays many evictions no longer than one. */
  #write(): Promise<void> {
    this.#next ??= this.#written.then(() => this.#writeNow());
    this.#written = this.#next;
    return this.#next;
  }

  async #writeNow(): Promise<void> {
    const { clock, files, log, path } = this.#deps;
    this.#next = undefined;
    try {
      await withDeadline({ clock, ms: writeDeadlineMs, what: `writing ${path}` }, () =>
        files.write(path, `${JSON.stringify(Object.fromEntries(this.#evictions))}\n`),
      );
    } catch (err) {
      log.error('Failed to write the evictions in progress', { path, err });
    }
  }
}

function isKill(value: unknown): value is PodKill {
  return isObject(value) && typeof value['reason'] === 'string' && typeof value['message'] === 'string';
}

// Containers whose postStart hook has not succeeded yet. Such a container is reported as waiting although it runs, and is not
// probed. Upstream: the pod worker publishes no status while startContainer runs the hook, and forgets the hook when it restarts.
// Owns `<root>/post-start-hooks`: one empty file per container, written before the container starts and removed after its hook
// has succeeded. Invariants: a record is on disk before the container can run; a container that was reported as running is
// never hidden again, since its record leaves the disk before the change is announced.
import type { ObservedPod } from '../../api/pod/observed.ts';
import { asContainerId, asPodUid, type ContainerId, type PodUid } from '../../api/pod/pod-ref.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import { Channel, mergeChannels, type Subscribable } from '../../base/channel.ts';
import type { Component } from '../../base/component.ts';
import type { Logger } from '../../base/log/log.ts';
import type { Store } from '../../base/store.ts';
import { pathElement } from '../paths.ts';

interface UnfinishedHooksDeps {
  readonly files: {
    listNames(path: string): Promise<readonly string[]>;
    writeText(path: string, text: string, mode: number): Promise<void>;
    removeFile(path: string): Promise<void>;
  };
  readonly rootDir: string;
  readonly log: Logger;
}

export class UnfinishedHooks implements Component, Store {
  readonly storeName = 'UnfinishedHooks';
  readonly writer = 'pod-workers';
  readonly name = 'post-start-hooks';
  /** The hook of a container of this pod has succeeded. */
  readonly changed = new Channel<PodUid>();
  readonly #deps: UnfinishedHooksDeps;
  readonly #pods = new Map<ContainerId, PodUid>();

  constructor(deps: UnfinishedHooksDeps) {
    this.#deps = deps;
  }

  /** Reads the records of the previous run. Resolves before any pod is worked on or reported. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { files, log } = this.#deps;
    try {
      for (const name of await files.listNames(this.#directory)) {
        const at = name.lastIndexOf('_');
        if (at > 0) this.#pods.set(asContainerId(name.slice(at + 1)), asPodUid(name.slice(0, at)));
      }
    } catch (err) {
      log.error('Failed to read the records of unfinished postStart hooks; none of them runs again', { err });
    }
    return { stopped: untilAborted(signal) };
  }

  has(id: ContainerId): boolean {
    return this.#pods.has(id);
  }

  /** UIDs of pods that have a record. */
  pods(): ReadonlySet<PodUid> {
    return new Set(this.#pods.values());
  }

  /** The container is about to be started. Rejects when the record cannot be written: the container must not start then. */
  async begin(uid: PodUid, id: ContainerId): Promise<void> {
    if (this.#pods.has(id)) return;
    await this.#deps.files.writeText(this.#path(uid, id), '', 0o600);
    this.#pods.set(id, uid);
  }

  /** The hook has succeeded. */
  async finish(id: ContainerId): Promise<void> {
    const uid = this.#pods.get(id);
    if (uid === undefined) return;
    await this.forget(id);
    this.changed.push(uid);
  }

  /** The container has exited or was removed. Never rejects: a record that stays is removed with its pod. */
  async forget(id: ContainerId): Promise<void> {
    const uid = this.#pods.get(id);
    if (uid === undefined) return;
    try {
      await this.#deps.files.removeFile(this.#path(uid, id));
    } catch (err) {
      const fields = { podUID: uid, containerID: id, err };
      this.#deps.log.error('Failed to remove the record of a postStart hook', fields);
    }
    this.#pods.delete(id);
  }

  /** Drops the records of containers that were observed as exited. */
  async forgetEnded(seen: ObservedPod | undefined): Promise<void> {
    if (this.#pods.size === 0 || seen === undefined) return;
    const ended = seen.containers.filter(({ id, state }) => state === 'exited' && this.has(id));
    await Promise.all(ended.map(({ id }) => this.forget(id)));
  }

  async forgetPod(uid: PodUid): Promise<void> {
    const ids = [...this.#pods].filter(([, owner]) => owner === uid).map(([id]) => id);
    await Promise.all(ids.map((id) => this.forget(id)));
  }

  /** The observed pods as they are reported: a container whose hook has not finished is not running yet. */
  reported(observed: { get(uid: PodUid): ObservedPod | undefined; readonly changed: Subscribable<PodUid> }): {
    get(uid: PodUid): ObservedPod | undefined;
    readonly changed: Subscribable<PodUid>;
  } {
    return {
      get: (uid) => this.#hideRunning(observed.get(uid)),
      changed: mergeChannels(observed.changed, this.changed),
    };
  }

  #hideRunning(seen: ObservedPod | undefined): ObservedPod | undefined {
    if (this.#pods.size === 0 || seen === undefined) return seen;
    if (!seen.containers.some(({ id }) => this.has(id))) return seen;
    const containers = seen.containers.map((each) =>
      each.state === 'running' && this.has(each.id) ? { ...each, state: 'created' as const } : each,
    );
    return { ...seen, containers };
  }

  get #directory(): string {
    return `${this.#deps.rootDir}/post-start-hooks`;
  }

  #path(uid: PodUid, id: ContainerId): string {
    return `${this.#directory}/${pathElement(`${uid}_${id}`)}`;
  }
}

// What the workers do to a pod on the runtime: sync, stop, release, remove, collect garbage. Each is one file; this class binds
// them to their dependencies. Upstream: the Runtime interface of pkg/kubelet/container. Holds no state.
import type { Container, Pod } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import type { GarbageScope } from '../api/ports/garbage-scope.ts';
import { removeDeadLinks } from './container/log-links.ts';
import { mayUseSwap } from './container/memory-limits.ts';
import { isPodTerminal } from './decide/compute-pod-actions.ts';
import type { PodRuntimeDeps } from './runtime-deps.ts';
import { collectGarbage, podsWithGarbage } from './stop/collect-garbage.ts';
import {
  listPodsOnNode,
  type PodIdentity,
  type PodOnNode,
  releasePod,
  removePod,
} from './stop/remove-pod.ts';
import { stopPod } from './stop/stop-pod.ts';
import { type SyncRequest, type SyncResult, syncPod } from './sync-pod.ts';

export class PodRuntime {
  readonly #deps: PodRuntimeDeps;

  constructor(deps: PodRuntimeDeps) {
    this.#deps = deps;
  }

  /** Brings the runtime to the pod's spec, as far as one sync can. */
  async sync(request: SyncRequest): Promise<SyncResult> {
    return await syncPod(this.#deps, request);
  }

  /** Stops every container within its grace period, then the sandboxes. Resolves when nothing of the pod runs. */
  async stopPod(
    pod: Pod | undefined,
    seen: ObservedPod | undefined,
    graceSeconds: number | undefined,
    why: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (seen !== undefined) await stopPod(this.#deps, pod, seen, { graceSeconds, why }, signal);
  }

  /** Releases a stopped pod's volumes and cgroup. Its containers stay, so that their status can be read. */
  async cleanPod(uid: PodUid, signal: AbortSignal): Promise<void> {
    await releasePod(this.#deps, uid, signal);
  }

  /** All observed pods that have dead containers or sandboxes to remove. */
  podsWithGarbage(scopeOf: (pod: ObservedPod) => GarbageScope): readonly PodUid[] {
    return podsWithGarbage(this.#deps, scopeOf).map(({ uid }) => uid);
  }

  /** Removes the dead containers and sandboxes of one pod. True when there were any. */
  async collectGarbage(
    seen: ObservedPod,
    scopeOf: (pod: ObservedPod) => GarbageScope,
    signal: AbortSignal,
  ): Promise<boolean> {
    return await collectGarbage(this.#deps, seen, scopeOf, signal);
  }

  /** Removes the links to logs that no longer exist. */
  async removeDeadLinks(signal: AbortSignal): Promise<void> {
    await removeDeadLinks(this.#deps, signal);
  }

  /** Removes everything of a stopped pod. False: the runtime refuses to remove an exited container. */
  async removePod(pod: PodIdentity, seen: ObservedPod | undefined, signal: AbortSignal): Promise<boolean> {
    return await removePod(this.#deps, pod, seen, signal);
  }

  /** Whether all containers have ended and none will be started again. */
  isPodTerminal(pod: Pod, seen: ObservedPod | undefined): boolean {
    const { containerRestartRules: restartRules, restartAllContainers: restartAll } = this.#deps.policy;
    return isPodTerminal(pod, seen, { restartRules, restartAll });
  }

  /** Whether a container may use swap; how much depends on its memory request. */
  maySwap(pod: Pod, container: Container): boolean {
    const { resources } = this.#deps.node.settings;
    return (
      resources.swap.controller && resources.cgroupVersion === 2 && mayUseSwap(pod, container, resources)
    );
  }

  /** All pods, desired or not, that have a directory, a log directory, a cgroup or a hook record on this node. */
  async leftovers(): Promise<readonly PodOnNode[]> {
    return await listPodsOnNode(this.#deps);
  }
}

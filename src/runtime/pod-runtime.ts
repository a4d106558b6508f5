// Carries out on the runtime what was decided for a pod: sync it, stop it, remove it, clear its garbage.
// Upstream: kuberuntime_manager.go SyncPod, KillPod, and kuberuntime_gc.go. Holds no state.
// Invariants: heavy calls of all pods share a bounded number of slots, the pod that came first being served first;
// a container that fails to start does not keep the next one from starting.
import type { Container, Pod } from '../api/k8s/types.ts';
import { findContainer } from '../api/pod/find-container.ts';
import {
  type ObservedContainer,
  type ObservedPod,
  type ObservedSandbox,
  readySandbox,
} from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import { asPodUid, type PodUid, podUid } from '../api/pod/pod-ref.ts';
import { isSidecar } from '../api/pod/restart-policy.ts';
import type { StartedPod } from '../api/ports/started-pod.ts';
import { unlinkLogs } from './container/log-links.ts';
import { mayUseSwap } from './container/memory-limits.ts';
import { finishStart, startContainer } from './container/start-container.ts';
import { computePodActions } from './decide/compute-pod-actions.ts';
import type { PodAction, ResizeView } from './decide/pod-action.ts';
import { isUid, podDirectory, podLogDirectoryOf, podOfLogDirectory, podsDirectory } from './paths.ts';
import { resizePod } from './resize-pod.ts';
import { createSandbox } from './sandbox/create-sandbox.ts';
import { prepareSandbox } from './sandbox/prepare-sandbox.ts';
import { parseResolvConf, type ResolverSettings } from './sandbox/resolv-conf.ts';
import { StartSlot } from './start-slot.ts';
import {
  computeGarbage,
  isEmpty,
  removeContainers,
  removeLogs,
  removeLogsOfNeverRan,
  removeSandboxes,
  withOwnLogs,
} from './stop/garbage.ts';
import { stopContainers, stopSandboxes } from './stop/stop-pod.ts';
import { TerminationOrder } from './stop/termination-order.ts';
import type { PodRuntimeDeps, SyncContext } from './sync-context.ts';

interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: PodUid;
}

/** Names that are looked at in one pass: the rest has its turn when these are gone. */
const mostLeftovers = 100_000;

/** What a sync came to. */
interface SyncResult {
  /** Whether anything was done that an inspection should look at. */
  readonly acted: boolean;
  /** All that the runtime has of a new pod; undefined when that is not sure. */
  readonly started: StartedPod | undefined;
  /** Running containers may have been given other amounts: what the runtime tells of them has to be asked anew. */
  readonly resized: boolean;
  /** Why a resize failed; undefined when none did. */
  readonly resizeFailure: string | undefined;
  /** Containers that are not up, and why. */
  readonly waiting: Readonly<Record<string, WaitingReason>>;
  /** When to try again although nothing changes; undefined: no need. */
  readonly retryInMs: number | undefined;
  /** Failures to be tried again by the caller's own back-off. */
  readonly failure: unknown;
}

type Executors = {
  readonly [D in PodAction['do']]: (
    context: SyncContext,
    action: Extract<PodAction, { do: D }>,
  ) => Promise<void>;
};

export class PodRuntime {
  readonly #deps: PodRuntimeDeps;
  readonly #executors: Executors;

  constructor(deps: PodRuntimeDeps) {
    this.#deps = deps;
    this.#executors = {
      'stop-pod': async (context, { why }) => {
        context.acted = true;
        await this.stopPod(context.pod, context.seen, undefined, why, context.signal);
      },
      'stop-container': async (context, { id, why, cause }) => {
        const { pod, seen, signal } = context;
        context.acted = true;
        const one = seen?.containers.filter((container) => container.id === id) ?? [];
        const podIp = readySandbox(seen)?.ips[0];
        await stopContainers(deps, one, {
          pod,
          graceSeconds: undefined,
          why,
          message: why,
          cause,
          podIp,
          signal,
        });
      },
      'remove-containers': async ({ seen, signal }, { ids }) => {
        if (seen === undefined) return;
        const stale = seen.containers.filter(({ id }) => ids.includes(id));
        await unlinkLogs(deps, seen, stale);
        await removeLogsOfNeverRan(deps.files, deps.settings.podLogsDir, seen, stale);
        await removeContainers(deps, stale, signal);
      },
      'resize-pod': async (context, action) => await resizePod(deps, context, action),
      'create-sandbox': async (context, { attempt }) => {
        const first = context.starting.flatMap((name) => findContainer(context.pod, name) ?? []);
        await createSandbox(deps, context, { attempt, first });
      },
      'start-container': async (context, { name, replaces }) =>
        await startContainer(deps, context, name, { replaces }),
      'start-created': async (context, { name, id }) =>
        await startContainer(deps, context, name, { created: id }),
      'finish-start': async (context, { name, id }) => await finishStart(deps, context, name, id),
    };
  }

  /** Brings the runtime to the pod's spec, as far as one pass can. Throws only when the pass as a whole failed. */
  async sync(
    pod: Pod,
    seen: ObservedPod | undefined,
    order: number,
    signal: AbortSignal,
  ): Promise<SyncResult> {
    const { containerRestartRules: restartRules, events, probes, unfinishedHooks } = this.#deps;
    await unfinishedHooks.forgetEnded(seen);
    const resize = this.#resizeView(pod);
    const actions = computePodActions(pod, seen, { probes, restartRules, resize, unfinishedHooks });
    const [ends, rest] = [actions.filter(isEnd), actions.filter((action) => !isEnd(action))];
    if (rest.some((action) => action.do === 'create-sandbox' && action.changed)) {
      const message = 'Pod sandbox changed, it will be killed and re-created.';
      events.pod(pod, { type: 'Normal', reason: 'SandboxChanged', message });
    }
    const context = await this.#context(pod, seen, order, rest, signal);
    for (const action of ends) await this.#execute(context, action);
    // Asked for on every pass, not only on one that starts something: what is mounted follows the objects it comes from.
    if (!ends.some((action) => action.do === 'stop-pod') || rest.length > 0) await this.#mount(pod, signal);
    try {
      for (const action of rest) {
        signal.throwIfAborted();
        await this.#execute(context, action);
        if (isBlocked(context, action)) break;
      }
    } finally {
      context.place.leave();
    }
    return {
      acted: context.acted,
      started: startedPodOf(context),
      resized: context.resized,
      resizeFailure: context.resizeFailure,
      waiting: context.waiting,
      retryInMs: context.retries.length === 0 ? undefined : Math.min(...context.retries),
      failure: context.failure,
    };
  }

  /** What starts needs to be known of the sandbox; passes that only end something do without. */
  async #context(
    pod: Pod,
    seen: ObservedPod | undefined,
    order: number,
    rest: readonly PodAction[],
    signal: AbortSignal,
  ): Promise<SyncContext> {
    const resolver = rest.length > 0 ? await this.#readResolver() : undefined;
    const latest = seen?.sandboxes[0];
    const config =
      latest === undefined || rest.length === 0
        ? undefined
        : (await prepareSandbox(this.#deps, pod, latest.attempt, resolver, signal)).config;
    return {
      pod,
      seen,
      place: new StartSlot(this.#deps.slots, this.#deps.clock, { order, steps: rest.length, signal }),
      signal,
      resolver,
      sandbox: latest === undefined || config === undefined ? undefined : { id: latest.id, config },
      starting: rest.flatMap((action) => ('kind' in action ? action.name : [])),
      logsAreNew: false,
      containerIds: [],
      prepared: new Map(),
      waiting: {},
      retries: [],
      acted: false,
      resized: false,
      resizeFailure: undefined,
      failure: undefined,
    };
  }

  #resizeView(pod: Pod): ResizeView | undefined {
    const { resizes } = this.#deps;
    if (resizes?.allowed(pod) !== true) return undefined;
    return { actuated: (name) => resizes.actuated(podUid(pod), name) };
  }

  async #mount(pod: Pod, signal: AbortSignal): Promise<void> {
    const { files, settings, volumes } = this.#deps;
    if ((pod.spec?.volumes ?? []).length > 0) {
      await files.makeDirectory(podDirectory(settings.rootDir, podUid(pod)), 0o750);
    }
    await volumes.mount(pod, signal);
  }

  /**
   * Ends every container with its grace period, then the sandboxes. Resolves when nothing of the pod runs any more.
   * Without a pod (nobody knows its spec any more) the grace period is the one written on the containers.
   */
  async stopPod(
    pod: Pod | undefined,
    seen: ObservedPod | undefined,
    graceSeconds: number | undefined,
    why: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (seen === undefined) return;
    const running = seen.containers.filter(({ state }) => state === 'running' || state === 'unknown');
    const order = new TerminationOrder(
      this.#deps.clock,
      pod,
      running.map(({ name }) => name),
    );
    const podIp = readySandbox(seen)?.ips[0];
    await stopContainers(this.#deps, running, { pod, graceSeconds, why, podIp, order, signal });
    await stopSandboxes(this.#deps, seen, signal);
  }

  /**
   * Takes back what a pod that has ended still holds on the node, while its containers stay to be looked at. If it starts again,
   * it does not wait for earlier crashes.
   */
  async cleanPod(uid: PodUid, signal: AbortSignal): Promise<void> {
    this.#deps.backoff.forget(uid);
    await this.#deps.volumes.unmount(uid, signal);
    await this.#deps.unfinishedHooks.forgetPod(uid);
    // What the pod was given counts as given until its cgroup has gone.
    await this.#deps.cgroups.removePod(uid);
  }

  /** Removes what a wanted pod's restarts have left behind. */
  async collectGarbage(seen: ObservedPod, signal: AbortSignal): Promise<boolean> {
    const { clock, files, garbagePolicy, refusals, settings } = this.#deps;
    const all = this.#deps.observed?.all().values();
    const garbage = computeGarbage(seen, garbagePolicy, clock.now(), all, (id) => refusals.holds(id));
    if (isEmpty(garbage)) return false;
    await unlinkLogs(this.#deps, seen, garbage.containers);
    await removeLogs(files, settings.podLogsDir, withOwnLogs(seen, garbage.containers));
    const kept = await removeContainers(this.#deps, garbage.containers, signal);
    await removeSandboxes(this.#deps, without(garbage.sandboxes, kept), signal);
    return true;
  }

  /**
   * Removes everything of a pod that was stopped and is wanted no more: containers, directories, logs, cgroup, and the
   * sandboxes last. As long as a sandbox is there, a kubelet that was killed in the middle finds the pod again and goes on.
   * False: the runtime keeps a container that has ended, and with it its sandbox; all else is done.
   */
  async removePod(pod: PodIdentity, seen: ObservedPod | undefined, signal: AbortSignal): Promise<boolean> {
    const { files, images, settings } = this.#deps;
    // Before anything is removed from the pod's directory: what is mounted in there is not the pod's to lose.
    await this.cleanPod(pod.uid, signal);
    await unlinkLogs(this.#deps, pod, seen?.containers ?? []);
    const kept = await removeContainers(this.#deps, seen?.containers ?? [], signal);
    await files.removeTree(podDirectory(settings.rootDir, pod.uid));
    if (pod.name !== '') {
      await files.removeTree(podLogDirectoryOf(settings.podLogsDir, pod.namespace, pod.name, pod.uid));
    }
    await removeSandboxes(this.#deps, without(seen?.sandboxes ?? [], kept), signal);
    images.forget(pod.uid);
    this.#deps.userNamespaces.release(pod.uid);
    return kept.length === 0;
  }

  /** Whether a container may use swap: how much of it depends on what it asks for. */
  maySwap(pod: Pod, container: Container): boolean {
    const { resources } = this.#deps.settings;
    return (
      resources.swap.controller && resources.cgroupVersion === 2 && mayUseSwap(pod, container, resources)
    );
  }

  /** The pods of which something lies on the disk or that have a cgroup, wanted or not. */
  async leftovers(): Promise<readonly PodIdentity[]> {
    const { cgroups, files, settings, unfinishedHooks } = this.#deps;
    const [directories, groups, logs] = await Promise.all([
      files.listNames(podsDirectory(settings.rootDir), mostLeftovers),
      cgroups.podsWithCgroups(),
      files.listNames(settings.podLogsDir, mostLeftovers),
    ]);
    return [
      ...[...directories, ...groups, ...unfinishedHooks.pods()]
        .filter(isUid)
        .map((uid) => ({ uid: asPodUid(uid), namespace: '', name: '' })),
      ...logs.flatMap((directory) => podOfLogDirectory(directory) ?? []),
    ];
  }

  async #execute<D extends PodAction['do']>(
    context: SyncContext,
    action: Extract<PodAction, { do: D }>,
  ): Promise<void> {
    const execute = this.#executors[action.do];
    await execute(context, action);
  }

  /** Read anew each time: a network that was joined meanwhile may have changed it. */
  async #readResolver(): Promise<ResolverSettings | undefined> {
    const { resolvConf: path = '' } = this.#deps.settings.dns;
    return path === '' ? undefined : parseResolvConf(await this.#deps.files.readText(path));
  }
}

/** A runtime removes a sandbox only with all that is in it. */
function without(
  sandboxes: readonly ObservedSandbox[],
  kept: readonly ObservedContainer[],
): readonly ObservedSandbox[] {
  return sandboxes.filter(({ id }) => kept.every(({ sandboxId }) => sandboxId !== id));
}

/** A pass that failed somewhere may have left something behind that it does not know. */
function startedPodOf({
  containerIds,
  failure,
  madeSandbox,
  sandboxStatus,
  seen,
  waiting,
}: SyncContext): StartedPod | undefined {
  if (seen !== undefined || madeSandbox === undefined || failure !== undefined) return undefined;
  if (Object.keys(waiting).length > 0) return undefined;
  return { sandboxId: madeSandbox, sandbox: sandboxStatus, containerIds };
}

function isEnd(action: PodAction): boolean {
  return action.do === 'stop-pod' || action.do === 'stop-container' || action.do === 'resize-pod';
}

/** An init container that did not start keeps everything after it from starting; a sidecar only itself. */
function isBlocked(context: SyncContext, action: PodAction): boolean {
  if (!('kind' in action) || action.kind !== 'init' || !(action.name in context.waiting)) return false;
  const spec = findContainer(context.pod, action.name);
  return spec === undefined || !isSidecar(spec);
}

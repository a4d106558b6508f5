// Carries out on the runtime what was decided for a pod: sync it, stop it, remove it, clear its garbage.
// Upstream: kuberuntime_manager.go SyncPod, KillPod, and kuberuntime_gc.go. Holds no state.
// Invariants: heavy calls of all pods share a bounded number of slots, the pod that came first being served first;
// a container that fails to start does not keep the next one from starting.
import type { Pod } from '../api/k8s.ts';
import type { ObservedPod } from '../api/observed.ts';
import type { WaitingReason } from '../api/pod-lifecycle.ts';
import { podRef, podUid } from '../api/pod-ref.ts';
import { describeError, isAbort, KubeletError } from '../base/errors.ts';
import { computePodActions, type PodAction } from './compute-pod-actions.ts';
import { computeGarbage, isEmpty, removeContainers, removeSandboxes } from './garbage.ts';
import { podDirectory, podLogDirectory, podLogDirectoryOf } from './paths.ts';
import { parseResolvConf, type ResolverSettings } from './resolv-conf.ts';
import { generateSandboxConfig } from './sandbox-config.ts';
import { prepareContainer, startContainer } from './start-container.ts';
import { stopContainers, stopSandboxes } from './stop-pod.ts';
import type { PodRuntimeDeps, SyncContext } from './sync-context.ts';

export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** What a sync came to. */
export interface SyncResult {
  /** Whether anything was done that an inspection should look at. */
  readonly acted: boolean;
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
      'stop-container': async (context, { id, why }) => {
        const { pod, seen, signal } = context;
        context.acted = true;
        const one = seen?.containers.filter((container) => container.id === id) ?? [];
        await stopContainers(deps, one, { pod, graceSeconds: undefined, why, signal });
      },
      'create-sandbox': async (context, { attempt }) => await this.#createSandbox(context, attempt),
      'start-container': async (context, { name, replaces }) =>
        await startContainer(deps, context, name, { replaces }),
      'start-created': async (context, { name, id }) =>
        await startContainer(deps, context, name, { created: id }),
    };
  }

  /** Brings the runtime to the pod's spec, as far as one pass can. Throws only when the pass as a whole failed. */
  async sync(
    pod: Pod,
    seen: ObservedPod | undefined,
    order: number,
    signal: AbortSignal,
  ): Promise<SyncResult> {
    const actions = computePodActions(pod, seen);
    const starts = actions.some((action) => action.do !== 'stop-pod' && action.do !== 'stop-container');
    const resolver = starts ? await this.#readResolver() : undefined;
    const latest = seen?.sandboxes[0];
    const context: SyncContext = {
      pod,
      seen,
      order,
      signal,
      resolver,
      sandbox:
        latest === undefined || !starts
          ? undefined
          : {
              id: latest.id,
              config: generateSandboxConfig(pod, latest.attempt, this.#deps.settings, resolver),
            },
      prepared: new Map(),
      waiting: {},
      retries: [],
      acted: false,
      failure: undefined,
    };
    for (const action of actions) {
      signal.throwIfAborted();
      await this.#execute(context, action);
    }
    return {
      acted: context.acted,
      waiting: context.waiting,
      retryInMs: context.retries.length === 0 ? undefined : Math.min(...context.retries),
      failure: context.failure,
    };
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
    await stopContainers(this.#deps, running, { pod, graceSeconds, why, signal });
    await stopSandboxes(this.#deps, seen, signal);
  }

  /** Removes what a wanted pod's restarts have left behind. */
  async collectGarbage(seen: ObservedPod, signal: AbortSignal): Promise<boolean> {
    const garbage = computeGarbage(seen);
    if (isEmpty(garbage)) return false;
    await removeContainers(this.#deps, garbage.containers, signal);
    await removeSandboxes(this.#deps, garbage.sandboxes, signal);
    return true;
  }

  /**
   * Removes everything of a pod that was stopped and is wanted no more: containers, directories, logs, cgroup, and the
   * sandboxes last. As long as a sandbox is there, a kubelet that was killed in the middle finds the pod again and goes on.
   */
  async removePod(pod: PodIdentity, seen: ObservedPod | undefined, signal: AbortSignal): Promise<void> {
    const { backoff, cgroups, files, images, settings } = this.#deps;
    await removeContainers(this.#deps, seen?.containers ?? [], signal);
    await files.removeTree(podDirectory(settings.rootDir, pod.uid));
    await files.removeTree(podLogDirectoryOf(settings.podLogsDir, pod.namespace, pod.name, pod.uid));
    await cgroups.removePod(pod.uid);
    await removeSandboxes(this.#deps, seen?.sandboxes ?? [], signal);
    backoff.forget(pod.uid);
    images.forget(pod.uid);
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

  async #createSandbox(context: SyncContext, attempt: number): Promise<void> {
    const { cri, files, log, settings, slots } = this.#deps;
    const { pod, signal } = context;
    const config = generateSandboxConfig(pod, attempt, settings, context.resolver);
    const slot = await slots.acquire(context.order, signal);
    context.acted = true;
    try {
      await Promise.all([
        files.makeDirectory(podLogDirectory(settings.podLogsDir, pod), 0o755),
        files.makeDirectory(podDirectory(settings.rootDir, podUid(pod)), 0o750),
      ]);
      const running = cri.runPodSandbox({ config, runtimeHandler: '' }, { signal });
      // While the sandbox is being made there is time for what its containers will ask for first.
      for (const container of pod.spec?.containers ?? [])
        void prepareContainer(this.#deps, context, container);
      const { podSandboxId } = await running;
      context.sandbox = { id: podSandboxId, config };
      log.v(2).info('Sandbox created', { pod: podRef(pod), sandbox: podSandboxId, attempt });
    } catch (err) {
      if (isAbort(err)) throw err;
      const kind = err instanceof KubeletError ? err.kind : 'internal';
      const message = `Failed to create pod sandbox: ${describeError(err)}`;
      throw new KubeletError(kind, 'FailedCreatePodSandBox', message, { cause: err });
    } finally {
      slot.release();
    }
  }
}

// One sync of a pod: decides which actions bring the runtime to the pod's spec, and executes them in order.
// Upstream: SyncPod in kuberuntime_manager.go.
// Invariants: the sandboxes and containers of all pods are started under a bounded number of slots, in the pods' order of
// arrival; a container that fails to start does not prevent the next one from starting.
import type { Pod } from '../api/k8s/types.ts';
import { findContainer } from '../api/pod/find-container.ts';
import { type ObservedPod, readySandbox } from '../api/pod/observed.ts';
import type { WaitingReason } from '../api/pod/pod-lifecycle.ts';
import { podUid } from '../api/pod/pod-ref.ts';
import { isSidecar } from '../api/pod/restart-policy.ts';
import { staged } from '../api/ports/start-stages.ts';
import type { StartedPod } from '../api/ports/started-pod.ts';
import { unlinkLogs } from './container/log-links.ts';
import { finishStart, startContainer } from './container/start-container.ts';
import { computePodActions } from './decide/compute-pod-actions.ts';
import type { PodAction, ResizeView } from './decide/pod-action.ts';
import { podDirectory } from './paths.ts';
import { resizePod } from './resize-pod.ts';
import type { PodRuntimeDeps, RuntimeNode, RuntimeResizes } from './runtime-deps.ts';
import { createSandbox } from './sandbox/create-sandbox.ts';
import { prepareSandbox } from './sandbox/prepare-sandbox.ts';
import { parseResolvConf, type ResolverSettings } from './sandbox/resolv-conf.ts';
import { StartSlot } from './start-slot.ts';
import { removeContainers, removeLogsOfNeverRan } from './stop/garbage.ts';
import { resetContainers } from './stop/reset-containers.ts';
import { stopContainers, stopPod } from './stop/stop-pod.ts';
import type { SyncContext } from './sync-context.ts';

export interface SyncResult {
  /** Whether the sync changed anything on the runtime, so that the pod has to be inspected. */
  readonly acted: boolean;
  /** Everything the runtime has of a new pod; undefined when that is not certain. */
  readonly started: StartedPod | undefined;
  /** Running containers may have other resources, so that their status has to be read again. */
  readonly resized: boolean;
  /** Why a resize failed; undefined when none did. */
  readonly resizeFailure: string | undefined;
  /** Containers that are not running, and why. */
  readonly waiting: Readonly<Record<string, WaitingReason>>;
  /** When to sync again if nothing changes before; undefined: no need to. */
  readonly retryInMs: number | undefined;
  /** A failure that the caller retries with its own back-off. */
  readonly failure: unknown;
}

export interface SyncRequest {
  readonly pod: Pod;
  readonly seen: ObservedPod | undefined;
  /** Order of arrival: the pod with the lower order starts first. */
  readonly order: number;
  /** Called when a sandbox was created, before its containers are. */
  readonly onSandboxReady?: () => void;
  /** Called before containers are stopped in order to be started again by the same sync. */
  readonly onReplacing?: (names: readonly string[]) => void;
  readonly signal: AbortSignal;
}

type Executors = {
  readonly [D in PodAction['do']]: (
    deps: PodRuntimeDeps,
    context: SyncContext,
    action: Extract<PodAction, { do: D }>,
  ) => Promise<void>;
};

const executors: Executors = {
  'stop-pod': async (deps, context, { why }) => {
    const { pod, seen, signal } = context;
    context.acted = true;
    if (seen !== undefined) await stopPod(deps, pod, seen, { graceSeconds: undefined, why }, signal);
  },
  'stop-container': async (deps, context, { id, why, cause }) => {
    const { pod, seen, signal } = context;
    context.acted = true;
    const one = seen?.containers.filter((container) => container.id === id) ?? [];
    const podIp = readySandbox(seen)?.ips[0];
    const options = { pod, graceSeconds: undefined, why, message: why, cause, podIp, signal };
    await stopContainers(deps, one, options);
  },
  'remove-containers': async (deps, { seen, signal }, { ids }) => {
    if (seen === undefined) return;
    const stale = seen.containers.filter(({ id }) => ids.includes(id));
    await unlinkLogs(deps.node, seen, stale);
    await removeLogsOfNeverRan(deps.node, seen, stale);
    await removeContainers(deps, stale, signal);
  },
  'reset-containers': resetContainers,
  'resize-pod': resizePod,
  'create-sandbox': async (deps, context, { attempt }) => {
    const first = context.starting.flatMap((name) => findContainer(context.pod, name) ?? []);
    await createSandbox(deps, context, { attempt, first });
  },
  'start-container': async (deps, context, { name, replaces }) =>
    await startContainer(deps, context, name, { replaces }),
  'start-created': async (deps, context, { name, id }) =>
    await startContainer(deps, context, name, { created: id }),
  'finish-start': async (deps, context, { name, id }) => await finishStart(deps, context, name, id),
};

/**
 * Brings the runtime to the pod's spec, as far as one sync can. Rejects only when the sync as a whole failed; a failure of one
 * container is in the result.
 *
 *  1. Drop the records of postStart hooks whose containers have ended. Read a running pod's cgroup, for its status.
 *  2. Compute the actions from the pod, its observed state, the probe results and the actuated resources.
 *  3. Stop the pod or the containers that must not run any longer, or remove all containers if an exit restarts all of them,
 *     and resize those that run on.
 *  4. Wait until the pod's volumes are mounted.
 *  5. Remove the init containers of an earlier sandbox.
 *  6. Create the sandbox, if the pod needs a new one.
 *  7. Start the ephemeral containers.
 *  8. Start the next init container, or the sidecars that have to run. If an init container does not start, stop here.
 *  9. Start the regular containers.
 *
 * The list of step 2 is the order of execution; steps 6 to 9 hold a start slot. The worker runs the next sync after the pod was
 * inspected, so a pod with several init containers needs as many syncs.
 */
export async function syncPod(deps: PodRuntimeDeps, request: SyncRequest): Promise<SyncResult> {
  const { pod, seen, signal } = request;
  const { policy, records, report } = deps;
  const { unfinishedHooks } = records;
  // Step 1
  await Promise.all([unfinishedHooks.forgetEnded(seen), readCgroup(deps, pod, seen)]);
  // Step 2
  const actions = computePodActions(pod, seen, {
    probes: policy.probes,
    restartRules: policy.containerRestartRules,
    restartAll: policy.restartAllContainers,
    resize: resizeView(records.resizes, pod),
    unfinishedHooks,
  });
  const stops = actions.filter(isStopOrResize);
  const starts = actions.filter((action) => !isStopOrResize(action));
  if (starts.some((action) => action.do === 'create-sandbox' && action.changed)) {
    const message = 'Pod sandbox changed, it will be killed and re-created.';
    report.events.pod(pod, { type: 'Normal', reason: 'SandboxChanged', message });
  }
  const context = await syncContext(deps, request, starts);
  // Step 3
  const replaced = stops.flatMap((action) => (action.do === 'stop-container' ? action.name : []));
  const replacing = replaced.filter((name) => context.starting.includes(name));
  if (replacing.length > 0) request.onReplacing?.(replacing);
  for (const action of stops) await execute(deps, context, action);
  // Step 4, in every sync and not only in one that starts a container: mounted ConfigMaps and Secrets follow their objects.
  if (starts.length > 0 || !stops.some((action) => action.do === 'stop-pod')) {
    await mountVolumes(
      deps,
      pod,
      starts.some(({ do: what }) => what === 'create-sandbox'),
      signal,
    );
  }
  // Steps 5 to 9
  try {
    for (const action of starts) {
      signal.throwIfAborted();
      await execute(deps, context, action);
      if (blocksStarts(context, action)) break;
    }
  } finally {
    context.startSlot.release();
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

async function execute<D extends PodAction['do']>(
  deps: PodRuntimeDeps,
  context: SyncContext,
  action: Extract<PodAction, { do: D }>,
): Promise<void> {
  const executor = executors[action.do];
  await executor(deps, context, action);
}

/** Starts need the configuration of the sandbox; a sync that only stops containers does not. */
async function syncContext(
  deps: PodRuntimeDeps,
  { onSandboxReady, order, pod, seen, signal }: SyncRequest,
  starts: readonly PodAction[],
): Promise<SyncContext> {
  const { node } = deps;
  const resolver = starts.length > 0 ? await readResolver(node) : undefined;
  const latest = seen?.sandboxes[0];
  const config =
    latest === undefined || starts.length === 0
      ? undefined
      : (await prepareSandbox(deps, pod, latest.attempt, resolver, signal)).config;
  return {
    pod,
    seen,
    startSlot: new StartSlot(node.startSlots, deps.clock, { order, steps: starts.length, signal }),
    signal,
    onSandboxReady,
    resolver,
    sandbox: latest === undefined || config === undefined ? undefined : { id: latest.id, config },
    starting: starts.flatMap((action) => ('kind' in action ? action.name : [])),
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

/** A pod without a cgroup has no reading: the status then reports what it last did. */
async function readCgroup(
  { node, records }: PodRuntimeDeps,
  pod: Pod,
  seen: ObservedPod | undefined,
): Promise<void> {
  const runs = seen?.containers.some(({ state }) => state === 'running') === true;
  if (records.resizes?.podLevel !== true || !runs) return;
  await node.cgroups?.amounts(pod).catch(() => undefined);
}

function resizeView(resizes: RuntimeResizes | undefined, pod: Pod): ResizeView | undefined {
  if (resizes === undefined) return undefined;
  const uid = podUid(pod);
  return {
    actuated: (name) => resizes.actuated(uid, name),
    podLevel: resizes.podLevel ? { actuated: resizes.actuatedPodLevel(uid) } : undefined,
  };
}

/** Read in every sync: the node may have joined another network since. */
async function readResolver({ files, settings }: RuntimeNode): Promise<ResolverSettings | undefined> {
  const { resolvConf: path = '' } = settings.dns;
  return path === '' ? undefined : parseResolvConf(await files.readText(path));
}

async function mountVolumes(
  { inputs, node, report }: PodRuntimeDeps,
  pod: Pod,
  isStart: boolean,
  signal: AbortSignal,
): Promise<void> {
  const uid = podUid(pod);
  const hasVolumes = (pod.spec?.volumes ?? []).length > 0;
  if (hasVolumes) await node.files.makeDirectory(podDirectory(node.settings.rootDir, uid), 0o750);
  const stage = hasVolumes && isStart ? report.stages?.begin(uid, 'volumes') : undefined;
  await staged(stage, inputs.volumes.mount(pod, signal));
}

function isStopOrResize(action: PodAction): boolean {
  return (
    action.do === 'stop-pod' ||
    action.do === 'stop-container' ||
    action.do === 'reset-containers' ||
    action.do === 'resize-pod'
  );
}

/** An init container that did not start blocks the containers after it; a sidecar does not. */
function blocksStarts(context: SyncContext, action: PodAction): boolean {
  if (!('kind' in action) || action.kind !== 'init' || !(action.name in context.waiting)) return false;
  const spec = findContainer(context.pod, action.name);
  return spec === undefined || !isSidecar(spec);
}

/** A sync that failed may have left something behind whose ID it does not know. */
function startedPodOf(context: SyncContext): StartedPod | undefined {
  const { containerIds, createdSandbox, failure, sandboxStatus, seen, waiting } = context;
  if (seen !== undefined || createdSandbox === undefined || failure !== undefined) return undefined;
  if (Object.keys(waiting).length > 0) return undefined;
  return { sandboxId: createdSandbox, sandbox: sandboxStatus, containerIds };
}

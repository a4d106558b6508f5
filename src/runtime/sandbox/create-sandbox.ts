// Creates a pod's sandbox. Upstream: createPodSandbox in kuberuntime_sandbox.go.
import { type CriRuntime, rpcErrorText } from '../../api/cri/runtime.ts';
import type { Container } from '../../api/k8s/types.ts';
import { podRef, podUid } from '../../api/pod/pod-ref.ts';
import { staged } from '../../api/ports/start-stages.ts';
import { describeError, isAbort, KubeletError } from '../../base/errors.ts';
import { prepareContainer } from '../container/create-container.ts';
import { podDirectory, podLogDirectory } from '../paths.ts';
import type {
  ContainerRecords,
  PodInputs,
  PodRuntimeDeps,
  RuntimeNode,
  RuntimeReports,
} from '../runtime-deps.ts';
import { letCallFinish } from '../stop/let-call-finish.ts';
import type { SyncContext } from '../sync-context.ts';
import { prepareSandbox } from './prepare-sandbox.ts';

interface CreateSandboxDeps extends Pick<PodRuntimeDeps, 'clock'> {
  readonly cri: Pick<CriRuntime, 'runPodSandbox'>;
  readonly node: Pick<RuntimeNode, 'cgroups' | 'files' | 'settings'>;
  readonly inputs: Pick<PodInputs, 'images' | 'objects' | 'userNamespaces' | 'volumes'>;
  readonly records: Pick<ContainerRecords, 'resizes'>;
  readonly report: RuntimeReports;
}

interface SandboxOptions {
  readonly attempt: number;
  /** The containers that this sync starts in it. */
  readonly first: readonly Container[];
}

export async function createSandbox(
  deps: CreateSandboxDeps,
  context: SyncContext,
  { attempt, first }: SandboxOptions,
): Promise<void> {
  const { cri, report } = deps;
  const { files, settings } = deps.node;
  const { pod, signal } = context;
  report.starts?.pod(pod.spec?.hostUsers === false);
  const failed = (err: unknown): never => reportFailure(report, context, err);
  const stage = () => report.stages?.begin(podUid(pod), 'sandbox');
  const unprepared = (err: unknown): never => {
    stage()?.end(err);
    return failed(err);
  };
  const prepared = prepareSandbox(deps, pod, attempt, context.resolver, signal);
  const { config, runtimeHandler } = await prepared.catch(unprepared);
  const directories = async (): Promise<void> => {
    const [isNew] = await Promise.all([
      files.makeDirectory(podLogDirectory(settings.podLogsDir, pod), 0o755),
      files.makeDirectory(podDirectory(settings.rootDir, podUid(pod)), 0o750),
    ]).catch(failed);
    context.logsAreNew = isNew;
  };
  // Directories and the cgroup wait for the slot, too: in a burst, only the pods that start use the machine.
  await context.startSlot.acquire();
  try {
    await Promise.all([ensureCgroup(deps, context), directories()]);
    context.acted = true;
    const creating = staged(
      stage(),
      letCallFinish(deps, signal, (late) => cri.runPodSandbox({ config, runtimeHandler }, { signal: late })),
    );
    // Prepared while the sandbox is being created, so that the containers can be created right after it.
    for (const container of first) void prepareContainer(deps, context, container);
    const { podSandboxId } = await creating.catch(failed);
    context.sandbox = { id: podSandboxId, config };
    context.createdSandbox = podSandboxId;
    context.onSandboxReady?.();
    report.log.v(2).info('Created sandbox', { pod: podRef(pod), sandbox: podSandboxId, attempt });
  } finally {
    context.startSlot.stepDone();
  }
}

/** Upstream: SyncPod in pkg/kubelet/kubelet.go. */
async function ensureCgroup(
  { node, records, report }: CreateSandboxDeps,
  context: SyncContext,
): Promise<void> {
  const { pod, signal } = context;
  try {
    await node.cgroups?.ensure(pod, signal);
    records.resizes?.actuateNew(pod);
  } catch (err) {
    if (isAbort(err) || signal.aborted) throw err;
    const message = `unable to ensure pod container exists: ${describeError(err)}`;
    report.events.pod(pod, { type: 'Warning', reason: 'FailedCreatePodContainer', message });
    throw err;
  }
}

function reportFailure(
  { events, starts }: RuntimeReports,
  { pod, signal }: SyncContext,
  err: unknown,
): never {
  if (isAbort(err) || signal.aborted) throw err;
  starts?.podFailed(pod.spec?.hostUsers === false);
  const kind = err instanceof KubeletError ? err.kind : 'internal';
  const text = err instanceof KubeletError ? rpcErrorText(err) : describeError(err);
  const reason = 'FailedCreatePodSandBox';
  events.pod(pod, { type: 'Warning', reason, message: `Failed to create pod sandbox: ${text}` });
  const message = `Failed to create pod sandbox: ${describeError(err)}`;
  throw new KubeletError(kind, reason, message, { cause: err });
}

// Generates a sandbox's configuration after looking up its runtime handler and its user namespace. Upstream: createPodSandbox and
// generatePodSandboxConfig in kuberuntime_sandbox.go, runtimeclass/runtimeclass_manager.go.

import type { PodSandboxConfig } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { lookUpRuntimeHandler } from '../../api/pod/runtime-handler.ts';
import { describeError, isAbort, isKind, KubeletError } from '../../base/errors.ts';
import type { PodInputs, RuntimeNode } from '../runtime-deps.ts';
import type { ResolverSettings } from './resolv-conf.ts';
import { generateSandboxConfig } from './sandbox-config.ts';

interface PreparedSandbox {
  readonly config: CriRequest<PodSandboxConfig>;
  /** Empty: the runtime's default handler. */
  readonly runtimeHandler: string;
}

interface PrepareSandboxDeps {
  readonly node: Pick<RuntimeNode, 'settings'>;
  readonly inputs: Pick<PodInputs, 'objects' | 'userNamespaces'> & {
    readonly volumes: Pick<PodInputs['volumes'], 'extraGroups'>;
  };
}

export async function prepareSandbox(
  { inputs, node }: PrepareSandboxDeps,
  pod: Pod,
  attempt: number,
  resolver: ResolverSettings | undefined,
  signal: AbortSignal,
): Promise<PreparedSandbox> {
  const runtimeHandler = await lookUpHandler(inputs, pod, signal);
  const userNamespace = await inputs.userNamespaces.of(pod, runtimeHandler, signal);
  const volumeGroups = inputs.volumes.extraGroups(pod);
  const config = generateSandboxConfig(
    { pod, attempt, resolver, userNamespace, volumeGroups },
    node.settings,
  );
  return { config, runtimeHandler };
}

async function lookUpHandler(
  { objects }: Pick<PodInputs, 'objects'>,
  pod: Pod,
  signal: AbortSignal,
): Promise<string> {
  try {
    return await lookUpRuntimeHandler(objects, pod, signal);
  } catch (err) {
    if (isAbort(err) || isKind(err, 'not-found')) throw err;
    const kind = err instanceof KubeletError ? err.kind : 'internal';
    const message = `failed to lookup RuntimeClass ${pod.spec?.runtimeClassName}: ${describeError(err)}`;
    throw new KubeletError(kind, 'FailedCreatePodSandBox', message, { cause: err });
  }
}

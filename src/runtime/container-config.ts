// The container a spec asks for, in the CRI's terms. Pure. Upstream: kuberuntime_container.go (generateContainerConfig), labels.go.
import { containerHashText } from '../api/container-hash.ts';
import type { CriRequest } from '../api/cri.ts';
import { criAnnotations, criLabels } from '../api/cri-labels.ts';
import type { ContainerConfig } from '../api/generated/runtime/v1/api.ts';
import type { Container, Pod } from '../api/k8s.ts';
import { podUid } from '../api/pod-ref.ts';
import { expandVariables } from './expand.ts';
import { containerResources } from './linux-resources.ts';
import { containerLogPath } from './paths.ts';
import type { PodConfigSettings } from './sandbox-config.ts';
import { containerSecurityContext, type ImageUser } from './security-context.ts';

export interface ContainerConfigInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  /** What the runtime calls the image that is present. */
  readonly imageRef: string;
  readonly imageUser: ImageUser;
}

export function generateContainerConfig(
  input: ContainerConfigInput,
  settings: PodConfigSettings,
): CriRequest<ContainerConfig> {
  const { pod, container, restartCount } = input;
  const env = containerEnv(container);
  const expand = (text: string): string => expandVariables(text, env);
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: input.imageRef, userSpecifiedImage: container.image ?? '' },
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
    workingDir: container.workingDir ?? '',
    envs: [...env].map(([key, value]) => ({ key, value: new TextEncoder().encode(value) })),
    labels: {
      [criLabels.podName]: pod.metadata?.name ?? '',
      [criLabels.podNamespace]: pod.metadata?.namespace ?? '',
      [criLabels.podUid]: podUid(pod),
      [criLabels.containerName]: container.name,
    },
    annotations: containerAnnotations(pod, container, restartCount),
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    linux: {
      resources: containerResources(pod, container, settings.resources),
      securityContext: containerSecurityContext(pod, container, input.imageUser, settings.seccomp),
    },
  };
}

/** Values in order; a later one may refer to earlier ones, and replaces one of the same name. */
function containerEnv(container: Container): Map<string, string> {
  const env = new Map<string, string>();
  for (const { name, value } of container.env ?? []) env.set(name, expandVariables(value ?? '', env));
  return env;
}

function containerAnnotations(pod: Pod, container: Container, restartCount: number): Record<string, string> {
  const deletionGrace = pod.metadata?.deletionGracePeriodSeconds;
  const terminationGrace = pod.spec?.terminationGracePeriodSeconds;
  const ports = container.ports ?? [];
  return {
    [criAnnotations.hash]: containerHashText(container),
    [criAnnotations.restartCount]: String(restartCount),
    [criAnnotations.terminationMessagePath]: container.terminationMessagePath ?? '',
    [criAnnotations.terminationMessagePolicy]: container.terminationMessagePolicy ?? '',
    ...(deletionGrace === undefined ? {} : { [criAnnotations.deletionGracePeriod]: String(deletionGrace) }),
    ...(terminationGrace === undefined
      ? {}
      : { [criAnnotations.terminationGracePeriod]: String(terminationGrace) }),
    ...(ports.length === 0 ? {} : { [criAnnotations.ports]: JSON.stringify(ports) }),
  };
}

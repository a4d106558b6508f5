// Generates the CRI configuration of a container from its spec. Pure. Upstream: kuberuntime_container.go (generateContainerConfig), labels.go.

import { type ContainerConfig, type Mount, NamespaceMode } from '../../api/cri/generated/runtime/v1/api.ts';
import { criAnnotations, criLabels } from '../../api/cri/labels.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import { toCriSignal } from '../../api/cri/stop-signals.ts';
import { goJsonString } from '../../api/k8s/go-json.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { containerHashText } from '../../api/pod/container-hash.ts';
import { expandVariables, expansionTooLarge } from '../../api/pod/expand.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import type { ContainerGrants } from '../../api/ports/exclusive-resources.ts';
import { containerLogPath } from '../paths.ts';
import type { PodConfigSettings } from '../sandbox/sandbox-config.ts';
import { environmentTexts, remainingBytes } from './container-env.ts';
import type { ContainerOptions } from './container-options.ts';
import { containerResources } from './linux-resources.ts';
import { containerSecurityContext, type PodUserNamespace, type SecurityInput } from './security-context.ts';

interface ContainerConfigInput extends SecurityInput {
  readonly restartCount: number;
  /** The runtime's reference to the image. */
  readonly imageRef: string;
  readonly options: ContainerOptions;
  readonly grants: ContainerGrants;
}

export function generateContainerConfig(
  input: ContainerConfigInput,
  settings: PodConfigSettings,
): CriRequest<ContainerConfig> {
  const { pod, container, grants, options, restartCount } = input;
  const texts = environmentTexts(options.env);
  let leftBytes = remainingBytes(options.env);
  const expand = (text: string): string => {
    const expanded = expandVariables(text, texts, leftBytes);
    leftBytes -= Buffer.byteLength(expanded);
    if (leftBytes < 0) throw expansionTooLarge();
    return expanded;
  };
  const stopSignal = settings.gates.ContainerStopSignals ? container.lifecycle?.stopSignal : undefined;
  return {
    metadata: { name: container.name, attempt: restartCount },
    image: { image: input.imageRef, userSpecifiedImage: container.image ?? '' },
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
    workingDir: container.workingDir ?? '',
    envs: [...options.env].map(([key, value]) => ({ key, value })),
    mounts: options.mounts.map((mount) => withIdMappings(mount, input.users)),
    devices: options.devices,
    ...(grants.cdiDevices.length === 0 ? {} : { CDIDevices: grants.cdiDevices.map((name) => ({ name })) }),
    labels: {
      [criLabels.podName]: pod.metadata?.name ?? '',
      [criLabels.podNamespace]: pod.metadata?.namespace ?? '',
      [criLabels.podUid]: podUid(pod),
      [criLabels.containerName]: container.name,
    },
    annotations: {
      ...Object.fromEntries(grants.annotations),
      ...containerAnnotations(pod, container, restartCount),
    },
    logPath: containerLogPath(container.name, restartCount),
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    ...(stopSignal === undefined ? {} : { stopSignal: toCriSignal(stopSignal) }),
    linux: {
      resources: {
        ...containerResources(pod, container, settings.resources),
        ...(grants.cpus === undefined ? {} : { cpusetCpus: grants.cpus }),
        ...(grants.memoryNodes === undefined ? {} : { cpusetMems: grants.memoryNodes }),
      },
      securityContext: containerSecurityContext(input, settings.seccomp),
    },
  };
}

/** In a user namespace the files of a mount are mapped to the pod's IDs. */
function withIdMappings(mount: CriRequest<Mount>, users: PodUserNamespace): CriRequest<Mount> {
  if (users === undefined || users.mode !== NamespaceMode.POD) return mount;
  return { ...mount, uidMappings: users.uids, gidMappings: users.gids };
}

/** The order of upstream's structs, so that both kubelets write the same annotation. */
const fieldOrder = [
  ['exec', 'httpGet', 'tcpSocket', 'sleep'],
  ['command', 'seconds', 'name', 'hostPort', 'containerPort', 'protocol', 'hostIP'],
  ['path', 'port', 'host', 'scheme', 'httpHeaders', 'value'],
].flat();

function goJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(goJson).join(',')}]`;
  if (typeof value === 'string') return goJsonString(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const rank = (key: string): number =>
    fieldOrder.includes(key) ? fieldOrder.indexOf(key) : fieldOrder.length;
  const fields = Object.entries(value).filter(([, each]) => each !== undefined);
  const sorted = fields.toSorted(([a], [b]) => rank(a) - rank(b));
  return `{${sorted.map(([key, each]) => `${goJsonString(key)}:${goJson(each)}`).join(',')}}`;
}

function containerAnnotations(pod: Pod, container: Container, restartCount: number): Record<string, string> {
  const deletionGrace = pod.metadata?.deletionGracePeriodSeconds;
  const terminationGrace = pod.spec?.terminationGracePeriodSeconds;
  const ports = container.ports ?? [];
  const preStop = container.lifecycle?.preStop;
  return {
    [criAnnotations.hash]: containerHashText(container),
    [criAnnotations.restartCount]: String(restartCount),
    [criAnnotations.terminationMessagePath]: container.terminationMessagePath ?? '',
    [criAnnotations.terminationMessagePolicy]: container.terminationMessagePolicy ?? '',
    ...(deletionGrace === undefined ? {} : { [criAnnotations.deletionGracePeriod]: String(deletionGrace) }),
    ...(terminationGrace === undefined
      ? {}
      : { [criAnnotations.terminationGracePeriod]: String(terminationGrace) }),
    ...(preStop === undefined ? {} : { [criAnnotations.preStopHandler]: goJson(preStop) }),
    ...(ports.length === 0 ? {} : { [criAnnotations.ports]: goJson(ports) }),
  };
}

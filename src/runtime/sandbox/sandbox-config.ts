// Generates the CRI configuration of a pod's sandbox. Pure. Upstream: kuberuntime_sandbox.go.

import { type PodSandboxConfig, type PortMapping, Protocol } from '../../api/cri/generated/runtime/v1/api.ts';
import { criLabels } from '../../api/cri/labels.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import { isDns1123Label, isDns1123Subdomain } from '../../api/k8s/names.ts';
import type { ContainerPort, Pod, ResourceList } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { normalizeSysctl } from '../../api/pod/sysctl-name.ts';
import { KubeletError } from '../../base/errors.ts';
import { overheadResources, type ResourceSettings, sandboxResources } from '../container/linux-resources.ts';
import {
  type PodUserNamespace,
  type SeccompSettings,
  sandboxSecurityContext,
} from '../container/security-context.ts';
import { podLogDirectory } from '../paths.ts';
import { type DnsSettings, podDns } from './dns.ts';
import type { ResolverSettings } from './resolv-conf.ts';

export interface PodConfigSettings {
  readonly podLogsDir: string;
  readonly rootDir: string;
  readonly dns: DnsSettings;
  readonly resources: ResourceSettings;
  readonly seccomp: SeccompSettings;
  /** The directory of the log links that log collectors watch. */
  readonly containerLogsDir: string;
  /** The node's addresses, primary first. */
  readonly hostIps: () => readonly string[];
  /** The node's allocatable: the default of a container's limits in the downward API. */
  readonly allocatable: () => ResourceList;
  /** Whether mounts are relabelled for SELinux. */
  readonly selinux: boolean;
  readonly gates: RuntimeGates;
  /** The cgroup parent of the pod's containers. */
  readonly cgroupParent: (pod: Pod) => string;
}

export interface RuntimeGates {
  readonly ContainerStopSignals: boolean;
  readonly EnvFiles: boolean;
  readonly HostnameOverride: boolean;
}

interface SandboxInput {
  readonly pod: Pod;
  readonly attempt: number;
  /** The content of the node's resolv.conf. */
  readonly resolver?: ResolverSettings | undefined;
  readonly userNamespace: PodUserNamespace;
  /** The groups that persistent volumes add. Default: none. */
  readonly volumeGroups?: readonly number[];
}

const maxHostname = 63;
const maxKernelHostname = 64;

export function generateSandboxConfig(
  { pod, attempt, resolver, userNamespace, volumeGroups = [] }: SandboxInput,
  settings: PodConfigSettings,
): CriRequest<PodSandboxConfig> {
  const uid = podUid(pod);
  const name = pod.metadata?.name ?? '';
  const namespace = pod.metadata?.namespace ?? '';
  const sysctls = (pod.spec?.securityContext?.sysctls ?? []).map(({ name: key, value }) => [
    normalizeSysctl(key),
    value,
  ]);
  return {
    metadata: { name, namespace, uid, attempt },
    hostname: pod.spec?.hostNetwork === true ? '' : kernelHostname(pod, settings),
    logDirectory: podLogDirectory(settings.podLogsDir, pod),
    dnsConfig: podDns(pod, settings.dns, resolver),
    portMappings: portMappings(pod),
    labels: {
      ...pod.metadata?.labels,
      [criLabels.podName]: name,
      [criLabels.podNamespace]: namespace,
      [criLabels.podUid]: uid,
    },
    annotations: { ...pod.metadata?.annotations },
    linux: {
      cgroupParent: settings.cgroupParent(pod),
      securityContext: sandboxSecurityContext(pod, userNamespace, volumeGroups),
      sysctls: Object.fromEntries(sysctls) as Record<string, string>,
      overhead: overheadResources(pod, settings.resources),
      resources: sandboxResources(pod, settings.resources),
    },
  };
}

interface PodHostname {
  readonly hostname: string;
  /** Empty without a subdomain. */
  readonly domain: string;
}

/** The pod's hostname and domain, as in its hosts file. Upstream: GeneratePodHostNameAndDomain. */
export function podHostname(
  pod: Pod,
  settings: {
    readonly dns: Pick<DnsSettings, 'clusterDomain'>;
    readonly gates: Pick<RuntimeGates, 'HostnameOverride'>;
  },
): PodHostname {
  const { hostname = '', hostnameOverride, subdomain = '' } = pod.spec ?? {};
  if (settings.gates.HostnameOverride && hostnameOverride !== undefined) {
    checkName('HostnameOverride', hostnameOverride, 'DNS subdomain', isDns1123Subdomain);
    return { hostname: truncateHostname(hostnameOverride), domain: '' };
  }
  if (hostname !== '') checkName('Hostname', hostname, 'DNS label', isDns1123Label);
  if (subdomain !== '') checkName('Subdomain', subdomain, 'DNS label', isDns1123Label);
  const namespace = pod.metadata?.namespace ?? '';
  return {
    hostname: truncateHostname(hostname === '' ? (pod.metadata?.name ?? '') : hostname),
    domain: subdomain === '' ? '' : `${subdomain}.${namespace}.svc.${settings.dns.clusterDomain}`,
  };
}

/** The hostname of the sandbox: the short name, or with setHostnameAsFQDN the FQDN, which the kernel limits to 64 bytes. */
export function kernelHostname(pod: Pod, settings: Parameters<typeof podHostname>[1]): string {
  const { hostname, domain } = podHostname(pod, settings);
  if (pod.spec?.setHostnameAsFQDN !== true || domain === '') return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length > maxKernelHostname) {
    throw new KubeletError(
      'invalid',
      'FailedCreatePodSandBox',
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (64 characters is the max, ${fqdn.length} characters requested)`,
    );
  }
  return fqdn;
}

function checkName(field: string, value: string, kind: string, check: (value: string) => string[]): void {
  const faults = check(value);
  if (faults.length === 0) return;
  const message = `pod ${field} "${value}" is not a valid ${kind}: ${faults.join(';')}`;
  throw new KubeletError('invalid', 'FailedCreatePodSandBox', message);
}

/** At most 63 characters, without a trailing dash or dot. */
function truncateHostname(name: string): string {
  // regex-bound: 63, as maxHostname
  return name.length <= maxHostname ? name : name.slice(0, maxHostname).replace(/[-.]+$/, '');
}

const protocols: Readonly<Record<string, Protocol>> = {
  TCP: Protocol.TCP,
  UDP: Protocol.UDP,
  SCTP: Protocol.SCTP,
};

function portMappings(pod: Pod): CriRequest<PortMapping>[] {
  const ports = (pod.spec?.containers ?? []).flatMap((container) => distinct(container.ports ?? []));
  return ports.map((port) => ({
    protocol: protocols[port.protocol ?? 'TCP'] ?? Protocol.TCP,
    containerPort: port.containerPort,
    hostPort: port.hostPort ?? 0,
    hostIp: port.hostIP ?? '',
  }));
}

/** Ports with the same name, or without a name the same mapping, count once per container. */
function distinct(ports: readonly ContainerPort[]): readonly ContainerPort[] {
  const seen = new Set<string>();
  return ports.filter(({ containerPort, hostIP = '', hostPort = 0, name = '', protocol = 'TCP' }) => {
    const key = name === '' ? `${protocol} ${hostIP} ${containerPort} ${hostPort}` : name;
    return !seen.has(key) && seen.add(key);
  });
}

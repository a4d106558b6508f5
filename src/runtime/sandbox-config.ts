// The sandbox a pod asks for, in the CRI's terms. Pure. Upstream: kuberuntime_sandbox.go.

import type { CriRequest } from '../api/cri.ts';
import { criLabels } from '../api/cri-labels.ts';
import { type PodSandboxConfig, type PortMapping, Protocol } from '../api/generated/runtime/v1/api.ts';
import type { Pod } from '../api/k8s.ts';
import { podUid } from '../api/pod-ref.ts';
import { KubeletError } from '../base/errors.ts';
import { type DnsSettings, podDns } from './dns.ts';
import { overheadResources, type ResourceSettings, sandboxResources } from './linux-resources.ts';
import { podLogDirectory } from './paths.ts';
import type { ResolverSettings } from './resolv-conf.ts';
import { type SeccompSettings, sandboxSecurityContext } from './security-context.ts';

export interface PodConfigSettings {
  readonly podLogsDir: string;
  readonly rootDir: string;
  readonly dns: DnsSettings;
  readonly resources: ResourceSettings;
  readonly seccomp: SeccompSettings;
  /** The cgroup under which the runtime puts the pod's containers. */
  readonly cgroupParent: (pod: Pod) => string;
}

const maxHostname = 63;
const maxKernelHostname = 64;

export function generateSandboxConfig(
  pod: Pod,
  attempt: number,
  settings: PodConfigSettings,
  host?: ResolverSettings,
): CriRequest<PodSandboxConfig> {
  const uid = podUid(pod);
  const name = pod.metadata?.name ?? '';
  const namespace = pod.metadata?.namespace ?? '';
  const sysctls = (pod.spec?.securityContext?.sysctls ?? []).map(({ name: key, value }) => [
    key.replaceAll('/', '.'),
    value,
  ]);
  return {
    metadata: { name, namespace, uid, attempt },
    hostname: pod.spec?.hostNetwork === true ? '' : podHostname(pod, settings.dns.clusterDomain),
    logDirectory: podLogDirectory(settings.podLogsDir, pod),
    dnsConfig: podDns(pod, settings.dns, host),
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
      securityContext: sandboxSecurityContext(pod),
      sysctls: Object.fromEntries(sysctls) as Record<string, string>,
      overhead: overheadResources(pod, settings.resources),
      resources: sandboxResources(pod, settings.resources),
    },
  };
}

/** The short name, or the whole one where the pod asks for it and the kernel can hold it. */
export function podHostname(pod: Pod, clusterDomain: string): string {
  const spec = pod.spec;
  const asked = spec?.hostname ?? '';
  const hostname = truncateHostname(asked === '' ? (pod.metadata?.name ?? '') : asked);
  if (spec?.setHostnameAsFQDN !== true || spec.subdomain === undefined || spec.subdomain === '')
    return hostname;
  const fqdn = `${hostname}.${spec.subdomain}.${pod.metadata?.namespace ?? ''}.svc.${clusterDomain}`;
  if (fqdn.length > maxKernelHostname) {
    throw new KubeletError(
      'invalid',
      'FailedCreatePodSandBox',
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (64 characters is the max, ${fqdn.length} characters requested)`,
    );
  }
  return fqdn;
}

/** 63 characters, not ending in a dash or a dot. */
function truncateHostname(name: string): string {
  return name.length <= maxHostname ? name : name.slice(0, maxHostname).replace(/[-.]+$/, '');
}

const protocols: Readonly<Record<string, Protocol>> = {
  TCP: Protocol.TCP,
  UDP: Protocol.UDP,
  SCTP: Protocol.SCTP,
};

function portMappings(pod: Pod): CriRequest<PortMapping>[] {
  const ports = (pod.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  return ports.map((port) => ({
    protocol: protocols[port.protocol ?? 'TCP'] ?? Protocol.TCP,
    containerPort: port.containerPort,
    hostPort: port.hostPort ?? 0,
    hostIp: port.hostIP ?? '',
  }));
}

// Rejects pods that need a security feature this node lacks, or that set a sysctl they must not set. Pure.
// Upstream: pkg/kubelet/sysctl (allowlist), NewAppArmorAdmitHandler and NewPodFeaturesAdmitHandler in pkg/kubelet/lifecycle,
// pkg/security/apparmor.

import type { Pod } from '../../api/k8s/types.ts';
import { requestedAppArmorProfile } from '../../api/pod/app-armor.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import { hasPodLevelResources } from '../../api/pod/resources.ts';
import { normalizeSysctl } from '../../api/pod/sysctl-name.ts';

interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** Sysctls that pods may set on every node, and the kernel version since which each is namespaced. */
const safeSysctls: readonly (readonly [name: string, sinceKernel: string])[] = [
  ['kernel.shm_rmid_forced', '0'],
  ['net.ipv4.ip_local_port_range', '0'],
  ['net.ipv4.tcp_syncookies', '0'],
  ['net.ipv4.ping_group_range', '0'],
  ['net.ipv4.ip_unprivileged_port_start', '0'],
  ['net.ipv4.ip_local_reserved_ports', '3.16'],
  ['net.ipv4.tcp_keepalive_time', '4.5'],
  ['net.ipv4.tcp_fin_timeout', '4.6'],
  ['net.ipv4.tcp_keepalive_intvl', '4.5'],
  ['net.ipv4.tcp_keepalive_probes', '4.5'],
  ['net.ipv4.tcp_rmem', '4.15'],
  ['net.ipv4.tcp_wmem', '4.15'],
  ['net.ipv4.tcp_slow_start_after_idle', '4.15'],
  ['net.ipv4.tcp_notsent_lowat', '4.6'],
];

interface SysctlSettings {
  /** As uname reports it: 6.1.0-31-amd64. */
  readonly kernelRelease: string;
  /** allowedUnsafeSysctls of the configuration: names, or prefixes that end in `*`. */
  readonly allowedUnsafe: readonly string[];
}

export function sysctlRejection(pod: Pod, settings: SysctlSettings): Rejection | undefined {
  const sysctls = pod.spec?.securityContext?.sysctls ?? [];
  if (sysctls.length === 0) return undefined;
  const { hostIPC, hostNetwork } = pod.spec ?? {};
  const allowed = [
    ...safeSysctls.filter(([, since]) => isAtLeast(settings.kernelRelease, since)).map(([name]) => name),
    ...settings.allowedUnsafe.map(normalizeSysctl),
  ];
  for (const { name: given } of sysctls) {
    const name = normalizeSysctl(given);
    const found = allowed.find((each) => each === name) ?? allowed.find((each) => matchesPrefix(name, each));
    if (found === undefined) return forbidden(`"${name}" not allowlisted`);
    const shared = namespaceOf(name) === 'Net' ? hostNetwork === true : hostIPC === true;
    if (shared) return forbidden(`"${name}" not allowed with host ${namespaceOf(name)} enabled`);
  }
  return undefined;
}

function matchesPrefix(name: string, pattern: string): boolean {
  const star = pattern.indexOf('*');
  return star !== -1 && name.startsWith(pattern.slice(0, star));
}

function namespaceOf(name: string): 'IPC' | 'Net' {
  return name.startsWith('net.') ? 'Net' : 'IPC';
}

function forbidden(why: string): Rejection {
  return { reason: 'SysctlForbidden', message: `forbidden sysctl: ${why}` };
}

function isAtLeast(release: string, required: string): boolean {
  const [have, want] = [release, required].map((text) => (text.match(/\d+/g) ?? []).map(Number));
  for (const [at, part] of (want ?? []).entries()) {
    const own = have?.[at] ?? 0;
    if (own !== part) return own > part;
  }
  return true;
}

/** A pod never runs without its requested AppArmor profile. */
export function appArmorRejection(pod: Pod, enabled: boolean): Rejection | undefined {
  if (enabled) return undefined;
  const types = allContainers(pod).map(
    (container) => requestedAppArmorProfile(pod, container)?.type ?? 'Unconfined',
  );
  if (types.every((type) => type === 'Unconfined')) return undefined;
  return {
    reason: 'AppArmor',
    message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
  };
}

/** With the gate off, pod-level resources would be ignored and the pod would run without its limits. */
export function podLevelRejection(pod: Pod, enabled: boolean): Rejection | undefined {
  if (enabled || !hasPodLevelResources(pod)) return undefined;
  return { reason: 'PodLevelResourcesNotSupported', message: 'PodLevelResources feature gate is disabled' };
}

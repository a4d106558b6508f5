// Validates the sysctls of a pod.
// Upstream: pkg/apis/core/validation (validateSysctls), component-helpers/node/util/sysctl.
import type { PodSpec, Sysctl } from '../../api/k8s/types.ts';
import { bytesOf, type Violations } from './violation.ts';

const nameBytes = 253;
// regex-bound: 253, as nameBytes
const name = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const ofIpc: ReadonlySet<string> = new Set(
  ['sem', 'shmall', 'shmmax', 'shmmni', 'shm_rmid_forced', 'shm', 'msgmax', 'msgmnb', 'msgmni', 'msg'].map(
    (key) => `kernel.${key}`,
  ),
);

export function checkSysctls(v: Violations, path: string, sysctls: readonly Sysctl[], spec: PodSpec): void {
  const names = new Set<string>();
  for (const [index, sysctl] of sysctls.entries()) {
    const field = `${path}[${index}].name`;
    v.requiredText(field, sysctl.name, isSysctlName);
    if (sysctl.name && names.has(sysctl.name) && isSysctlName(sysctl.name).length === 0)
      v.duplicate(field, sysctl.name);
    names.add(sysctl.name);
    const namespace = namespaceOf(sysctl.name ?? '');
    if (namespace === 'net' && spec.hostNetwork === true)
      v.invalid(field, sysctl.name, "would change the host's network, which the pod shares");
    if (namespace === 'ipc' && spec.hostIPC === true)
      v.invalid(field, sysctl.name, "would change the host's IPC, which the pod shares");
  }
}

function isSysctlName(text: string): string[] {
  if (bytesOf(text) <= nameBytes && name.test(text)) return [];
  return [
    `must have at most ${nameBytes} characters and be words with '.' or '/' between (pattern ${name.source})`,
  ];
}

/** The pod namespace that a sysctl belongs to, if any. */
function namespaceOf(text: string): 'net' | 'ipc' | undefined {
  const dotted = withDots(text).split('*', 1)[0] ?? '';
  if (dotted.startsWith('net.')) return 'net';
  return ofIpc.has(dotted) || dotted.startsWith('fs.mqueue.') ? 'ipc' : undefined;
}

/** `net/ipv4/conf/eno2.100/rp_filter` is another spelling of `net.ipv4.conf.eno2/100.rp_filter`. */
function withDots(text: string): string {
  if (text[text.search(/[./]/)] !== '/') return text;
  return text.replaceAll(/[./]/g, (separator) => (separator === '.' ? '/' : '.'));
}

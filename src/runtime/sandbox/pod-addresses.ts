// The addresses of a pod whose containers are being started. Upstream: determinePodSandboxIPs in kuberuntime_sandbox.go,
// sortPodIPs in kubelet_pods.go.
import type { PodSandboxStatus } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRuntime } from '../../api/cri/runtime.ts';
import { parseIp } from '../../api/k8s/ip-address.ts';
import type { RuntimeNode } from '../runtime-deps.ts';
import type { SyncContext } from '../sync-context.ts';

interface AddressDeps {
  readonly cri: Pick<CriRuntime, 'podSandboxStatus'>;
  readonly node: Pick<RuntimeNode, 'settings'>;
}

/** With hostNetwork the node's; otherwise the sandbox's, read once per sync. */
export async function podAddresses(
  { cri, node: { settings } }: AddressDeps,
  context: SyncContext,
): Promise<readonly string[]> {
  const { pod, sandbox, seen, signal } = context;
  if (pod.spec?.hostNetwork === true) return settings.hostIps().slice(0, 2);
  if (sandbox === undefined) return [];
  const known = seen?.sandboxes.find(({ id }) => id === sandbox.id)?.ips ?? [];
  if (known.length > 0) return known;
  context.addresses ??= cri.podSandboxStatus({ podSandboxId: sandbox.id }, { signal }).then(({ status }) => {
    if (status === undefined) return [];
    context.sandboxStatus = status;
    return sandboxIps(status);
  });
  return await context.addresses;
}

/** Empty if the runtime returns anything that is not an IP address. */
function sandboxIps({ network }: PodSandboxStatus): readonly string[] {
  const ips = [network?.ip ?? '', ...(network?.additionalIps ?? []).map(({ ip }) => ip)].filter(
    (ip) => ip !== '',
  );
  return ips.every((ip) => parseIp(ip) !== undefined) ? ips : [];
}

/** At most one address per family, the family of the node's primary address first. */
export function byFamilyOf(hostIps: readonly string[], ips: readonly string[]): readonly string[] {
  const first = parseIp(hostIps[0] ?? '')?.family ?? 4;
  const primary = ips.find((ip) => parseIp(ip)?.family === first);
  const other = ips.find((ip) => parseIp(ip) !== undefined && parseIp(ip)?.family !== first);
  return [primary, other].filter((ip) => ip !== undefined);
}

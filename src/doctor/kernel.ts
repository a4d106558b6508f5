// Judges kernel settings and modules. Pure.
import type { DoctorSettings, KernelFacts } from './facts.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

export function judgeKernelSettings(
  { canWrite, sysctls }: KernelFacts,
  wanted: Readonly<Record<string, number>>,
  { protectKernelDefaults }: Pick<DoctorSettings, 'protectKernelDefaults'>,
): Finding {
  const wrong = Object.entries(wanted).filter(([name, value]) => Number(sysctls[name]) !== value);
  if (wrong.length === 0) return ok('as the kubelet wants them');
  const list = wrong.map(
    ([name, value]) => `${dotted(name)} is ${sysctls[name] ?? 'missing'}, wanted ${value}`,
  );
  const commands = wrong.map(([name, value]) => `${dotted(name)}=${value}`).join(' ');
  const fix = `sysctl -w ${commands}, and the same in /etc/sysctl.d`;
  if (protectKernelDefaults)
    return fail(
      `${list.join('; ')}; with protectKernelDefaults the kubelet does not start`,
      `${fix}, or set protectKernelDefaults: false`,
    );
  const isMissing = wrong.some(([name]) => sysctls[name] === undefined);
  if (canWrite && !isMissing) return ok('the kubelet sets them when it starts');
  return warn(`${list.join('; ')}, and the kubelet cannot set them`, fix);
}

function dotted(name: string): string {
  return name.replaceAll('/', '.');
}

export const forwardSettings = ['net/ipv4/ip_forward', 'net/ipv6/conf/all/forwarding'] as const;
export const bridgeSetting = 'net/bridge/bridge-nf-call-iptables';

export function judgeForwarding({ sysctls }: KernelFacts): Finding {
  return sysctls[forwardSettings[0]] === '1'
    ? ok('net.ipv4.ip_forward is 1')
    : warn(
        'net.ipv4.ip_forward is not 1, so packets do not pass between pods and other machines with most network plugins',
        'sysctl -w net.ipv4.ip_forward=1, and the same in /etc/sysctl.d',
      );
}

export function judgeBridge({ sysctls }: KernelFacts): Finding {
  const value = sysctls[bridgeSetting];
  if (value === '1') return ok('net.bridge.bridge-nf-call-iptables is 1');
  return warn(
    value === undefined
      ? 'br_netfilter is not loaded, so Services do not work between pods of one node with a bridge and kube-proxy'
      : 'net.bridge.bridge-nf-call-iptables is not 1, so Services do not work between pods of one node with a bridge and kube-proxy',
    'modprobe br_netfilter && sysctl -w net.bridge.bridge-nf-call-iptables=1; other network plugins do not need it',
  );
}

export function judgeOverlay({ fileSystems, loadable }: KernelFacts): Finding {
  if (fileSystems.includes('overlay')) return ok('overlay is available');
  if (loadable.includes('overlay')) return ok('overlay is loaded when the runtime first mounts it');
  return warn(
    'the kernel has no overlay file system, which most runtimes use for containers',
    'modprobe overlay, or configure another snapshotter in the runtime',
  );
}

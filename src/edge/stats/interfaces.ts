// Parses the counters of network interfaces in /proc/<pid>/net/dev. Upstream: scanInterfaceStats in cadvisor's
// container/libcontainer.
import type { InterfaceUsage } from '../../api/ports/host-usage.ts';

/** Prefixes that are skipped: loopback, and the host ends of veth pairs, which are counted in their network namespace. */
const ignored = ['lo', 'veth', 'docker', 'nerdctl'];

export function parseInterfaces(text: string): readonly InterfaceUsage[] {
  return text
    .split('\n')
    .slice(2)
    .flatMap((line) => {
      const [name = '', ...values] = line.replace(':', ' ').trim().split(/\s+/);
      if (values.length !== 16 || ignored.some((prefix) => name.toLowerCase().startsWith(prefix))) return [];
      const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0] = values.slice(0, 4).map(Number);
      const [txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = values.slice(8, 12).map(Number);
      return [{ name, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped }];
    });
}

export function defaultInterface(routes: string): string | undefined {
  const rows = routes.split('\n').map((line) => line.split(/\s+/));
  return rows.find(([, to, , , , , , mask]) => to === '00000000' && mask === '00000000')?.[0];
}

// Normalizes sysctl names to dots as separators. Upstream: NormalizeName in component-helpers/node/util/sysctl.
// Invariant: the first of `.` and `/` in the name is the separator; the other one belongs to a part of the name, as in the name
// of a VLAN interface.

/** `net/ipv4/conf/eno2.100/rp_filter` becomes `net.ipv4.conf.eno2/100.rp_filter`. */
export function normalizeSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replaceAll(/[./]/g, (found) => (found === '/' ? '.' : '/'));
}

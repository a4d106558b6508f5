// A kernel setting's name in the one spelling that has dots between its parts. Upstream: NormalizeName in
// component-helpers/node/util/sysctl. Invariant: the first separator says which of `.` and `/` parts the name; the other one is
// part of a name then, as in the name of a VLAN interface.

/** `net/ipv4/conf/eno2.100/rp_filter` becomes `net.ipv4.conf.eno2/100.rp_filter`. */
export function normalizeSysctl(name: string): string {
  if (/[./]/.exec(name)?.[0] !== '/') return name;
  return name.replaceAll(/[./]/g, (found) => (found === '/' ? '.' : '/'));
}

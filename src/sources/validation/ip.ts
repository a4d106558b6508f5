// Recognises IP addresses as old fields of the API accept them: with leading zeros in IPv4, without a zone in IPv6.
// Upstream: k8s.io/utils/net (ParseIPSloppy).

const hexGroup = /^[0-9a-fA-F]{1,4}$/;

/** What is wrong with the address; empty when nothing is. */
export function isIp(text: string): string[] {
  return isIpv4(text) || isIpv6(text) ? [] : ['must be an IP address, such as 10.9.8.7 or 2001:db8::ffff'];
}

function isIpv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^[0-9]+$/.test(part) && Number(part) <= 255);
}

function isIpv6(text: string): boolean {
  const halves = text.split('::');
  if (halves.length > 2 || !text.includes(':')) return false;
  const groups = halves.map(countGroups);
  if (groups.includes(undefined)) return false;
  const total = groups.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  if (halves.length === 1) return total === 8;
  // An address in dotted form can only be the end of the whole.
  return total <= 7 && !(halves[0] ?? '').includes('.');
}

/** How many 16-bit groups a part has; undefined when it is malformed. */
function countGroups(part: string): number | undefined {
  if (part === '') return 0;
  const groups = part.split(':');
  const last = groups.at(-1) ?? '';
  const dotted = last.includes('.');
  const hex = dotted ? groups.slice(0, -1) : groups;
  if (dotted && !isIpv4(last)) return undefined;
  return hex.every((group) => hexGroup.test(group)) ? hex.length + (dotted ? 2 : 0) : undefined;
}

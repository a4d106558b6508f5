// Parses IP addresses as leniently as the API's legacy parsers and formats them canonically. Pure.
// Upstream: k8s.io/utils/net (ParseIPSloppy) and Go's net.IP. Invariants: an IPv4 part with leading zeros is decimal;
// an IPv4-mapped IPv6 address (::ffff:1.2.3.4) is the IPv4 address; an address with a zone (fe80::1%eth0) is invalid.

interface IpAddress {
  readonly family: 4 | 6;
  readonly bytes: readonly number[];
  /** Canonical (RFC 5952). */
  readonly text: string;
}

export function parseIp(text: string): IpAddress | undefined {
  const bytes = text.includes(':') ? parseIpv6(text) : parseIpv4(text);
  if (bytes === undefined) return undefined;
  const plain = isMapped(bytes) ? bytes.slice(12) : bytes;
  return plain.length === 4
    ? { family: 4, bytes: plain, text: plain.join('.') }
    : { family: 6, bytes: plain, text: formatIpv6(plain) };
}

/** What strict validation has against an address that parseIp accepts: other programs may read it as another address. */
export function strictIpProblem(text: string): string | undefined {
  const dotted = text.slice(text.lastIndexOf(':') + 1);
  if (dotted.includes('.') && dotted.split('.').some((part) => part.length > 1 && part.startsWith('0')))
    return 'must not have leading 0s';
  const isMappedIpv4 = text.includes(':') && parseIp(text)?.family === 4;
  return isMappedIpv4 ? 'must not be an IPv4-mapped IPv6 address' : undefined;
}

export function isUnspecified({ bytes }: IpAddress): boolean {
  return bytes.every((byte) => byte === 0);
}

export function isLoopback({ family, bytes }: IpAddress): boolean {
  if (family === 4) return bytes[0] === 127;
  return bytes.every((byte, i) => byte === (i === 15 ? 1 : 0));
}

export function isMulticast({ family, bytes: [first = 0] }: IpAddress): boolean {
  return family === 4 ? (first & 0xf0) === 0xe0 : first === 0xff;
}

export function isLinkLocal({ family, bytes: [first = 0, second = 0] }: IpAddress): boolean {
  return family === 4 ? first === 169 && second === 254 : first === 0xfe && (second & 0xc0) === 0x80;
}

function parseIpv4(text: string): readonly number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^[0-9]+$/.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function parseIpv6(text: string): readonly number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map(
    (half, i) => parseGroups(half, i === halves.length - 1) ?? invalid,
  );
  const missing = 16 - head.length - tail.length;
  if (halves.length === 1) return missing === 0 ? head : undefined;
  // The double colon replaces at least one group.
  return missing >= 2 ? [...head, ...Array.from({ length: missing }, () => 0), ...tail] : undefined;
}

/** Longer than any address, so that the result is rejected. */
const invalid: readonly number[] = Array.from({ length: 32 }, () => 0);

function parseGroups(text: string, mayEndInIpv4: boolean): readonly number[] | undefined {
  if (text === '') return [];
  const bytes: number[] = [];
  const groups = text.split(':');
  for (const [i, group] of groups.entries()) {
    const embedded = mayEndInIpv4 && i === groups.length - 1 ? parseIpv4(group) : undefined;
    if (embedded !== undefined) bytes.push(...embedded);
    else if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    } else return undefined;
  }
  return bytes;
}

function isMapped(bytes: readonly number[]): boolean {
  return bytes.length === 16 && bytes.slice(0, 12).every((byte, i) => byte === (i < 10 ? 0 : 0xff));
}

function formatIpv6(bytes: readonly number[]): string {
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0));
  const zeros = longestZeros(groups);
  const hex = (from: number, to: number): string =>
    groups
      .slice(from, to)
      .map((group) => group.toString(16))
      .join(':');
  return zeros === undefined ? hex(0, 8) : `${hex(0, zeros.from)}::${hex(zeros.to, 8)}`;
}

/** The first of the longest runs of at least two zero groups. */
function longestZeros(groups: readonly number[]): { readonly from: number; readonly to: number } | undefined {
  let longest: { from: number; to: number } | undefined;
  for (let from = 0; from < groups.length; from++) {
    let to = from;
    while (groups[to] === 0) to++;
    if (to - from >= 2 && (longest === undefined || to - from > longest.to - longest.from))
      longest = { from, to };
    if (to > from) from = to - 1;
  }
  return longest;
}

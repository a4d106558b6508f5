// Maps client addresses to peers: an IPv4 address, or the /64 prefix of an IPv6 link. Pure.

/** `address` as the socket reports it; undefined for a closed socket. */
export function peerOf(address: string | undefined): string {
  if (address === undefined) return '';
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:([0-9.]{7,15})$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));
  const before = groups(head);
  const after = groups(tail ?? '');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const all = [...before, ...Array.from({ length: zeros }, () => '0'), ...after];
  const prefix = all.slice(0, 4).join(':');
  return `${prefix}::/64`;
}

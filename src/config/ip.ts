// Textual IP addresses. Leading zeros in IPv4 parts are accepted as decimal, as upstream's sloppy parser does.

export function isIPv4(text: string): boolean {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^[0-9]{1,3}$/.test(part) && Number(part) <= 255);
}

export function isIPv6(text: string): boolean {
  let address = text;
  const last = address.slice(address.lastIndexOf(':') + 1);
  if (last.includes('.')) {
    if (!isIPv4(last)) return false;
    address = `${address.slice(0, address.length - last.length)}0:0`;
  }
  const halves = address.split('::');
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')));
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return false;
  return halves.length === 2 ? groups.length < 8 : groups.length === 8;
}

export function isIP(text: string): boolean {
  return isIPv4(text) || isIPv6(text);
}

// FNV-1a with 32 bits, used for container hashes and checkpoints, and with 128 bits, used for the UIDs of static pods.
// Upstream: Go's hash/fnv (New32a, New128a).

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** Hashes bytes, or a string as UTF-8. Pass the previous result as `seed` to hash in pieces. */
export function fnv1a32(data: string | Uint8Array, seed: number = offsetBasis): number {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  let hash = seed;
  for (const byte of bytes) {
    hash = Math.imul(hash ^ byte, prime);
  }
  return hash >>> 0;
}

/**
 * In hexadecimal. The state is eight 16-bit words, lowest first, so that products stay exact. The prime is 2^88 + 315: each step
 * multiplies by 315 and adds the state shifted by five words and a byte.
 */
export function fnv1a128(data: string | Uint8Array): string {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  let [a, b, c, d] = [0xc58d, 0x6295, 0x2175, 0x62b8];
  let [e, f, g, h] = [0x0142, 0x07bb, 0x272e, 0x6c62];
  for (const byte of bytes) {
    a ^= byte;
    const fifth = (a & 0xff) << 8;
    const sixth = (a >>> 8) + ((b & 0xff) << 8);
    const seventh = (b >>> 8) + ((c & 0xff) << 8);
    let sum = a * 315;
    a = sum & 0xffff;
    sum = b * 315 + (sum >>> 16);
    b = sum & 0xffff;
    sum = c * 315 + (sum >>> 16);
    c = sum & 0xffff;
    sum = d * 315 + (sum >>> 16);
    d = sum & 0xffff;
    sum = e * 315 + (sum >>> 16);
    e = sum & 0xffff;
    sum = f * 315 + fifth + (sum >>> 16);
    f = sum & 0xffff;
    sum = g * 315 + sixth + (sum >>> 16);
    g = sum & 0xffff;
    h = (h * 315 + seventh + (sum >>> 16)) & 0xffff;
  }
  return [h, g, f, e, d, c, b, a].map((word) => word.toString(16).padStart(4, '0')).join('');
}

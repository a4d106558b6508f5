// FNV-1a with 32 bits, used for container hashes, static pod hashes and checkpoints.
// Upstream: Go's hash/fnv (New32a).

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

// FNV-1a with 32 bits, the checksum behind container hashes, static pod hashes and checkpoints.
// Upstream: Go's hash/fnv (New32a).

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** Hashes bytes, or a text as UTF-8. Pass an earlier result as `seed` to hash piece by piece. */
export function fnv1a32(data: string | Uint8Array, seed: number = offsetBasis): number {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : data;
  let hash = seed;
  for (const byte of bytes) {
    hash = Math.imul(hash ^ byte, prime);
  }
  return hash >>> 0;
}

// Truncates hostile text before it is kept.

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const ellipsis = '…';
const ellipsisBytes = 3;

/** At most so many bytes of UTF-8. A copy: a part of a long string would keep all of it in memory. */
export function shortText(text: string, bytes: number): string {
  // A UTF-16 unit takes at least one byte.
  const start = text.slice(0, bytes);
  const room = new Uint8Array(bytes);
  const { read, written } = encoder.encodeInto(start, room);
  if (read === text.length) return decoder.decode(room.subarray(0, written));
  const shorter = encoder.encodeInto(start, room.subarray(0, bytes - ellipsisBytes)).written;
  return decoder.decode(room.subarray(0, shorter)) + ellipsis;
}

// Text as Go's encoding/json writes it: where a hash or checksum covers JSON, every byte counts.
// Upstream: Go's encoding/json with HTML escaping on, its default.

const escapes: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** A JSON string literal with its quotes. Half a surrogate pair becomes U+FFFD, since Go's strings cannot hold one. */
export function goJsonString(text: string): string {
  const wellFormed = text.replace(/[\ud800-\udfff]/gu, '\ufffd');
  return JSON.stringify(wellFormed).replace(/[<>&\u2028\u2029]/g, (found) => escapes[found] ?? found);
}

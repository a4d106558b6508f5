// JSON text as Go's encoding/json writes it, byte for byte: hashes and checksums cover it.
// Upstream: Go's encoding/json with HTML escaping on, its default.

const escapes: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** A JSON string literal with its quotes. A lone surrogate becomes U+FFFD, since Go's strings cannot hold one. */
export function goJsonString(text: string): string {
  return goJson(text.replace(/[\ud800-\udfff]/gu, '\ufffd'));
}

/** The escaped characters occur only inside strings, so the finished text can be escaped. */
export function goJson(value: object | string, indent = 0): string {
  return JSON.stringify(value, undefined, indent).replace(
    /[<>&\u2028\u2029]/g,
    (found) => escapes[found] ?? found,
  );
}

// Splits PEM texts into their blocks and encodes certificates. Pure. Upstream: Go's encoding/pem.
// Invariant: a text is searched once, whatever it contains.

const beginning = /-----BEGIN ([^\n-]+)-----[ \t]*\r?\n/g;
const ending = '-----END ';

/** The content of every block, as base64 without line breaks; malformed blocks, headers and text in between are skipped. */
export function pemBlocks(text: string): readonly string[] {
  const blocks: string[] = [];
  let next = -1;
  let consumed = -1;
  for (const { index, 0: whole, 1: label = '' } of text.matchAll(beginning)) {
    // A BEGIN line within another block is part of it.
    if (index < consumed) continue;
    const from = index + whole.length;
    // Searched once for all blocks that begin before it, to stay linear.
    if (next < from) next = text.indexOf(ending, from);
    if (next < 0) break;
    if (!text.startsWith(`${label}-----`, next + ending.length)) continue;
    consumed = next;
    const content = withoutHeaders(text.slice(from, next)).replace(/\s/g, '');
    if (content !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(content) && content.length % 4 === 0)
      blocks.push(content);
  }
  return blocks;
}

function withoutHeaders(body: string): string {
  return body
    .split('\n')
    .filter((line) => line.indexOf(':') <= 0)
    .join('\n');
}

/** A certificate, given as base64 without line breaks. */
export function certificatePem(base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

// Just enough of a DER reader for certificate requests, whose makers are ours or openssl.

interface DerNode {
  readonly tag: number;
  readonly content: Buffer;
  /** With tag and length. */
  readonly raw: Buffer;
}

export function children(content: Buffer): DerNode[] {
  const nodes: DerNode[] = [];
  for (let at = 0; at < content.length; ) {
    const start = at;
    const tag = content[at++] ?? 0;
    let length = content[at++] ?? 0;
    if (length >= 0x80) {
      const count = length & 0x7f;
      length = content.readUIntBE(at, count);
      at += count;
    }
    nodes.push({
      tag,
      content: content.subarray(at, at + length),
      raw: content.subarray(start, at + length),
    });
    at += length;
  }
  return nodes;
}

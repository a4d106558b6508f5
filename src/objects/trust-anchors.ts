// Merges trust bundles into one PEM file: each certificate once, in an order on which no client can rely. Pure.
// Upstream: normalizeTrustAnchors in pkg/kubelet/clustertrustbundle.
// differs from upstream: the order is fixed per process. Upstream shuffles again whenever its cache of five minutes expires,
// which rewrites every file for no reason.
import { createHash } from 'node:crypto';

const beginning = /-----BEGIN ([^\n-]+)-----[ \t]*\r?\n/g;
const ending = '-----END ';

/** `salt` decides the order; the same salt gives the same order. */
export function normalizeTrustAnchors(bundles: readonly string[], salt: string): string {
  const anchors = new Set(bundles.flatMap(pemBlocks));
  const rank = new Map([...anchors].map((anchor) => [anchor, rankOf(anchor, salt)]));
  const ordered = [...anchors].sort((a, b) => ((rank.get(a) ?? '') < (rank.get(b) ?? '') ? -1 : 1));
  return ordered.map(encode).join('');
}

/** The content of every block, as base64 without line breaks; malformed blocks are skipped. */
function pemBlocks(bundle: string): readonly string[] {
  const blocks: string[] = [];
  let next = -1;
  let consumed = -1;
  for (const { index, 0: whole, 1: label = '' } of bundle.matchAll(beginning)) {
    // A BEGIN line within another block is part of it.
    if (index < consumed) continue;
    const from = index + whole.length;
    // Searched once for all blocks that begin before it, to stay linear.
    if (next < from) next = bundle.indexOf(ending, from);
    if (next < 0) break;
    if (!bundle.startsWith(`${label}-----`, next + ending.length)) continue;
    consumed = next;
    const text = withoutHeaders(bundle.slice(from, next)).replace(/\s/g, '');
    if (text !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0) blocks.push(text);
  }
  return blocks;
}

function withoutHeaders(body: string): string {
  return body
    .split('\n')
    .filter((line) => line.indexOf(':') <= 0)
    .join('\n');
}

function rankOf(anchor: string, salt: string): string {
  return createHash('sha256').update(salt).update(anchor).digest('hex');
}

function encode(anchor: string): string {
  const lines = anchor.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

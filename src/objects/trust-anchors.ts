// From the trust bundles of the cluster to one file of certificates: each once, in PEM as everybody reads it, in an order that
// nobody can come to rely on. Pure. Upstream: normalizeTrustAnchors in pkg/kubelet/clustertrustbundle.
// differs from upstream: there the order is drawn anew whenever a cache of five minutes has forgotten it, which writes every
// file anew for nothing; here it is one order per life of the kubelet.
import { createHash } from 'node:crypto';

const block = /-----BEGIN ([^\n-]+)-----[ \t]*\r?\n([\s\S]*?)-----END \1-----/g;
const header = /^[^:\n]+:.*\r?\n/gm;
const lineLength = 64;

/** `salt` decides the order; the same salt gives the same order. */
export function normalizeTrustAnchors(bundles: readonly string[], salt: string): string {
  const anchors = new Set(bundles.flatMap(pemBlocks));
  const rank = new Map([...anchors].map((anchor) => [anchor, rankOf(anchor, salt)]));
  const ordered = [...anchors].sort((a, b) => ((rank.get(a) ?? '') < (rank.get(b) ?? '') ? -1 : 1));
  return ordered.map(encode).join('');
}

/** The content of every block, as base64 without line breaks; what cannot be read as one is left out. */
function pemBlocks(bundle: string): readonly string[] {
  return [...bundle.matchAll(block)].flatMap(([, , body = '']) => {
    const text = body.replace(header, '').replace(/\s/g, '');
    return text !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0 ? [text] : [];
  });
}

function rankOf(anchor: string, salt: string): string {
  return createHash('sha256').update(salt).update(anchor).digest('hex');
}

function encode(anchor: string): string {
  const lines = anchor.match(new RegExp(`.{1,${lineLength}}`, 'g')) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

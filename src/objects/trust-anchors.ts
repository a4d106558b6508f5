// Merges trust bundles into one PEM file: each certificate once, in an order on which no client can rely. Pure.
// Upstream: normalizeTrustAnchors in pkg/kubelet/clustertrustbundle.
// differs from upstream: the order is fixed per process. Upstream shuffles again whenever its cache of five minutes expires,
// which rewrites every file for no reason.
import { createHash } from 'node:crypto';
import { certificatePem, pemBlocks } from '../base/pem.ts';

/** `salt` decides the order; the same salt gives the same order. */
export function normalizeTrustAnchors(bundles: readonly string[], salt: string): string {
  const anchors = new Set(bundles.flatMap(pemBlocks));
  const rank = new Map([...anchors].map((anchor) => [anchor, rankOf(anchor, salt)]));
  const ordered = [...anchors].sort((a, b) => ((rank.get(a) ?? '') < (rank.get(b) ?? '') ? -1 : 1));
  return ordered.map(certificatePem).join('');
}

function rankOf(anchor: string, salt: string): string {
  return createHash('sha256').update(salt).update(anchor).digest('hex');
}

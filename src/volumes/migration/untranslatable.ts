// The error of a volume that has no translation. Invariant: it quotes what users wrote at bounded length.
// Upstream: TranslateInTreeSpecToCSI in pkg/volume/csimigration.
import { KubeletError } from '../../base/errors.ts';

const longestQuotation = 512;

/** The text is upstream's; events of the pod show it. */
export function untranslatable(why: string): KubeletError {
  return new KubeletError('invalid', 'FailedMount', `failed to translate in-tree pv to CSI: ${why}`);
}

export function quotation(text: string): string {
  return text.length <= longestQuotation ? text : `${text.slice(0, longestQuotation)}…`;
}

// Normalises the container runtime's version for the node status: suffixes that are not part of a version, such as a
// distribution's, are dropped. Pure. Upstream: newRuntimeVersion in pkg/kubelet/kuberuntime, util/version in apimachinery.

const extra = /^(?:-[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?$/;
const zeroPrefixed = /^0\d/;

const maxVersionLength = 256;

/** Undefined if the text is not a version. */
export function runtimeVersion(text: string): string | undefined {
  if (text.length > maxVersionLength) return undefined;
  // regex-bound: 256, maxVersionLength
  const [, numbers = '', rest = ''] = /^\s*v?(\d+(?:\.\d+)*)(.*?)\s*$/s.exec(text) ?? [];
  const parts = numbers.split('.');
  const plain = parts.map((part) => BigInt(part)).join('.');
  const isSemantic = parts.length === 3 && !parts.some((part) => zeroPrefixed.test(part));
  if (isSemantic && extra.test(rest) && !zeroPrefixedRelease(rest)) return `${plain}${rest}`;
  return parts.length < 2 || zeroPrefixed.test(parts[0] ?? '') ? undefined : plain;
}

/** Numeric identifiers of a pre-release must not have leading zeros. */
function zeroPrefixedRelease(rest: string): boolean {
  const [release = ''] = rest.split('+');
  return release
    .slice(1)
    .split('.')
    .some((part) => /^0\d+$/.test(part));
}

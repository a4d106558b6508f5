// The version of the container runtime as the node's status shows it: what a runtime adds beyond a proper version, as a
// distribution's mark, is left out. Pure. Upstream: newRuntimeVersion in pkg/kubelet/kuberuntime, util/version in apimachinery.

const extra = /^(?:-[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?(?:\+[\dA-Za-z-]+(?:\.[\dA-Za-z-]+)*)?$/;
const zeroPrefixed = /^0\d/;

const longestVersion = 256;

/** Undefined: it is no version. */
export function runtimeVersion(text: string): string | undefined {
  if (text.length > longestVersion) return undefined;
  // regex-bound: 256, as longestVersion
  const [, numbers = '', rest = ''] = /^\s*v?(\d+(?:\.\d+)*)(.*?)\s*$/s.exec(text) ?? [];
  const parts = numbers.split('.');
  const plain = parts.map((part) => BigInt(part)).join('.');
  const isSemantic = parts.length === 3 && !parts.some((part) => zeroPrefixed.test(part));
  if (isSemantic && extra.test(rest) && !zeroPrefixedRelease(rest)) return `${plain}${rest}`;
  return parts.length < 2 || zeroPrefixed.test(parts[0] ?? '') ? undefined : plain;
}

/** Numbers of a pre-release must not begin with a zero. */
function zeroPrefixedRelease(rest: string): boolean {
  const [release = ''] = rest.split('+');
  return release
    .slice(1)
    .split('.')
    .some((part) => /^0\d+$/.test(part));
}

// Decides whether a kubelet and an API server of these versions may work together. Pure.
// Upstream: the version skew policy (kubernetes.io/releases/version-skew-policy); the Go kubelet does not check it.

/** How many minor releases a kubelet may be older than its API server. */
const maxMinorsBehind = 3;

/** Of `/version`, as any server may send it. */
export interface ServerVersion {
  readonly major?: unknown;
  readonly minor?: unknown;
  readonly gitVersion?: unknown;
}

export type VersionSkew = 'supported' | 'kubelet-too-new' | 'kubelet-too-old' | 'unknown';

export function computeVersionSkew(kubeletVersion: string, server: ServerVersion): VersionSkew {
  const [kubeletMajor, kubeletMinor] = (/^v(\d{1,4})\.(\d{1,4})/.exec(kubeletVersion) ?? [])
    .slice(1)
    .map(Number);
  const [major, minor] = [numberOf(server.major), numberOf(server.minor)];
  if (
    kubeletMajor === undefined ||
    kubeletMinor === undefined ||
    major !== kubeletMajor ||
    minor === undefined
  )
    return 'unknown';
  if (kubeletMinor > minor) return 'kubelet-too-new';
  return minor - kubeletMinor > maxMinorsBehind ? 'kubelet-too-old' : 'supported';
}

/** Some providers append a plus sign: `34+`. */
function numberOf(value: unknown): number | undefined {
  const digits = typeof value === 'string' ? /^\d{1,4}/.exec(value)?.[0] : undefined;
  return digits === undefined ? undefined : Number(digits);
}

// The version this kubelet reports: that of the kubelet it stands in for, and ours after the plus.
// A test holds it against package.json.

export const upstreamVersion = 'v1.34.11';
const ourVersion = '0.1.0';
export const kubeletVersion = `${upstreamVersion}+ts.${ourVersion}`;

const [major = '', minor = ''] = upstreamVersion.slice(1).split('.');

/** The minor version whose behaviour this kubelet has, as /statusz shows it. */
export const emulationVersion = `${major}.${minor}`;

export const versionNumbers = { major: Number(major), minor: Number(minor) } as const;

/** What --version=raw prints: the fields people grep for, in the form they know. */
export function rawVersion(reported: string): string {
  return `version.Info{Major:"${major}", Minor:"${minor}", GitVersion:"${reported}", Compiler:"node"}`;
}

/** --version=v… may change what is reported, but not what it is compatible with. */
export function isReportableVersion(text: string): boolean {
  const semantic = /^(v[0-9]+\.[0-9]+\.[0-9]+)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/.exec(text);
  return semantic !== null && semantic[1] === upstreamVersion;
}

// The version that this kubelet reports: that of the upstream kubelet it replaces, and its own after the plus.
// A test compares it with package.json.
import { kubernetesRelease } from '../api/k8s/release.ts';

export const upstreamVersion = kubernetesRelease;
const ownVersion = '0.1.0';
export const kubeletVersion = `${upstreamVersion}+ts.${ownVersion}`;

const [major = '', minor = ''] = upstreamVersion.slice(1).split('.');

/** The minor version whose behaviour this kubelet has, as /statusz shows it. */
export const emulationVersion = `${major}.${minor}`;

export const versionNumbers = { major: Number(major), minor: Number(minor) } as const;

/** The output of --version=raw, in upstream's format. */
export function rawVersion(reported: string): string {
  return `version.Info{Major:"${major}", Minor:"${minor}", GitVersion:"${reported}", Compiler:"node"}`;
}

/** --version=v… may change the reported version, but not its major, minor and patch number. */
export function isReportableVersion(text: string): boolean {
  const semantic = /^(v[0-9]+\.[0-9]+\.[0-9]+)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/.exec(text);
  return semantic !== null && semantic[1] === upstreamVersion;
}

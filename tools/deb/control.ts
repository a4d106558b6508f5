// The control files of the package. Pure. Reference: deb-control(5), Debian Policy 5.
// Invariant: the package satisfies a dependency on `kubelet` of the release that it replaces, and never coexists with it.
import { kubeletVersion, upstreamVersion } from '../../src/config/version.ts';

export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

export const packageName = 'kubelet-ts';
const maintainer = 'kubelet-ts maintainers <kubelet-ts@users.noreply.github.com>';

/**
 * The Debian version: 1.37.0+ts.0.1.0-1. It grows with the Kubernetes release, with the version of this project, and with
 * `revision`, which counts packages of the same sources. A pre-release sorts before its release.
 */
export function packageVersion(revision: string, version = kubeletVersion): string {
  if (!/^[1-9][0-9]{0,8}$/.test(revision))
    throw new Error(`the revision is not a positive number: ${revision}`);
  return `${version.replace(/^v/, '').replaceAll('-', '~')}-${revision}`;
}

interface ControlInput {
  readonly architecture: Architecture;
  readonly version: string;
  readonly installedKiB: number;
}

/** The changelog of the package itself; that of the project is beside it. Reference: Debian Policy 4.4. */
export function debianChangelog(version: string, sourceDateEpoch: number): string {
  const date = new Date(sourceDateEpoch * 1000).toUTCString().replace('GMT', '+0000');
  return [
    `${packageName} (${version}) unstable; urgency=medium`,
    '',
    '  * See changelog.gz for the changes of the project.',
    '',
    ` -- ${maintainer}  ${date}`,
    '',
  ].join('\n');
}

export function controlFile({ architecture, version, installedKiB }: ControlInput): string {
  const fields: Readonly<Record<string, string>> = {
    Package: packageName,
    Version: version,
    Architecture: architecture,
    Maintainer: maintainer,
    'Installed-Size': String(installedKiB),
    // What the binaries of Node.js and koffi are linked to, and the programs that mount volumes.
    Depends: 'libc6 (>= 2.28), libgcc-s1 | libgcc1, libstdc++6 (>= 7), mount',
    // Those of the Go kubelet's package, which also keeps apt from removing what it had installed, and what pods use.
    Recommends: [
      'iptables (>= 1.8.4)',
      'kubernetes-cni | containernetworking-plugins',
      'systemd',
      'dbus',
      'iproute2',
      'conntrack',
      'ethtool',
      'socat',
    ].join(', '),
    Suggests: 'containerd | containerd.io | cri-o, nfs-common',
    Provides: `kubelet (= ${upstreamVersion.slice(1)})`,
    Conflicts: 'kubelet',
    Replaces: 'kubelet',
    Section: 'net',
    Priority: 'optional',
    Homepage: 'https://github.com/kubelet-ts/kubelet-ts',
    Description: [
      'node agent of Kubernetes, in TypeScript',
      ` A drop-in for the Go kubelet ${upstreamVersion} with the same flags, configuration,`,
      ' paths and unit name.',
      ' It adopts the running pods of the kubelet that it replaces.',
      ' .',
      ' The package contains the Node.js that it runs on and uses no other.',
    ].join('\n'),
  };
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');
}

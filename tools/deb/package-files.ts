// The files of the package: where each comes from, and its mode. Pure but for listing folders.
// Paths are those of the packages of pkgs.k8s.io; what belongs to this project is below /usr/lib/kubelet-ts.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Architecture, packageName } from './control.ts';
import { npmArchitecture } from './dependencies.ts';

export interface PackageFile {
  /** In the package, without the leading slash. */
  readonly path: string;
  readonly source: { readonly file: string } | { readonly text: string | Uint8Array };
  readonly executable?: boolean;
}

interface FileInputs {
  readonly root: string;
  readonly architecture: Architecture;
  /** The unpacked npm packages of Node.js and of koffi's binary. */
  readonly node: string;
  readonly koffiBinary: string;
}

const home = `usr/lib/${packageName}`;

export const documentation = `usr/share/doc/${packageName}`;

/** Empty directories, as in upstream's package; dpkg removes them only while they are empty. */
export const emptyDirectories = ['var/lib/kubelet', 'etc/kubernetes/manifests'];

/** A change of the administrator survives upgrades. */
export const configurationFiles = ['/etc/default/kubelet'];

export function programFiles({ root, architecture, node, koffiBinary }: FileInputs): readonly PackageFile[] {
  const koffi = join(root, 'node_modules', 'koffi');
  const arch = npmArchitecture[architecture];
  const native = `linux_${arch}/koffi.node`;
  const binaryHome = `${home}/node_modules/@koromix/koffi-linux-${arch}`;
  return [
    {
      path: 'usr/bin/kubelet',
      source: { file: join(root, 'tools/deb/files/usr/bin/kubelet') },
      executable: true,
    },
    ...['usr/lib/systemd/system/kubelet.service', 'etc/default/kubelet'].map((path) => ({
      path,
      source: { file: join(root, 'tools/deb/files', path) },
    })),
    { path: `${home}/bin/kubelet`, source: { file: join(node, 'bin/node') }, executable: true },
    // Node does not read source maps unless a flag is set, and the bundle keeps its identifiers.
    ...filesBelow(join(root, 'dist/kubelet'))
      .filter((name) => !name.endsWith('.map'))
      .map((name) => ({
        path: `${home}/kubelet/${name}`,
        source: { file: join(root, 'dist/kubelet', name) },
      })),
    ...['package.json', 'index.js', 'src/koffi/index.js', 'src/koffi/src/static.js'].map((name) => ({
      path: `${home}/node_modules/koffi/${name}`,
      source: { file: join(koffi, name) },
    })),
    ...['package.json', 'index.js', native].map((name) => ({
      path: `${binaryHome}/${name}`,
      source: { file: join(koffiBinary, name) },
    })),
  ];
}

/** The relative paths of all files, sorted. */
export function filesBelow(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .toSorted();
}

// The hostPath plugin: checks the type of a path of the node and mounts it as is. Upstream: pkg/volume/hostpath.
// Invariant: it never removes anything and creates no directory below the pod's.
import type { FileKind, VolumeHost } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { pluginDefaults, type VolumePlugin } from '../plugin.ts';

type Check = (host: VolumeHost, path: string) => Promise<void>;

const is =
  (kind: FileKind, description: string): Check =>
  async (host, path) => {
    if ((await host.kindOf(path)) !== kind)
      throw new KubeletError(
        'invalid',
        'FailedMount',
        `hostPath type check failed: ${path} is not ${description}`,
      );
  };

const isDirectory = is('directory', 'a directory');
const isFile = is('file', 'a file');

const checks: Readonly<Record<string, Check>> = {
  '': () => Promise.resolve(),
  Directory: isDirectory,
  DirectoryOrCreate: async (host, path) => {
    if ((await host.kindOf(path)) === undefined) await host.makeDirectory(path, 0o755);
    else await isDirectory(host, path);
  },
  File: isFile,
  FileOrCreate: async (host, path) => {
    if ((await host.kindOf(path)) === undefined) await host.makeFile(path, 0o644);
    else await isFile(host, path);
  },
  Socket: is('socket', 'a socket file'),
  CharDevice: is('character-device', 'a character device'),
  BlockDevice: is('block-device', 'a block device'),
};

export function hostPathPlugin({ host }: { readonly host: VolumeHost }): VolumePlugin {
  return {
    ...pluginDefaults,
    name: 'kubernetes.io/host-path',
    canServe: ({ source }) => source.hostPath !== undefined,
    async setUp({ spec }) {
      const { path = '', type = '' } = spec.source.hostPath ?? {};
      if (path.split('/').includes('..'))
        throw new KubeletError(
          'invalid',
          'FailedMount',
          `invalid HostPath \`${path}\`: must not contain '..'`,
        );
      const check = Object.hasOwn(checks, type) ? checks[type] : undefined;
      if (check === undefined)
        throw new KubeletError('invalid', 'FailedMount', `${type} is an invalid volume type`);
      await check(host, path);
      return { location: { kind: 'path', path }, readOnly: spec.readOnly, managed: false };
    },
  };
}

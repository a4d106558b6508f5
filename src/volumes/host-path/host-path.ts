// hostPath: a path of the machine as it is, after a look at what it is. Upstream: pkg/volume/hostpath.
// Invariant: nothing of the machine is ever removed, and no directory of the kubelet's stands for it.
import type { FileKind, VolumeHost } from '../../api/ports/volume-host.ts';
import { KubeletError } from '../../base/errors.ts';
import { plainPlugin, type VolumePlugin } from '../plugin.ts';

type Check = (host: VolumeHost, path: string) => Promise<void>;

const is =
  (kind: FileKind, words: string): Check =>
  async (host, path) => {
    if ((await host.kindOf(path)) !== kind)
      throw new KubeletError('invalid', 'FailedMount', `hostPath type check failed: ${path} is not ${words}`);
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
    ...plainPlugin,
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
      return { place: { kind: 'path', path }, readOnly: spec.readOnly, managed: false };
    },
  };
}

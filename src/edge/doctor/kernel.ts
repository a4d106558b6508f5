// Kernel settings, file systems and modules, without loading or setting any.
import { access, constants, readFile } from 'node:fs/promises';
import { release } from 'node:os';

interface KernelState {
  readonly sysctls: Readonly<Record<string, string | undefined>>;
  readonly canWrite: boolean;
  readonly fileSystems: readonly string[];
  readonly loadable: readonly string[];
}

interface KernelQuery {
  /** By path below /proc/sys. */
  readonly sysctls: readonly string[];
  readonly modules: readonly string[];
}

export async function readKernel({ modules, sysctls }: KernelQuery): Promise<KernelState> {
  const values = await Promise.all(
    sysctls.map(async (name) => [name, await textOf(`/proc/sys/${name}`)] as const),
  );
  const writable = await Promise.all(
    values.filter(([, value]) => value !== undefined).map(([name]) => isWritable(`/proc/sys/${name}`)),
  );
  const lists = await Promise.all(
    ['modules.builtin', 'modules.dep'].map((name) => textOf(`/lib/modules/${release()}/${name}`)),
  );
  return {
    sysctls: Object.fromEntries(values),
    canWrite: writable.length > 0 && writable.every(Boolean),
    fileSystems: fileSystemsOf((await textOf('/proc/filesystems')) ?? ''),
    loadable: modules.filter((name) => lists.some((list) => hasModule(list ?? '', name))),
  };
}

export function fileSystemsOf(text: string): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.split('\t').at(-1)?.trim() ?? '')
    .filter((name) => name !== '');
}

/** In modules.builtin or modules.dep: kernel/fs/overlayfs/overlay.ko.xz: … */
export function hasModule(list: string, name: string): boolean {
  return list.split('\n').some((line) => {
    const [path = ''] = line.split(':', 1);
    const file = path.slice(path.lastIndexOf('/') + 1);
    return file.split('.', 1)[0]?.replaceAll('-', '_') === name.replaceAll('-', '_');
  });
}

async function textOf(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
}

async function isWritable(path: string): Promise<boolean> {
  return await access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}

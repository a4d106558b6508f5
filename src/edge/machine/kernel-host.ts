// Reads and writes sysctls and reads the swap table. Upstream: component-helpers/node/util/sysctl, pkg/kubelet/util/swap.
import { readFile, writeFile } from 'node:fs/promises';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';

const sysctls = '/proc/sys';
const swapTable = '/proc/swaps';

export const kernelHost = {
  /** `name` is the path below /proc/sys. */
  readSysctl: async (name: string): Promise<string> => {
    const path = `${sysctls}/${name}`;
    return await readFile(path, 'utf8').catch((err: unknown) => {
      throw hostError(err, `cannot read ${path}`, { path });
    });
  },

  writeSysctl: async (name: string, value: string): Promise<void> => {
    const path = `${sysctls}/${name}`;
    // A kernel file is neither created nor truncated.
    await writeFile(path, value, { flag: 'r+' }).catch((err: unknown) => {
      throw hostError(err, `cannot set ${path} to ${value}`, { path, value });
    });
  },

  /** The content of /proc/swaps; undefined if the kernel does not support swap. */
  swaps: async (): Promise<string | undefined> => {
    try {
      return await readFile(swapTable, 'utf8');
    } catch (err) {
      if (errorCode(err) === 'ENOENT') return undefined;
      throw hostError(err, `cannot read ${swapTable}`);
    }
  },
};

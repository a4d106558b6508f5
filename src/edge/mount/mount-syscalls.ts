// mount, umount2 and openat2, called through koffi in Node's thread pool. Invariants: koffi is loaded with the first call; a
// failed call throws a KubeletError whose reason is its errno; all paths are on local file systems, since a call that waits for
// a server would block a thread of the pool.
import { errnoError } from '../syscalls/syscalls-errors.ts';
import { type AsyncCall, type Koffi, loadPool } from '../volumes/pool-calls.ts';

interface MountCall {
  readonly source: string;
  readonly target: string;
  readonly fsType: string | null;
  readonly flags: number;
  readonly options: string | null;
}

export interface MountSyscalls {
  mount(call: MountCall): Promise<void>;
  /** Does not follow a link at the end of the path. */
  unmount(target: string): Promise<void>;
  /**
   * Opens a path below an open directory as O_PATH: no device, FIFO or server is accessed. The kernel rejects a path that
   * escapes the directory by `..` or a link, even one that is swapped in concurrently. The caller closes the descriptor.
   */
  openBeneath(directoryFd: number, path: string): Promise<number>;
  close(fd: number): void;
}

export const mountFlag = { readOnly: 1, bind: 0x1000, remount: 0x20, nodev: 4, nosuid: 2 } as const;

const noFollow = 8;
const openat2Number = 437;
const openPath = 0o10000000;
const closeOnExec = 0o2000000;
const resolveBeneath = 0x08;
const resolveNoMagicLinks = 0x02;
/** The kernel returns EAGAIN when a rename runs concurrently with the lookup. */
const attempts = 64;

function bind(koffi: Koffi) {
  const libc = koffi.load(null);
  return {
    mount: libc.func('mount', 'int', ['str', 'str', 'str', 'ulong', 'str']) as unknown as AsyncCall<
      [string, string, string | null, number, string | null]
    >,
    umount2: libc.func('umount2', 'int', ['str', 'int']) as unknown as AsyncCall<[string, number]>,
    openat2: libc.func('syscall', 'long', ['long', 'int', 'str', 'void *', 'size_t']) as unknown as AsyncCall<
      [number, number, string, BigUint64Array, number]
    >,
    // Node tracks the descriptors it opened, and warns when its own close() gets another one.
    close: libc.func('close', 'int', ['int']) as (fd: number) => number,
  };
}

export async function loadMountSyscalls(): Promise<MountSyscalls> {
  const { koffi, inPool } = await loadPool();
  const native = bind(koffi);
  return {
    mount: async ({ source, target, fsType, flags, options }) => {
      const result = await inPool(native.mount, source, target, fsType, flags, options);
      if (result < 0) throw errnoError(-result, `mount ${fsType ?? source} on ${target}`);
    },
    unmount: async (target) => {
      const result = await inPool(native.umount2, target, noFollow);
      if (result < 0) throw errnoError(-result, `unmount ${target}`);
    },
    openBeneath: async (directoryFd, path) => {
      const how = BigUint64Array.of(
        BigInt(openPath | closeOnExec),
        0n,
        BigInt(resolveBeneath | resolveNoMagicLinks),
      );
      const eagain = -11;
      let result = eagain;
      for (let attempt = 0; attempt < attempts && result === eagain; attempt++)
        result = await inPool(native.openat2, openat2Number, directoryFd, path, how, how.byteLength);
      if (result < 0) throw errnoError(-result, `open ${JSON.stringify(path)} in its volume`);
      return result;
    },
    close: (fd) => void native.close(fd),
  };
}

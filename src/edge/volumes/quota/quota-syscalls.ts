// The kernel's project quotas: FS_IOC_FSGETXATTR and FS_IOC_FSSETXATTR, quotactl_fd, called through koffi in Node's thread pool.
// Invariants: every call takes a descriptor that the caller has opened, never a path or a device; a failed call throws a
// KubeletError whose reason is its errno. Numbers and structures: linux/fs.h, linux/quota.h, linux/dqblk_xfs.h.
import type { DiskUsage } from '../../../api/ports/volume-host.ts';
import { errnoError } from '../../syscalls/syscalls-errors.ts';
import { type AsyncCall, type Koffi, loadPool } from '../pool-calls.ts';

/** Each call takes the descriptor of an open directory, and concerns it or its file system. */
export interface QuotaSyscalls {
  /** Whether project quota accounting is enabled on the file system. */
  isCounting(fd: number): Promise<boolean>;
  /** 0: no project. */
  projectOf(fd: number): Promise<number>;
  /** Sets the project of the directory, which new entries inherit. */
  setProject(fd: number, project: number): Promise<void>;
  counted(fd: number, project: number): Promise<Omit<DiskUsage, 'source'>>;
  /** Clears the space limits of a project. */
  clearLimits(fd: number, project: number): Promise<void>;
}

const getAttributes = 0x80_1c_58_1f;
const setAttributes = 0x40_1c_58_20;
const inheritProject = 0x200;
/** In 32-bit words: flags, extent size, extents, project, and unused fields. */
const attributeWords = 7;
const projectWord = 3;

const quotactlFdNumber = 443;
const ofProjects = 2;
const command = (name: number): number => (name << 8) | ofProjects;
const getState = command((0x58 << 8) + 5);
const getQuota = command(0x80_00_07);
const setQuota = command(0x80_00_08);
const projectAccounting = 1 << 4;
/** In 64-bit words: two space limits, the space; two inode limits, the inodes; two times; a mask of valid fields. */
const quotaWords = 9;
const spaceWord = 2;
const inodesWord = 5;
const validHalfWord = 16;
const spaceLimitsValid = 1;

/** Errors of a kernel or file system without quotas, and of a project without usage. */
const noQuotas = new Set(['ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL', 'ESRCH', 'ENOTTY']);
const noUsage = new Set(['ENOENT']);

function bind(koffi: Koffi) {
  const libc = koffi.load(null);
  return {
    ioctl: libc.func('ioctl', 'int', ['int', 'ulong', 'void *']) as unknown as AsyncCall<
      [number, number, Uint32Array]
    >,
    quotactlFd: libc.func('syscall', 'long', [
      'long',
      'uint',
      'uint',
      'uint32',
      'void *',
    ]) as unknown as AsyncCall<[number, number, number, number, ArrayBufferView]>,
  };
}

export async function loadQuotaSyscalls(): Promise<QuotaSyscalls> {
  const { koffi, inPool } = await loadPool();
  const native = bind(koffi);
  const attributes = async (fd: number): Promise<Uint32Array> => {
    const words = new Uint32Array(attributeWords);
    check(await inPool(native.ioctl, fd, getAttributes, words), 'read the project of a directory');
    return words;
  };
  /** Returns the errno's name if it is expected. */
  const quotactl = async (
    call: readonly [name: number, project: number, data: ArrayBufferView],
    what: string,
    fd: number,
    expected: ReadonlySet<string>,
  ): Promise<string | undefined> => {
    const result = await inPool(native.quotactlFd, quotactlFdNumber, fd, ...call);
    if (result >= 0) return undefined;
    const err = errnoError(-result, what);
    if (expected.has(err.reason)) return err.reason;
    throw err;
  };
  return {
    isCounting: async (fd) => {
      const state = new Uint16Array(64);
      const unsupported = await quotactl([getState, 0, state], 'read the quota state', fd, noQuotas);
      return unsupported === undefined && ((state[1] ?? 0) & projectAccounting) !== 0;
    },
    projectOf: async (fd) => (await attributes(fd))[projectWord] ?? 0,
    setProject: async (fd, project) => {
      const words = await attributes(fd);
      words[0] = (words[0] ?? 0) | inheritProject;
      words[projectWord] = project;
      check(await inPool(native.ioctl, fd, setAttributes, words), `set project ${project} of a directory`);
    },
    counted: async (fd, project) => {
      const words = new BigUint64Array(quotaWords);
      const what = `read the usage of project ${project}`;
      if ((await quotactl([getQuota, project, words], what, fd, noUsage)) !== undefined)
        return { bytes: 0, inodes: 0 };
      return { bytes: Number(words[spaceWord]), inodes: Number(words[inodesWord]) };
    },
    clearLimits: async (fd, project) => {
      const words = new BigUint64Array(quotaWords);
      new Uint32Array(words.buffer)[validHalfWord] = spaceLimitsValid;
      await quotactl([setQuota, project, words], `clear the limits of project ${project}`, fd, noUsage);
    },
  };
}

function check(result: number, what: string): void {
  if (result < 0) throw errnoError(-result, what);
}

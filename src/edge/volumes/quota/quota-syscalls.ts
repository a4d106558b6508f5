// The kernel's project quotas: FS_IOC_FSGETXATTR and FS_IOC_FSSETXATTR, quotactl_fd, called through koffi in Node's thread pool.
// Invariants: everything goes through a descriptor the caller has opened, never a path or a device; a refused call throws a
// KubeletError named after its errno. Numbers and structures: linux/fs.h, linux/quota.h, linux/dqblk_xfs.h.
import type { DiskUsage } from '../../../api/ports/volume-host.ts';
import { errnoError } from '../../syscalls/syscalls-errors.ts';
import { type AsyncCall, type Koffi, loadPool } from '../pool-calls.ts';

/** Each of an open directory: of itself, or of the file system it lies on. */
export interface QuotaSyscalls {
  /** Whether the file system counts what each project holds. */
  isCounting(fd: number): Promise<boolean>;
  /** 0: of no project. */
  projectOf(fd: number): Promise<number>;
  /** Puts the directory into a project, and with it whatever is made in it from now on. */
  setProject(fd: number, project: number): Promise<void>;
  counted(fd: number, project: number): Promise<Omit<DiskUsage, 'source'>>;
  /** Takes away the limits that somebody set on a project's space. */
  clearLimits(fd: number, project: number): Promise<void>;
}

const getAttributes = 0x80_1c_58_1f;
const setAttributes = 0x40_1c_58_20;
const inheritProject = 0x200;
/** In 32-bit words: flags, extent size, extents, project, and what is not used here. */
const attributeWords = 7;
const projectWord = 3;

const quotactlFdNumber = 443;
const ofProjects = 2;
const command = (name: number): number => (name << 8) | ofProjects;
const getState = command((0x58 << 8) + 5);
const getQuota = command(0x80_00_07);
const setQuota = command(0x80_00_08);
const countsProjects = 1 << 4;
/** In 64-bit words: two limits of space, the space; two limits of inodes, the inodes; two times; which of them are valid. */
const quotaWords = 9;
const spaceWord = 2;
const inodesWord = 5;
const validHalfWord = 16;
const spaceLimitsValid = 1;

/** What the kernel says where it has no quotas at all, none of this file system, or none of a project so far. */
const noQuotas = new Set(['ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EINVAL', 'ESRCH', 'ENOTTY']);
const nothingCounted = new Set(['ENOENT']);

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
    check(await inPool(native.ioctl, fd, getAttributes, words), 'ask for the project of a directory');
    return words;
  };
  /** Gives the errno's name when it is one of these. */
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
      const refused = await quotactl([getState, 0, state], 'ask for quotas', fd, noQuotas);
      return refused === undefined && ((state[1] ?? 0) & countsProjects) !== 0;
    },
    projectOf: async (fd) => (await attributes(fd))[projectWord] ?? 0,
    setProject: async (fd, project) => {
      const words = await attributes(fd);
      words[0] = (words[0] ?? 0) | inheritProject;
      words[projectWord] = project;
      check(await inPool(native.ioctl, fd, setAttributes, words), `put a directory into project ${project}`);
    },
    counted: async (fd, project) => {
      const words = new BigUint64Array(quotaWords);
      const what = `ask what project ${project} holds`;
      if ((await quotactl([getQuota, project, words], what, fd, nothingCounted)) !== undefined)
        return { bytes: 0, inodes: 0 };
      return { bytes: Number(words[spaceWord]), inodes: Number(words[inodesWord]) };
    },
    clearLimits: async (fd, project) => {
      const words = new BigUint64Array(quotaWords);
      new Uint32Array(words.buffer)[validHalfWord] = spaceLimitsValid;
      await quotactl(
        [setQuota, project, words],
        `clear the limits of project ${project}`,
        fd,
        nothingCounted,
      );
    },
  };
}

function check(result: number, what: string): void {
  if (result < 0) throw errnoError(-result, what);
}

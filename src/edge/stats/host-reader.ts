// Reads the resource usage of the machine and its processes. Upstream: cadvisor's machine, fs and libcontainer packages and
// pkg/kubelet/stats/pidlimit. Holds no state but the calls in flight. Invariant: a process that ends during the read yields empty
// values, not an error.
import { lstat, readdir } from 'node:fs/promises';
import type {
  CpuTopology,
  DeviceFileSystem,
  FileSystemRoom,
  FilesUsage,
  InterfaceUsage,
  ProcessDetails,
  TaskCounts,
} from '../../api/ports/host-usage.ts';
import type { FileSystemSpace } from '../../api/ports/volume-host.ts';
import { readMachineTopology } from '../machine/machine-topology.ts';
import { errorCode } from '../syscalls/syscalls-errors.ts';
import { fileSystemSpace } from '../volumes/usage/usage.ts';
import { parseDisks } from './disk-names.ts';
import { FileSystemRooms } from './file-system-rooms.ts';
import { defaultInterface, parseInterfaces } from './interfaces.ts';
import type { KernelFiles } from './kernel-files.ts';
import { deviceMounts } from './mounted-devices.ts';

const blockBytes = 512;
/** Descriptors per process that are checked for being a socket. Sockets beyond are not counted. */
const maxLinks = 10_000;

interface HostReaderOptions {
  readonly files: KernelFiles;
  /** The mount point of procfs. */
  readonly proc?: string;
}

export class HostReader {
  readonly #files: KernelFiles;
  readonly #proc: string;
  readonly #rooms = new FileSystemRooms();

  constructor({ files, proc = '/proc' }: HostReaderOptions) {
    this.#files = files;
    this.#proc = proc;
  }

  /** The interfaces of a process's network namespace; without a PID, of the host. */
  interfaces(pid?: number): readonly InterfaceUsage[] {
    return parseInterfaces(this.#files.text(`${this.#proc}/${pid ?? 'self'}/net/dev`) ?? '');
  }

  /** The interface of the default route. */
  defaultInterface(): string | undefined {
    return defaultInterface(this.#files.text(`${this.#proc}/net/route`) ?? '');
  }

  tasks(): TaskCounts {
    const bounds = ['pid_max', 'threads-max'].flatMap(
      (name) => this.#files.number(`${this.#proc}/sys/kernel/${name}`) ?? [],
    );
    const current = /\/(\d+) \d+\s*$/.exec(this.#files.text(`${this.#proc}/loadavg`) ?? '')?.[1];
    return {
      max: bounds.length === 0 ? undefined : Math.min(...bounds),
      current: current === undefined ? undefined : Number(current),
    };
  }

  processDetails(pid: number): ProcessDetails {
    const directory = `${this.#proc}/${pid}/fd`;
    const names = this.#files.names(directory);
    const isSocket = (name: string): boolean =>
      this.#files.link(`${directory}/${name}`)?.startsWith('socket:') === true;
    return { descriptors: names.length, sockets: names.slice(0, maxLinks).filter(isSocket).length };
  }

  /** The cgroup of this process; undefined if its cpu and memory controllers differ. */
  ownCgroup(version: 1 | 2): string | undefined {
    const text = this.#files.text(`${this.#proc}/self/cgroup`) ?? '';
    const pathOf = (controller: string): string | undefined =>
      text
        .split('\n')
        .map((line) => line.split(':'))
        .find(([, controllers]) => controllers?.split(',').includes(controller))?.[2];
    if (version === 2) return pathOf('');
    const cpu = pathOf('cpu');
    return cpu === pathOf('memory') ? cpu : undefined;
  }

  async topology(): Promise<CpuTopology> {
    const { cores, sockets, threads } = await readMachineTopology();
    return { cores: threads, physicalCores: cores, sockets };
  }

  space(path: string): Promise<FileSystemSpace> {
    return this.#rooms.room(path);
  }

  room(path: string): Promise<FileSystemRoom> {
    return this.#rooms.room(path);
  }

  /** The kernel's own estimate, MemAvailable. */
  availableMemoryBytes(): number | undefined {
    const text = this.#files.text(`${this.#proc}/meminfo`) ?? '';
    const kilobytes = /^MemAvailable:\s+(\d+) kB$/m.exec(text)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  }

  /** Each device once, even if it is mounted several times. */
  async deviceFileSystems(): Promise<readonly DeviceFileSystem[]> {
    const disks = parseDisks(this.#files.text(`${this.#proc}/diskstats`) ?? '');
    const mounts = deviceMounts(this.#files.text(`${this.#proc}/self/mountinfo`) ?? '');
    const found = await Promise.all(
      mounts.map(async ({ device, numbers, mountPoint }) => {
        const space = await fileSystemSpace(mountPoint).catch(() => undefined);
        if (space === undefined) return [];
        const { capacityBytes, usedBytes, inodes, inodesFree } = space;
        const disk = disks.find((each) => each.numbers === numbers)?.counters;
        return [{ device, capacityBytes, usedBytes, inodes, inodesFree, disk }];
      }),
    );
    return found.flat();
  }

  /** The usage of the files directly in a directory; undefined if it does not exist. */
  async filesIn(directory: string): Promise<FilesUsage | undefined> {
    try {
      const entries = await readdir(directory, { withFileTypes: true });
      const stats = await Promise.all(
        entries
          .filter((entry) => !entry.isDirectory())
          .map(({ name }) => lstat(`${directory}/${name}`).catch(() => undefined)),
      );
      const existing = stats.filter((stat) => stat !== undefined);
      return {
        bytes: existing.reduce((sum, { blocks }) => sum + blocks * blockBytes, 0),
        inodes: existing.length,
      };
    } catch (err) {
      if (errorCode(err) === 'ENOENT') return undefined;
      throw err;
    }
  }

  /** The usage of one file; undefined if it does not exist. */
  async file(path: string): Promise<FilesUsage | undefined> {
    try {
      return { bytes: (await lstat(path)).blocks * blockBytes, inodes: 1 };
    } catch (err) {
      if (errorCode(err) === 'ENOENT') return undefined;
      throw err;
    }
  }

  /** The soft limit of open files; -1 if unlimited, undefined if unknown. */
  softOpenFiles(pid: number): number | undefined {
    const limits = this.#files.text(`${this.#proc}/${pid}/limits`) ?? '';
    const soft = /^Max open files\s+(\S+)/m.exec(limits)?.[1];
    if (soft === undefined) return undefined;
    return soft === 'unlimited' ? -1 : Number(soft);
  }
}

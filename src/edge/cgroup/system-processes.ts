// Reads and changes the cgroups of processes outside pods. Paths are spelled as in cgroupfs, whatever the driver.
// Upstream: createManager, getContainer, isKernelPid and isProcessRunningInHost in
// pkg/kubelet/cm/container_manager_linux.go. Invariant: a process is moved in every hierarchy, or the error names the failed one.
import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { settleAll } from '../../base/abort/settle-all.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';
import { writeCgroupFile } from './cgroup-files.ts';
import { cgroupfsSpelling } from './cgroup-spelling.ts';
import { CgroupFs, type CgroupFsOptions } from './cgroups.ts';

export interface SystemProcesses {
  /** Creates the cgroup if it does not exist. */
  create(path: string): Promise<void>;
  /** The cgroup must exist. */
  move(pid: number, path: string): Promise<void>;
  /** Processes in the root cgroup itself, not in its descendants. */
  inRoot(): Promise<readonly number[]>;
  /** Kernel threads have no executable. */
  isKernelThread(pid: number): Promise<boolean>;
  /** Whether it shares the PID namespace of PID 1, that is, does not run in a container. */
  isOnHost(pid: number): Promise<boolean>;
  /** Throws on v1 if the cpu and memory hierarchies differ. */
  cgroupOf(pid: number): Promise<string>;
}

/** PROC_PID_INIT_INO of the kernel. */
const initialNamespace = 'pid:[4026531836]';

export function systemProcesses(
  options: Omit<CgroupFsOptions, 'spelling'> & { readonly proc?: string },
): SystemProcesses {
  const { hierarchies, proc = '/proc' } = options;
  const cgroups = new CgroupFs({ ...options, spelling: cgroupfsSpelling });
  // On v1 without systemd's own hierarchy, which has no controllers.
  const roots =
    hierarchies.version === 2 ? [hierarchies.root] : [...new Set(hierarchies.mountPoints.values())];
  const link = (pid: number | string, name: string): Promise<string> => readlink(join(proc, `${pid}`, name));
  return {
    create: (path) => cgroups.create(cgroups.nameOf(path), {}),
    move: async (pid, path) => {
      await settleAll(roots.map((root) => writeCgroupFile(join(root, path, 'cgroup.procs'), `${pid}`)));
    },
    inRoot: async () => {
      const root = hierarchies.version === 2 ? hierarchies.root : hierarchies.mountPoints.get('devices');
      if (root === undefined)
        throw new KubeletError('unavailable', 'NoController', 'cgroup controller devices is not mounted');
      const text = await readFile(join(root, 'cgroup.procs'), 'utf8');
      return text
        .split('\n')
        .filter((word) => /^[1-9]\d*$/.test(word))
        .map(Number);
    },
    isKernelThread: async (pid) =>
      await link(pid, 'exe').then(
        () => false,
        (err: unknown) => errorCode(err) === 'ENOENT',
      ),
    isOnHost: async (pid) => {
      // differs from upstream: if PID 1 may not be inspected, the inode number of the initial namespace is compared instead.
      const first = link(1, 'ns/pid').catch(() => initialNamespace);
      const own = link(pid, 'ns/pid');
      return (await first) === (await own);
    },
    cgroupOf: async (pid) => {
      const path = join(proc, `${pid}`, 'cgroup');
      const text = await readFile(path, 'utf8').catch((err: unknown) => {
        throw hostError(err, `cannot read ${path}`);
      });
      return cgroupIn(text, hierarchies.version);
    },
  };
}

/** Parses /proc/PID/cgroup. On v1 with systemd, its own hierarchy wins. */
export function cgroupIn(text: string, version: 1 | 2): string {
  const pathByController = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const each of controllers.split(',')) pathByController.set(each, path);
  }
  const need = (name: string): string => {
    const found = pathByController.get(name);
    if (found === undefined)
      throw new KubeletError(
        'not-found',
        'CgroupMissing',
        `in no cgroup of ${name || 'the unified hierarchy'}`,
      );
    return found;
  };
  if (version === 2) return need('');
  const [cpu, memory] = [need('cpu'), need('memory')];
  if (cpu !== memory)
    throw new KubeletError(
      'invalid',
      'CgroupMismatch',
      `cpu and memory cgroup hierarchy not unified.  cpu: ${cpu}, memory: ${memory}`,
    );
  return pathByController.get('name=systemd') ?? cpu;
}

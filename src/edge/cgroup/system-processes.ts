// Which processes are in which control group, and moving them: for what runs beside pods. Paths are those of the kernel,
// whatever the driver. Upstream: createManager, getContainer, isKernelPid and isProcessRunningInHost in
// pkg/kubelet/cm/container_manager_linux.go. Invariant: a process is moved in every hierarchy, or it is told where not.
import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { settleAll } from '../../base/abort/settle-all.ts';
import { KubeletError } from '../../base/errors.ts';
import { errorCode, hostError } from '../syscalls/syscalls-errors.ts';
import { writeCgroupFile } from './cgroup-files.ts';
import { cgroupfsSpelling } from './cgroup-spelling.ts';
import { CgroupFs, type CgroupFsOptions } from './cgroups.ts';

export interface SystemProcesses {
  /** Makes the cgroup where it is missing. */
  make(path: string): Promise<void>;
  /** Into this cgroup, which is there. */
  move(pid: number, path: string): Promise<void>;
  /** Those in the top itself, not below it. */
  inRoot(): Promise<readonly number[]>;
  /** Threads of the kernel have no program. */
  isKernelThread(pid: number): Promise<boolean>;
  /** Whether it sees the same processes as the first one does: what runs in a container is left alone. */
  isOnHost(pid: number): Promise<boolean>;
  /** Throws where cpu and memory disagree. */
  cgroupOf(pid: number): Promise<string>;
}

/** PROC_PID_INIT_INO of the kernel. */
const initialNamespace = 'pid:[4026531836]';

export function systemProcesses(
  options: Omit<CgroupFsOptions, 'spelling'> & { readonly proc?: string },
): SystemProcesses {
  const { hierarchies, proc = '/proc' } = options;
  const cgroups = new CgroupFs({ ...options, spelling: cgroupfsSpelling });
  // A hierarchy beside v1 without controllers is systemd's own.
  const roots =
    hierarchies.version === 2 ? [hierarchies.root] : [...new Set(hierarchies.mountPoints.values())];
  const link = (pid: number | string, name: string): Promise<string> => readlink(join(proc, `${pid}`, name));
  return {
    make: (path) => cgroups.create(cgroups.nameOf(path), {}),
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
      // differs from upstream: where the first process may not be looked at, the machine's own namespace is known by number.
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

/** Of the lines of /proc/PID/cgroup; under systemd its own hierarchy tells best. */
export function cgroupIn(text: string, version: 1 | 2): string {
  const places = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const each of controllers.split(',')) places.set(each, path);
  }
  const need = (name: string): string => {
    const found = places.get(name);
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
  return places.get('name=systemd') ?? cpu;
}

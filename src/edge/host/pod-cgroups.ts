// Removes the cgroups that pods leave behind, on cgroup v1, v2 and both at once. Upstream: pod_container_manager_linux.go Destroy.
// Invariant: only directories without processes go away; a busy one is an error to try again, never a kill. Killing is
// asked for apart, for one container whose runtime has lost sight of its process.
import { readdir, readFile, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { readMountTable } from './mount-table.ts';
import { isMissing } from './pod-files.ts';

export interface PodCgroupsOptions {
  /** Paths below a hierarchy's mount point where the pod's cgroup may be. */
  readonly paths: (uid: string) => readonly string[];
  /** Mount points of the hierarchies; read from the kernel once when absent. */
  readonly mounts?: () => Promise<readonly string[]>;
}

export class PodCgroups {
  readonly #options: PodCgroupsOptions;
  #mounts: Promise<readonly string[]> | undefined;

  constructor(options: PodCgroupsOptions) {
    this.#options = options;
  }

  async removePod(uid: string): Promise<void> {
    const paths = this.#options.paths(uid);
    for (const mount of await this.#mountPoints()) {
      for (const path of paths) await removeCgroup(join(mount, path));
    }
  }

  async killContainer(uid: string, containerId: string): Promise<void> {
    const names = containerNames(containerId);
    for (const mount of await this.#mountPoints()) {
      for (const path of this.#options.paths(uid)) {
        for (const name of names) await killProcessesIn(join(mount, path, name));
      }
    }
  }

  /** A reading that failed is not kept. */
  async #mountPoints(): Promise<readonly string[]> {
    this.#mounts ??= (this.#options.mounts ?? cgroupMounts)();
    try {
      return await this.#mounts;
    } catch (err) {
      this.#mounts = undefined;
      throw err;
    }
  }
}

/** How runtimes name a container's cgroup: plainly under cgroupfs, as a scope under systemd. */
function containerNames(containerId: string): readonly string[] {
  return [containerId, `cri-containerd-${containerId}.scope`, `crio-${containerId}.scope`];
}

async function killProcessesIn(path: string): Promise<void> {
  const text = await readFile(join(path, 'cgroup.procs'), 'utf8').catch(() => '');
  for (const pid of text.split('\n').map(Number)) {
    if (pid <= 1) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (err) {
      // Gone between the reading and the kill: that is what was wanted.
      if (!(err instanceof Error && 'code' in err && err.code === 'ESRCH')) throw err;
    }
  }
}

export async function cgroupMounts(): Promise<readonly string[]> {
  const mounts = await readMountTable();
  return mounts
    .filter(({ fsType }) => fsType === 'cgroup' || fsType === 'cgroup2')
    .map((each) => each.mountPoint);
}

/** Children first: the kernel refuses to remove a cgroup that has any. */
async function removeCgroup(path: string): Promise<void> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    for (const entry of entries) if (entry.isDirectory()) await removeCgroup(join(path, entry.name));
    await rmdir(path);
  } catch (err) {
    if (isMissing(err)) return;
    throw new KubeletError('conflict', 'CgroupBusy', `cannot remove cgroup ${path}`, { cause: err });
  }
}

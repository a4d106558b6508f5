// Makes a pod's own cgroup before its sandbox, removes it after its containers, and finds those that nobody wants.
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go. Holds no state. Invariant: processes are killed only in cgroups
// of pods that have ended.
import type { CgroupName, Cgroups } from '../api/cgroups.ts';
import type { Pod } from '../api/k8s.ts';
import { podUid } from '../api/pod-ref.ts';
import { podQosClass } from '../api/qos.ts';
import { KubeletError } from '../base/errors.ts';
import { type PodCgroupPolicy, podCgroupSettings } from './pod-cgroup-settings.ts';

export interface PodCgroupsDeps {
  readonly cgroups: Pick<
    Cgroups,
    'create' | 'missing' | 'processes' | 'remove' | 'children' | 'path' | 'nameOf'
  >;
  readonly processes: { kill(pid: number): void };
  /** The cgroup of all pods. */
  readonly root: CgroupName;
  readonly policy: PodCgroupPolicy;
}

const classes = { Guaranteed: [], Burstable: ['burstable'], BestEffort: ['besteffort'] } as const;
const prefix = 'pod';
const killTries = 5;

export class PodCgroups {
  readonly #deps: PodCgroupsDeps;

  constructor(deps: PodCgroupsDeps) {
    this.#deps = deps;
  }

  nameOf(pod: Pod): CgroupName {
    return [...this.#deps.root, ...classes[podQosClass(pod)], `${prefix}${podUid(pod)}`];
  }

  /** As the CRI is told. */
  parentOf(pod: Pod): string {
    return this.#deps.cgroups.path(this.nameOf(pod));
  }

  async ensure(pod: Pod): Promise<void> {
    const { cgroups, policy } = this.#deps;
    const name = this.nameOf(pod);
    if ((await cgroups.missing(name)) === undefined) return;
    await cgroups.create(name, podCgroupSettings(pod, policy));
  }

  /** Whatever class the pod had. What still runs in it is killed: its containers have ended. */
  async removePod(uid: string): Promise<void> {
    for (const name of this.#everyPlace(uid)) await this.#destroy(name);
  }

  /** Kills what runs in one container's own cgroup, of which its runtime has lost sight. */
  async killContainer(uid: string, containerId: string): Promise<void> {
    if (!/^[\w.-]+$/.test(containerId) || /^\.+$/.test(containerId))
      throw new KubeletError('invalid', 'InvalidPath', `${JSON.stringify(containerId)} is no container's ID`);
    for (const name of this.#everyPlace(uid)) {
      for (const own of [containerId, `cri-containerd-${containerId}.scope`, `crio-${containerId}.scope`])
        await this.#kill(name, own);
    }
  }

  /** UIDs of pods that have a cgroup. */
  async podsWithCgroups(): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const parents of Object.values(classes)) {
      for (const child of await this.#deps.cgroups.children([...this.#deps.root, ...parents])) {
        const last = child.at(-1) ?? '';
        if (last.startsWith(prefix) && last.length > prefix.length) found.add(last.slice(prefix.length));
      }
    }
    return found;
  }

  async #destroy(name: CgroupName): Promise<void> {
    await this.#kill(name);
    await this.#deps.cgroups.remove(name);
  }

  async #kill(name: CgroupName, child?: string): Promise<void> {
    const { cgroups, processes } = this.#deps;
    // What is killed may have made others meanwhile.
    for (let attempt = 0; attempt < killTries; attempt++) {
      const pids = await cgroups.processes(name, child);
      if (pids.length === 0) return;
      for (const pid of pids) processes.kill(pid);
    }
  }

  #everyPlace(uid: string): readonly CgroupName[] {
    if (uid === '' || /[/\0]/.test(uid))
      throw new KubeletError(
        'invalid',
        'InvalidPath',
        `${JSON.stringify(uid)} cannot be part of a cgroup's name`,
      );
    return Object.values(classes).map((parents) => [...this.#deps.root, ...parents, `${prefix}${uid}`]);
  }
}

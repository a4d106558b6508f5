// Makes a pod's own cgroup before its sandbox, removes it after its containers, and finds those that nobody wants.
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go. What it remembers only saves it from looking: the kernel is asked
// for what it does not know. Invariant: processes are killed only in cgroups of pods that have ended.

import type { Pod } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import type { CgroupName, CgroupSettings, Cgroups } from '../../api/ports/cgroups.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { type PodCgroupPolicy, podCgroupSettings } from './pod-cgroup-settings.ts';

interface PodCgroupsDeps {
  readonly cgroups: Pick<
    Cgroups,
    | 'begin'
    | 'update'
    | 'kill'
    | 'remove'
    | 'removeIdle'
    | 'children'
    | 'path'
    | 'nameOf'
    | 'cpu'
    | 'memoryLimitBytes'
    | 'memoryUsageBytes'
  >;
  /** The cgroup of all pods. */
  readonly root: CgroupName;
  readonly policy: PodCgroupPolicy;
}

const classes = { Guaranteed: [], Burstable: ['burstable'], BestEffort: ['besteffort'] } as const;
const prefix = 'pod';
const mostGone = 256;
/** As cgroup v1 tells that there is no limit: the largest whole number of pages. */
const unlimitedFrom = 2n ** 62n;

type PodAmounts = Pick<CgroupSettings, 'cpuShares' | 'cpuQuotaUs' | 'cpuPeriodUs' | 'memoryLimitBytes'>;

export class PodCgroups {
  readonly #deps: PodCgroupsDeps;
  /** Of pods that were given one in this life: nowhere else has to be looked for theirs. */
  readonly #made = new Map<string, CgroupName>();
  /** Pods whose cgroup was removed a short while ago, the latest last. */
  readonly #gone = new Set<string>();

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

  /**
   * differs from upstream: one that is there gets its amounts again, since a kubelet may have ended between making it and
   * telling it.
   */
  async ensure(pod: Pod): Promise<void> {
    const { cgroups, policy } = this.#deps;
    const name = this.nameOf(pod);
    try {
      this.#made.set(podUid(pod), name);
      this.#gone.delete(podUid(pod));
      await cgroups.begin(name, podCgroupSettings(pod, policy));
    } catch (err) {
      const kind = err instanceof KubeletError ? err.kind : 'internal';
      const message = `failed to create container for [${name.join(' ')}] : ${describeError(err)}`;
      throw new KubeletError(kind, 'FailedCreatePodContainer', message);
    }
  }

  /** What of its settings a resize can change. */
  wanted(pod: Pod): PodAmounts {
    const all = podCgroupSettings(pod, this.#deps.policy);
    const { cpuPeriodUs, cpuQuotaUs, cpuShares, memoryLimitBytes } = all;
    return {
      ...(cpuShares === undefined ? {} : { cpuShares }),
      ...(cpuQuotaUs === undefined ? {} : { cpuQuotaUs }),
      ...(cpuPeriodUs === undefined ? {} : { cpuPeriodUs }),
      ...(memoryLimitBytes === undefined ? {} : { memoryLimitBytes }),
    };
  }

  /** The same as the kernel has it; -1: no limit. */
  async amounts(pod: Pod): Promise<PodAmounts> {
    const { cgroups } = this.#deps;
    const name = this.nameOf(pod);
    const limit = await cgroups.memoryLimitBytes(name);
    return { ...(await cgroups.cpu(name)), memoryLimitBytes: limit > unlimitedFrom ? -1n : limit };
  }

  async set(pod: Pod, settings: CgroupSettings): Promise<void> {
    await this.#deps.cgroups.update(this.nameOf(pod), settings);
  }

  async memoryUsageBytes(pod: Pod): Promise<bigint> {
    return await this.#deps.cgroups.memoryUsageBytes(this.nameOf(pod));
  }

  /** Whatever class the pod had. What still runs in it is killed: its containers have ended. */
  async removePod(uid: string): Promise<void> {
    // A pod that has ended is cleaned first and removed later.
    if (this.#gone.has(uid)) return;
    const made = this.#made.get(uid);
    const names = made === undefined ? this.#everyPlace(uid) : [made];
    await Promise.all(names.map((name) => this.#destroy(name)));
    this.#made.delete(uid);
    this.#gone.add(uid);
    const [oldest] = this.#gone;
    if (this.#gone.size > mostGone && oldest !== undefined) this.#gone.delete(oldest);
  }

  /** Kills what runs in one container's own cgroup, of which its runtime has lost sight. */
  async killContainer(uid: string, containerId: string): Promise<void> {
    if (!/^[\w.-]+$/.test(containerId) || /^\.+$/.test(containerId))
      throw new KubeletError('invalid', 'InvalidPath', `${JSON.stringify(containerId)} is no container's ID`);
    const spellings = [containerId, `cri-containerd-${containerId}.scope`, `crio-${containerId}.scope`];
    for (const name of this.#everyPlace(uid))
      for (const own of spellings) await this.#deps.cgroups.kill(name, own);
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
    // Somebody has made it again.
    for (const uid of found) this.#gone.delete(uid);
    return found;
  }

  async #destroy(name: CgroupName): Promise<void> {
    const { cgroups } = this.#deps;
    // As a rule nothing is left in it.
    if (await cgroups.removeIdle(name)) return;
    await cgroups.kill(name);
    await cgroups.remove(name);
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

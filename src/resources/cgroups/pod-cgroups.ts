// Creates a pod's cgroup before its sandbox, removes it after its containers, and lists the pods that have one.
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go. Its state is only a cache: after a restart it searches the cgroups.
// Invariant: processes are killed only in cgroups of pods that have ended.

import type { Pod } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import type { CgroupName, CgroupSettings, Cgroups } from '../../api/ports/cgroups.ts';
import type { ExclusiveResources } from '../../api/ports/exclusive-resources.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import {
  containerCgroupNames,
  podCgroupName,
  podCgroupParents,
  podUidOf,
  possiblePodCgroups,
} from './cgroup-names.ts';
import { type PodCgroupPolicy, podCgroupSettings } from './pod-cgroup-settings.ts';

interface PodCgroupsDeps {
  readonly cgroups: Pick<
    Cgroups,
    | 'version'
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
  /** Undefined: no container has CPUs of its own. */
  readonly exclusive?: Pick<ExclusiveResources, 'hasExclusiveCpus'>;
}

const maxRemoved = 256;

type PodAmounts = Pick<
  CgroupSettings,
  'cpuShares' | 'cpuQuotaUs' | 'cpuPeriodUs' | 'memoryLimitBytes' | 'unified'
>;

export class PodCgroups {
  readonly #deps: PodCgroupsDeps;
  /** Cgroups that this process created, by pod UID. Saves searching every QoS class on removal. */
  readonly #created = new Map<string, CgroupName>();
  /** The amounts last read, by pod UID. */
  readonly #readings = new Map<string, PodAmounts>();
  /** UIDs of pods whose cgroup was removed recently, the latest last. */
  readonly #removed = new Set<string>();

  constructor(deps: PodCgroupsDeps) {
    this.#deps = deps;
  }

  get version(): 1 | 2 {
    return this.#deps.cgroups.version;
  }

  nameOf(pod: Pod): CgroupName {
    return podCgroupName(this.#deps.root, podQosClass(pod), podUid(pod));
  }

  /** The cgroup parent for the CRI. */
  parentOf(pod: Pod): string {
    return this.#deps.cgroups.path(this.nameOf(pod));
  }

  /**
   * Creates the pod's cgroup with its settings.
   * differs from upstream: an existing one gets its settings again, since a kubelet may have been killed between creating it
   * and applying them.
   */
  async ensure(pod: Pod): Promise<void> {
    const { cgroups } = this.#deps;
    const name = this.nameOf(pod);
    try {
      this.#created.set(podUid(pod), name);
      this.#removed.delete(podUid(pod));
      await cgroups.begin(name, podCgroupSettings(pod, this.#policyOf(pod)));
    } catch (err) {
      const kind = err instanceof KubeletError ? err.kind : 'internal';
      const message = `failed to create container for [${name.join(' ')}] : ${describeError(err)}`;
      throw new KubeletError(kind, 'FailedCreatePodContainer', message);
    }
  }

  /** The exclusive CPUs of a container are all that it may use: a quota of the pod would only throttle it. */
  #policyOf(pod: Pod): PodCgroupPolicy {
    const { exclusive, policy } = this.#deps;
    const isExclusive = exclusive?.hasExclusiveCpus(podUid(pod)) === true;
    return isExclusive ? { ...policy, enforceCpuLimits: false } : policy;
  }

  /** The settings that a resize can change, as computed from the spec. */
  desiredAmounts(pod: Pod): PodAmounts {
    const all = podCgroupSettings(pod, this.#policyOf(pod));
    const { cpuPeriodUs, cpuQuotaUs, cpuShares, memoryLimitBytes, unified } = all;
    return {
      ...(cpuShares === undefined ? {} : { cpuShares }),
      ...(cpuQuotaUs === undefined ? {} : { cpuQuotaUs }),
      ...(cpuPeriodUs === undefined ? {} : { cpuPeriodUs }),
      ...(memoryLimitBytes === undefined ? {} : { memoryLimitBytes }),
      ...(unified === undefined ? {} : { unified }),
    };
  }

  /** The same settings as read from the kernel; -1 or a very large number for no limit. */
  async amounts(pod: Pod): Promise<PodAmounts> {
    const { cgroups } = this.#deps;
    const name = this.nameOf(pod);
    const [cpu, memoryLimitBytes] = await Promise.all([cgroups.cpu(name), cgroups.memoryLimitBytes(name)]);
    const amounts = { ...cpu, memoryLimitBytes };
    if (!this.#removed.has(podUid(pod))) this.#readings.set(podUid(pod), amounts);
    return amounts;
  }

  /** The settings as last read; undefined if never. */
  reading(uid: string): PodAmounts | undefined {
    return this.#readings.get(uid);
  }

  async set(pod: Pod, settings: CgroupSettings): Promise<void> {
    await this.#deps.cgroups.update(this.nameOf(pod), settings);
  }

  async memoryUsageBytes(pod: Pod): Promise<bigint> {
    return await this.#deps.cgroups.memoryUsageBytes(this.nameOf(pod));
  }

  /** Removes the pod's cgroup in any QoS class. Kills remaining processes: the pod's containers have ended. */
  async removePod(uid: string): Promise<void> {
    // Called twice per pod: when it has terminated and when its data is removed.
    if (this.#removed.has(uid)) return;
    const created = this.#created.get(uid);
    const names = created === undefined ? possiblePodCgroups(this.#deps.root, uid) : [created];
    await Promise.all(names.map((name) => this.#destroy(name)));
    this.#created.delete(uid);
    this.#readings.delete(uid);
    this.#removed.add(uid);
    const [oldest] = this.#removed;
    if (this.#removed.size > maxRemoved && oldest !== undefined) this.#removed.delete(oldest);
  }

  /** Kills the processes in a container's cgroup, for a container that the runtime has lost. */
  async killContainer(uid: string, containerId: string): Promise<void> {
    for (const name of possiblePodCgroups(this.#deps.root, uid))
      for (const own of containerCgroupNames(containerId)) await this.#deps.cgroups.kill(name, own);
  }

  /** UIDs of pods that have a cgroup. */
  async podsWithCgroups(): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const parent of podCgroupParents(this.#deps.root)) {
      for (const child of await this.#deps.cgroups.children(parent)) {
        const uid = podUidOf(child);
        if (uid !== undefined) found.add(uid);
      }
    }
    // Recreated after its removal, for example by the runtime.
    for (const uid of found) this.#removed.delete(uid);
    return found;
  }

  async #destroy(name: CgroupName): Promise<void> {
    const { cgroups } = this.#deps;
    // The usual case: no processes are left.
    if (await cgroups.removeIdle(name)) return;
    await cgroups.kill(name);
    await cgroups.remove(name);
  }
}

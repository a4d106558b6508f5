// Keeps the cgroups above those of pods: the one for all pods with what they may have together, the two classes below it,
// and those that were reserved for the system and for Kubernetes. Upstream: createNodeAllocatableCgroups,
// enforceNodeAllocatableCgroups and qos_container_manager_linux.go.
// Invariants: the classes are there before the first pod; what the kernel was told is not told again while it is the same,
// except once a minute, so that somebody else's change does not stay.

import type { Pod } from '../../api/k8s/types.ts';
import type { CgroupName, CgroupSettings, Cgroups } from '../../api/ports/cgroups.ts';
import type { EventSink } from '../../api/ports/events.ts';
import { milliCpuToShares } from '../../api/quantity/cpu-shares.ts';
import { amountOf, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { type Component, on } from '../../base/component.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import type { ReservedCgroup } from '../allocatable/node-budget.ts';
import { hugePages } from './pod-cgroup-settings.ts';
import { type QosPolicy, qosCgroupSettings } from './qos-cgroup-settings.ts';

/** What the configuration asks of the cgroups above pods. */
export interface NodeCgroupsPlan {
  /** The cgroup of all pods: `['kubepods']`. */
  readonly root: CgroupName;
  /** What pods may have together, processes included. */
  readonly limits: ResourceAmounts;
  readonly reserved: readonly ReservedCgroup[];
  /** Processors to name besides, as `0-3`; empty: none. */
  readonly cpus?: string;
  readonly policy: QosPolicy;
}

interface NodeCgroupsDeps {
  readonly cgroups: Pick<Cgroups, 'create' | 'update' | 'missing' | 'memoryUsageBytes' | 'path' | 'nameOf'>;
  readonly plan: NodeCgroupsPlan;
  /** Pods that were admitted and have not ended. */
  readonly pods: {
    all(): readonly Pod[];
    readonly changed: Subscribable<unknown>;
  };
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Logger;
}

const periodMs = 60_000;
/** Pods of a burst change the sums together. */
const coalesceMs = 100;
const retryMaxMs = 60_000;

type Task = 'limits' | 'classes';

export class NodeCgroups implements Component {
  readonly name = 'node-cgroups';
  readonly #deps: NodeCgroupsDeps;
  readonly #queue: KeyedQueue<Task>;
  /** By cgroup: what it was told last. */
  readonly #told = new Map<string, string>();
  #checkedAtMs = 0;

  constructor(deps: NodeCgroupsDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<Task>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: 1_000, maxMs: retryMaxMs },
      run: async (task) => await (task === 'limits' ? this.#enforceLimits() : this.#syncClasses()),
      onError: (task, err, retryInMs) => this.#onError(task, err, retryInMs),
    });
  }

  get wakes() {
    return [on(this.#deps.pods.changed, () => this.#queue.addAfter('classes', coalesceMs))];
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { cgroups, clock } = this.#deps;
    const { root } = this.#deps.plan;
    if ((await cgroups.missing(root)) !== undefined)
      await cgroups.create(root, this.#limits(this.#deps.plan.limits, false));
    for (const [name, settings] of this.#classes()) {
      if (name === root) continue;
      await cgroups.create(name, settings);
      this.#told.set(cgroups.path(name), textOf(settings));
    }
    this.#checkedAtMs = clock.monotonic();
    await this.#enforceReserved();
    this.#queue.start();
    this.#queue.add('limits');
    this.#queue.add('classes');
    return { stopped: this.#drain(signal) };
  }

  async #drain(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.#queue.stop();
  }

  /** Pods may use more than a smaller node has to give: eviction makes room, so it is tried until it is done. */
  async #enforceLimits(): Promise<void> {
    const { cgroups, events } = this.#deps;
    const { limits, root } = this.#deps.plan;
    await cgroups.update(root, this.#limits(limits, false));
    events.node({
      type: 'Normal',
      reason: 'NodeAllocatableEnforced',
      message: 'Updated Node Allocatable limit across pods',
    });
  }

  async #syncClasses(): Promise<void> {
    const { clock, log } = this.#deps;
    const nowMs = clock.monotonic();
    const again = nowMs - this.#checkedAtMs >= periodMs;
    for (const [name, settings] of this.#classes()) await this.#tell(name, settings, again);
    if (again) this.#checkedAtMs = nowMs;
    this.#queue.addAfter('classes', periodMs);
    log.v(4).info('Cgroups of the classes are right');
  }

  #classes(): readonly (readonly [CgroupName, CgroupSettings])[] {
    const { pods } = this.#deps;
    const { policy, root } = this.#deps.plan;
    const { bestEffort, burstable, guaranteed } = qosCgroupSettings(pods.all(), policy);
    return [
      [[...root, 'burstable'], burstable],
      [[...root, 'besteffort'], bestEffort],
      [root, guaranteed],
    ];
  }

  async #tell(name: CgroupName, settings: CgroupSettings, again: boolean): Promise<void> {
    const { cgroups } = this.#deps;
    const key = cgroups.path(name);
    const text = textOf(settings);
    if (!again && this.#told.get(key) === text) return;
    try {
      await cgroups.update(name, settings);
    } catch (err) {
      await this.#holdAtUsage(name, settings, err);
    }
    this.#told.set(key, text);
  }

  /** A class that uses more than it may cannot be limited to it; what it uses is as low as it goes. */
  async #holdAtUsage(name: CgroupName, settings: CgroupSettings, err: unknown): Promise<void> {
    const { cgroups } = this.#deps;
    const limit = settings.memoryLimitBytes;
    if (limit === undefined) throw err;
    const usage = await cgroups.memoryUsageBytes(name);
    if (usage <= limit) throw err;
    await cgroups.update(name, { ...settings, memoryLimitBytes: usage });
  }

  #limits(amounts: ResourceAmounts, compressible: boolean): CgroupSettings {
    const { cpus = '' } = this.#deps.plan;
    return { ...limitSettings(amounts, compressible), ...(cpus === '' ? {} : { cpus }) };
  }

  /** Memory that is reserved is kept as well, behind MemoryQoS. */
  #kept(amounts: ResourceAmounts, compressible: boolean): CgroupSettings {
    if (!this.#deps.plan.policy.memoryQos || compressible || !amounts.has('memory')) return {};
    return { unified: { 'memory.min': `${amountOf(amounts, 'memory').value()}` } };
  }

  async #enforceReserved(): Promise<void> {
    for (const each of this.#deps.plan.reserved) await this.#enforceOne(each);
  }

  async #enforceOne({ kind, cgroup, amounts, compressible }: ReservedCgroup): Promise<void> {
    const { cgroups, events } = this.#deps;
    const words = kind.split('-').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
    try {
      const name = cgroups.nameOf(cgroup);
      const missing = await cgroups.missing(name);
      if (missing !== undefined)
        throw new KubeletError('not-found', 'CgroupMissing', `cgroup ${cgroup}: ${missing}`);
      await cgroups.update(name, {
        ...this.#limits(amounts, compressible),
        ...this.#kept(amounts, compressible),
      });
    } catch (err) {
      const form = compressible ? ' Compressible' : '';
      const message = `Failed to enforce ${words.join(' ')}${form} Cgroup Limits on ${JSON.stringify(cgroup)}: ${describeError(err)}`;
      events.node({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message });
      throw new KubeletError('invalid', 'FailedNodeAllocatableEnforcement', message, { cause: err });
    }
    events.node({
      type: 'Normal',
      reason: 'NodeAllocatableEnforced',
      message: `Updated limits on ${kind.replaceAll('-', ' ')} cgroup ${cgroup}`,
    });
  }

  #onError(task: Task, err: unknown, retryInMs: number): void {
    const { cgroups, events, log } = this.#deps;
    const { root } = this.#deps.plan;
    if (task === 'classes') {
      log.error('Cgroups of the classes could not be kept right', { err, retryInMs });
      return;
    }
    const message = `Failed to update Node Allocatable Limits ${JSON.stringify(cgroups.path(root))}: ${describeError(err)}`;
    events.node({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message });
    log.error('Limits across pods could not be set', { err, retryInMs });
  }
}

/** Amounts of a node or of a reservation, as a cgroup takes them. */
function limitSettings(amounts: ResourceAmounts, compressible: boolean): CgroupSettings {
  const cpu = amounts.has('cpu')
    ? { cpuShares: milliCpuToShares(amountOf(amounts, 'cpu').milliValue()) }
    : {};
  if (compressible) return cpu;
  return {
    ...cpu,
    ...(amounts.has('memory') ? { memoryLimitBytes: amountOf(amounts, 'memory').value() } : {}),
    ...(amounts.has('pid') ? { pidsLimit: amountOf(amounts, 'pid').value() } : {}),
    hugePageLimits: hugePages(amounts),
  };
}

function textOf(settings: CgroupSettings): string {
  return JSON.stringify(settings, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
}

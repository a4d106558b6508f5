// Maintains the cgroups above those of pods: the cgroup of all pods with the node allocatable limits, the two QoS classes
// below it, and the cgroups reserved for the system and for Kubernetes. Upstream: createNodeAllocatableCgroups,
// enforceNodeAllocatableCgroups and qos_container_manager_linux.go.
// Invariants: the QoS classes exist before the first pod; unchanged settings are written again once a minute only, to revert
// changes made by other programs.

import type { Pod } from '../../api/k8s/types.ts';
import type { CgroupName, CgroupSettings, Cgroups } from '../../api/ports/cgroups.ts';
import type { EventSink } from '../../api/ports/events.ts';
import { milliCpuToShares } from '../../api/quantity/cpu-shares.ts';
import { amountOf, type ResourceAmounts } from '../../api/quantity/resource-amounts.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import type { Subscribable } from '../../base/channel.ts';
import type { Clock } from '../../base/clock.ts';
import { type Component, type LoopLoad, on } from '../../base/component.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log/log.ts';
import type { ReservedCgroup } from '../allocatable/node-budget.ts';
import { hugePages } from './pod-cgroup-settings.ts';
import { type QosPolicy, qosCgroupSettings } from './qos-cgroup-settings.ts';

/** The cgroups above pods as configured. */
export interface NodeCgroupsPlan {
  /** The cgroup of all pods: `['kubepods']`. */
  readonly root: CgroupName;
  /** The limits of all pods together, processes included. */
  readonly limits: ResourceAmounts;
  readonly reserved: readonly ReservedCgroup[];
  /** The CPUs to set, as `0-3`; empty to set none. */
  readonly cpus?: string;
  readonly policy: QosPolicy;
}

interface NodeCgroupsDeps {
  readonly cgroups: Pick<Cgroups, 'create' | 'update' | 'missing' | 'memoryUsageBytes' | 'path' | 'nameOf'>;
  readonly plan: NodeCgroupsPlan;
  /** Admitted pods that have not terminated. */
  readonly pods: {
    all(): readonly Pod[];
    readonly changed: Subscribable<unknown>;
  };
  readonly events: EventSink;
  readonly metrics: { protectedMemory(guaranteedBytes: bigint, burstableBytes: bigint): void };
  readonly clock: Clock;
  readonly log: Logger;
}

const periodMs = 60_000;
/** Coalesces the changes of a burst of pods. */
const coalesceMs = 100;
const retryMaxMs = 60_000;

type Task = 'limits' | 'classes';

export class NodeCgroups implements Component {
  readonly name = 'node-cgroups';
  readonly #deps: NodeCgroupsDeps;
  readonly #queue: KeyedQueue<Task>;
  /** The settings last written, by cgroup path. */
  readonly #written = new Map<string, string>();
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

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { cgroups, clock } = this.#deps;
    const { root } = this.#deps.plan;
    if ((await cgroups.missing(root)) !== undefined)
      await cgroups.create(root, this.#limits(this.#deps.plan.limits, false));
    for (const [name, settings] of this.#classes()) {
      if (name === root) continue;
      await cgroups.create(name, settings);
      this.#written.set(cgroups.path(name), textOf(settings));
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

  /** Fails while pods use more than a reduced limit. Retried until eviction has made room. */
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
    const isDue = nowMs - this.#checkedAtMs >= periodMs;
    for (const [name, settings] of this.#classes()) await this.#apply(name, settings, isDue);
    if (isDue) this.#checkedAtMs = nowMs;
    this.#queue.addAfter('classes', periodMs);
    log.v(4).info('Updated QoS class cgroups');
  }

  #classes(): readonly (readonly [CgroupName, CgroupSettings])[] {
    const { metrics, pods } = this.#deps;
    const { policy, root } = this.#deps.plan;
    const { bestEffort, burstable, guaranteed, protectedBytes } = qosCgroupSettings(pods.all(), policy);
    metrics.protectedMemory(protectedBytes.guaranteed, protectedBytes.burstable);
    return [
      [[...root, 'burstable'], burstable],
      [[...root, 'besteffort'], bestEffort],
      [root, guaranteed],
    ];
  }

  /** `force`: also if the settings have not changed. */
  async #apply(name: CgroupName, settings: CgroupSettings, force: boolean): Promise<void> {
    const { cgroups } = this.#deps;
    const key = cgroups.path(name);
    const text = textOf(settings);
    if (!force && this.#written.get(key) === text) return;
    try {
      await cgroups.update(name, settings);
    } catch (err) {
      await this.#holdAtUsage(name, settings, err);
    }
    this.#written.set(key, text);
  }

  /** The kernel rejects a memory limit below the usage. Then the usage is the lowest possible limit. */
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

  /** With MemoryQoS, reserved memory is protected from reclaim too. */
  #protectedMemory(amounts: ResourceAmounts, compressible: boolean): CgroupSettings {
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
        ...this.#protectedMemory(amounts, compressible),
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
      log.error('Failed to update QoS class cgroups', { err, retryInMs });
      return;
    }
    const message = `Failed to update Node Allocatable Limits ${JSON.stringify(cgroups.path(root))}: ${describeError(err)}`;
    events.node({ type: 'Warning', reason: 'FailedNodeAllocatableEnforcement', message });
    log.error('Failed to enforce node allocatable limits', { err, retryInMs });
  }
}

/** Amounts of the node or of a reservation as cgroup settings. */
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

// Wakes eviction when the kernel signals that memory runs short: by the usage of a memory cgroup (v1) or by stalled tasks (v2).
// Upstream: pkg/kubelet/eviction/memory_threshold_notifier_linux.go; on cgroup v2 upstream has no notification.
// Invariants: a notification only wakes, figures are read by the pass; a machine that cannot notify is logged once.
import type { MemoryRoom, NodeLoadSource } from '../api/ports/node-usage.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { Channel } from '../base/channel.ts';
import type { Clock } from '../base/clock.ts';
import type { Component, LoopLoad } from '../base/component.ts';
import { isKind } from '../base/errors.ts';
import { KeyedQueue } from '../base/keyed-queue.ts';
import type { Logger } from '../base/log/log.ts';
import { thresholdQuantity } from './decide/met.ts';
import type { Threshold } from './decide/thresholds.ts';

interface MemoryWatch {
  rearm(usageBytes: number): void;
  close(): void;
}

interface NotificationsDeps {
  readonly watch: (request: {
    readonly cgroup: string;
    readonly usageBytes: number;
    readonly onSignal: () => void;
    readonly onEnd: (err: unknown) => void;
  }) => Promise<MemoryWatch>;
  readonly load: Pick<NodeLoadSource, 'memory'>;
  /** Read again after thresholdsChanged(). */
  readonly thresholds: readonly Threshold[];
  /** The cgroup of all pods; undefined if pods have no cgroups of their own. */
  readonly podsCgroup: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

const refreshMs = 10_000;

export class MemoryNotifications implements Component {
  readonly name = 'memory-notifications';
  readonly shortage = new Channel<void>();
  readonly #deps: NotificationsDeps;
  readonly #queue: KeyedQueue<Threshold>;
  readonly #watches = new Map<Threshold, MemoryWatch>();
  /** Thresholds whose failure was logged; repetitions are not. */
  readonly #failing = new Set<Threshold>();

  constructor(deps: NotificationsDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<Threshold>({
      clock: deps.clock,
      parallel: 1,
      backoff: { initialMs: refreshMs, maxMs: refreshMs },
      run: (threshold) => this.#arm(threshold),
      onError: (threshold, err) => this.#failed(threshold, err),
    });
  }

  loopLoad(): LoopLoad {
    return this.#queue.load();
  }

  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    this.#queue.start();
    this.thresholdsChanged();
    return { stopped: this.#stopAfter(signal) };
  }

  /** Watches the thresholds as they are now, and those that are gone no longer. */
  thresholdsChanged(): void {
    for (const [threshold, watch] of this.#watches) {
      if (this.#isWanted(threshold)) continue;
      this.#watches.delete(threshold);
      watch.close();
    }
    for (const threshold of this.#deps.thresholds)
      if (this.#cgroupOf(threshold) !== undefined) this.#queue.add(threshold);
  }

  #isWanted(threshold: Threshold): boolean {
    return this.#deps.thresholds.includes(threshold);
  }

  #cgroupOf({ signal }: Threshold): string | undefined {
    if (signal === 'memory.available') return '/';
    return signal === 'allocatableMemory.available' ? this.#deps.podsCgroup : undefined;
  }

  /** The usage behind a threshold moves with the page cache, so it is set again with fresh figures. */
  async #arm(threshold: Threshold): Promise<void> {
    const { load, watch } = this.#deps;
    if (!this.#isWanted(threshold)) return;
    this.#queue.addAfter(threshold, refreshMs);
    const { memory, podMemory } = load.memory();
    const room = threshold.signal === 'memory.available' ? memory : podMemory;
    const cgroup = this.#cgroupOf(threshold);
    if (room === undefined || cgroup === undefined) return;
    const usageBytes = notifiedUsage(threshold, room);
    const open = this.#watches.get(threshold);
    if (open !== undefined) {
      open.rearm(usageBytes);
      return;
    }
    const created = await watch({
      cgroup,
      usageBytes,
      onSignal: () => this.shortage.push(),
      onEnd: () => this.#watches.delete(threshold),
    });
    if (!this.#isWanted(threshold)) {
      created.close();
      return;
    }
    this.#watches.set(threshold, created);
    this.#failing.delete(threshold);
  }

  #failed(threshold: Threshold, err: unknown): void {
    const { signal } = threshold;
    if (!this.#failing.has(threshold))
      this.#deps.log.error('Failed to watch memory, relying on periodic checks', { signal, err });
    this.#failing.add(threshold);
    // The machine will not learn it. A cgroup that does not exist yet is tried again.
    if (isKind(err, 'unavailable')) this.#queue.forget(threshold);
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    await this.#queue.stop();
    for (const watch of this.#watches.values()) watch.close();
    this.#watches.clear();
  }
}

/** The usage of the cgroup at which the threshold is met: inactive file pages count as usage, but not as used. */
function notifiedUsage({ value }: Threshold, room: MemoryRoom): number {
  const threshold = thresholdQuantity(value, room.capacityBytes).toNumber();
  return Math.max(0, room.capacityBytes - threshold + (room.usageBytes - room.workingSetBytes));
}

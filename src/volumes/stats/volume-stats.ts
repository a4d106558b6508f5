// Measures the usage of the volumes of pods. Upstream: pkg/kubelet/server/stats/volume_stat_calculator.go.
// Invariants: a pod has at most one measurement in flight, and is measured again only when the period after it is over; few pods
// are measured in parallel, so that the walks leave time for other work; a volume that fails is left out of the result.

import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { LocalVolumes, VolumeStatsSource, VolumeUsage } from '../../api/ports/volume-stats.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { raceAbort, untilAborted } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { type Component, on } from '../../base/component.ts';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { Slots } from '../../base/slots.ts';
import type { MountedVolume, MountedVolumes } from '../mounted-volumes.ts';
import type { VolumeMetricsPort } from '../volume-metrics-port.ts';
import { LocalUsage } from './local-usage.ts';

interface VolumeStatsDeps {
  readonly mounts: MountedVolumes;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a measurement stays valid. Read for each request. */
  readonly periodMs: number;
  readonly metrics: Pick<VolumeMetricsPort, 'measured'>;
}

interface Measured {
  /** Undefined while the measurement is in flight. */
  endedMs: number | undefined;
  readonly volumes: Promise<readonly VolumeUsage[]>;
}

const parallel = 2;
/** Deadline of a measurement; a walk may take minutes. */
const deadlineMs = 300_000;
/** Deadline where a driver or a server answers. */
const remoteDeadlineMs = 10_000;
/** Pods that drivers and servers measure in parallel. One that takes longer than the lease no longer counts. */
const parallelRemote = 8;
const remoteLeaseMs = 100;

export class VolumeStatsReader implements Component, VolumeStatsSource {
  readonly name = 'volume-stats';
  readonly wakes;
  readonly #deps: VolumeStatsDeps;
  readonly #slots: Slots;
  readonly #remoteSlots: Slots;
  readonly #pods = new Map<PodUid, Measured>();
  readonly #local: LocalUsage;

  constructor(deps: VolumeStatsDeps) {
    this.#deps = deps;
    this.#slots = new Slots({ clock: deps.clock, count: parallel, leaseMs: deadlineMs });
    this.#remoteSlots = new Slots({ clock: deps.clock, count: parallelRemote, leaseMs: remoteLeaseMs });
    const { clock, mounts } = deps;
    this.#local = new LocalUsage({
      mounts,
      clock,
      get periodMs() {
        return deps.periodMs;
      },
      measure: (...args) => this.#measure(...args),
    });
    // A measurement does not outlive the volumes it covers, nor hide one that was mounted since.
    this.wakes = [
      on(deps.mounts.changed, (uid) => {
        this.#pods.delete(uid);
        this.#local.mountsChanged(uid);
      }),
    ];
  }

  start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    return Promise.resolve({ stopped: untilAborted(signal) });
  }

  ofPod(uid: PodUid, signal: AbortSignal): Promise<readonly VolumeUsage[]> {
    const { clock, mounts, periodMs } = this.#deps;
    const volumes = mounts.ofPod(uid);
    if (volumes.length === 0) return Promise.resolve([]);
    const last = this.#pods.get(uid);
    // A walk may take longer than the period. Restarting it would prevent it from ever finishing.
    if (last !== undefined && (last.endedMs === undefined || clock.monotonic() - last.endedMs < periodMs))
      return raceAbort(last.volumes, signal);
    const measured: Measured = {
      endedMs: undefined,
      volumes: this.#measureAll(uid, volumes).finally(() => {
        measured.endedMs = clock.monotonic();
      }),
    };
    this.#pods.set(uid, measured);
    return raceAbort(measured.volumes, signal);
  }

  localOfPod(uid: PodUid): LocalVolumes {
    return this.#local.ofPod(uid);
  }

  async #measureAll(uid: PodUid, volumes: readonly MountedVolume[]): Promise<readonly VolumeUsage[]> {
    const measured = await Promise.all([
      // A driver or server that does not respond must not keep others from being measured.
      this.#inSlot(
        this.#remoteSlots,
        remoteDeadlineMs,
        uid,
        volumes.filter(({ plugin }) => plugin.isRemote),
      ),
      this.#inSlot(
        this.#slots,
        deadlineMs,
        uid,
        volumes.filter(({ plugin }) => !plugin.isRemote),
      ),
    ]);
    return measured.flat();
  }

  async #inSlot(
    slots: Slots,
    ms: number,
    uid: PodUid,
    volumes: readonly MountedVolume[],
  ): Promise<readonly VolumeUsage[]> {
    if (volumes.length === 0) return [];
    const slot = await slots.acquire(0);
    try {
      return await this.#within(ms, uid, volumes);
    } finally {
      slot.release();
    }
  }

  async #within(ms: number, uid: PodUid, volumes: readonly MountedVolume[]): Promise<readonly VolumeUsage[]> {
    const deadline = new AbortController();
    const timer = this.#deps.clock.setTimer(ms, () => deadline.abort());
    try {
      const all = await Promise.all(volumes.map((volume) => this.#measure(uid, volume, deadline.signal)));
      return all.flatMap((usage) => usage ?? []);
    } finally {
      timer.cancel();
    }
  }

  async #measure(uid: PodUid, volume: MountedVolume, signal: AbortSignal): Promise<VolumeUsage | undefined> {
    const { plugin, location, spec } = volume;
    const { clock, metrics } = this.#deps;
    if (location.kind === 'image') return undefined;
    try {
      const startedMs = clock.monotonic();
      const measuring =
        location.kind === 'device'
          ? plugin.block?.stats?.(location.path, signal)
          : plugin.stats(location.path, signal);
      const measured = measuring && (await raceAbort(measuring, signal));
      if (measured === undefined) return undefined;
      const { source, ...stats } = measured;
      if (source !== undefined) metrics.measured(source, (clock.monotonic() - startedMs) / 1000);
      return { ...describe(volume), ...stats, measuredAtMs: clock.now() };
    } catch (err) {
      this.#deps.log.v(2).info('Failed to measure volume', {
        podUID: uid,
        volume: spec.name,
        err: describeError(err),
      });
      return undefined;
    }
  }
}

function describe({
  spec,
}: MountedVolume): Pick<VolumeUsage, 'name' | 'claim' | 'isLocalEphemeral' | 'sizeLimitBytes'> {
  const { emptyDir, configMap, gitRepo } = spec.source;
  const { claimRef } = spec.persistent?.spec ?? {};
  const onDisk = emptyDir !== undefined && (emptyDir.medium ?? '') === '';
  return {
    name: spec.name,
    claim:
      claimRef === undefined ? undefined : { namespace: claimRef.namespace ?? '', name: claimRef.name ?? '' },
    isLocalEphemeral: onDisk || configMap !== undefined || gitRepo !== undefined,
    sizeLimitBytes:
      emptyDir?.sizeLimit === undefined ? undefined : Quantity.fromJson(emptyDir.sizeLimit).value(),
  };
}

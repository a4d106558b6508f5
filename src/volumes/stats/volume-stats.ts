// Measures what the volumes of pods use. Upstream: pkg/kubelet/server/stats/volume_stat_calculator.go.
// Invariants: a pod is measured once at a time, however long that takes, and not again before the period after it is over; few
// pods are measured at once, so that the walks leave time for everything else; a volume that cannot be measured is left out.

import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { UsageSource } from '../../api/ports/volume-host.ts';
import type { VolumeStatsSource, VolumeUsage } from '../../api/ports/volume-stats.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { Slots } from '../../base/slots.ts';
import type { MountedVolume, MountedVolumes } from '../mounted-volumes.ts';

interface VolumeStatsDeps {
  readonly mounts: MountedVolumes;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a measurement is good. */
  readonly periodMs: number;
  /** Told how long it took to measure a directory, and how that was done. */
  readonly onMeasured: (source: UsageSource, seconds: number) => void;
}

interface Measured {
  /** Undefined while it is under way. */
  endedMs: number | undefined;
  readonly volumes: Promise<readonly VolumeUsage[]>;
}

const parallel = 2;
/** A walk may take minutes, but no longer than this. */
const longestMs = 300_000;

export class VolumeStatsReader implements VolumeStatsSource {
  readonly #deps: VolumeStatsDeps;
  readonly #slots: Slots;
  readonly #pods = new Map<PodUid, Measured>();

  constructor(deps: VolumeStatsDeps) {
    this.#deps = deps;
    this.#slots = new Slots({ clock: deps.clock, count: parallel, leaseMs: longestMs });
    // What was measured of a pod does not outlive its volumes, nor hide one that has just come.
    deps.mounts.changed.subscribe((uid) => void this.#pods.delete(uid));
  }

  ofPod(uid: PodUid, signal: AbortSignal): Promise<readonly VolumeUsage[]> {
    const { clock, mounts, periodMs } = this.#deps;
    const volumes = mounts.ofPod(uid);
    if (volumes.length === 0) return Promise.resolve([]);
    const last = this.#pods.get(uid);
    // A walk may take longer than the period: were it begun anew by then, nobody would ever see its result.
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

  async #measureAll(uid: PodUid, volumes: readonly MountedVolume[]): Promise<readonly VolumeUsage[]> {
    const slot = await this.#slots.acquire(0);
    const enough = new AbortController();
    const timer = this.#deps.clock.setTimer(longestMs, () => enough.abort());
    try {
      const all = await Promise.all(volumes.map((volume) => this.#measure(uid, volume, enough.signal)));
      return all.flatMap((usage) => usage ?? []);
    } finally {
      timer.cancel();
      slot.release();
    }
  }

  async #measure(uid: PodUid, volume: MountedVolume, signal: AbortSignal): Promise<VolumeUsage | undefined> {
    const { plugin, place, spec } = volume;
    const { clock, onMeasured } = this.#deps;
    if (place.kind !== 'path') return undefined;
    try {
      const beganMs = clock.monotonic();
      const measured = await raceAbort(plugin.stats(place.path, signal), signal);
      if (measured === undefined) return undefined;
      const { source, ...stats } = measured;
      if (source !== undefined) onMeasured(source, (clock.monotonic() - beganMs) / 1000);
      return { ...describe(volume), ...stats, measuredAtMs: clock.now() };
    } catch (err) {
      this.#deps.log.v(2).info('Volume could not be measured', {
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

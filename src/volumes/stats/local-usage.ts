// Measures the volumes that count against the limits of pods, for eviction. Owns their figures.
// Invariants: a volume has at most one measurement in flight; few are measured in parallel, and one that takes long no longer counts,
// so that a huge or hung volume delays no other; a volume is idle at least twenty times as long as its measurement took, up to the
// period, so that eviction cannot keep a core busy.
// Upstream has one cache for all uses, which is minutes old: pkg/kubelet/server/stats/volume_stat_calculator.go.
import type { PodUid } from '../../api/pod/pod-ref.ts';
import type { LocalVolumes, VolumeUsage } from '../../api/ports/volume-stats.ts';
import type { Clock } from '../../base/clock.ts';
import { Slots } from '../../base/slots.ts';
import type { MountedVolume, MountedVolumes } from '../mounted-volumes.ts';

interface LocalUsageDeps {
  readonly mounts: Pick<MountedVolumes, 'ofPod'>;
  readonly clock: Clock;
  readonly periodMs: number;
  /** Undefined if the measurement failed; never rejects. */
  readonly measure: (
    uid: PodUid,
    volume: MountedVolume,
    signal: AbortSignal,
  ) => Promise<VolumeUsage | undefined>;
}

interface Figure {
  readonly volume: MountedVolume;
  usage: VolumeUsage | undefined;
  inFlight: Promise<void> | undefined;
  /** By the monotonic clock. */
  validUntilMs: number;
}

/** Shorter than the interval of eviction, so that every pass measures again, and passes close together share a figure. */
const minValidMs = 5_000;
const idleFactor = 20;
const parallel = 4;
/** After this long a measurement no longer keeps others waiting. */
const leaseMs = 1_000;
const deadlineMs = 300_000;

export class LocalUsage {
  readonly #deps: LocalUsageDeps;
  readonly #slots: Slots;
  readonly #pods = new Map<PodUid, ReadonlyMap<string, Figure>>();

  constructor(deps: LocalUsageDeps) {
    this.#deps = deps;
    this.#slots = new Slots({ clock: deps.clock, count: parallel, leaseMs });
  }

  ofPod(uid: PodUid): LocalVolumes {
    const figures = [...this.#figures(uid).values()];
    const refreshed = figures.map((figure) => this.#refresh(uid, figure));
    return {
      fresh: Promise.all(refreshed).then(() => undefined),
      latest: () => figures.flatMap(({ usage }) => usage ?? []),
    };
  }

  /** Drops figures of volumes that are no longer mounted. */
  mountsChanged(uid: PodUid): void {
    if (this.#pods.has(uid)) this.#figures(uid);
  }

  #figures(uid: PodUid): ReadonlyMap<string, Figure> {
    const known = this.#pods.get(uid);
    const figures = new Map<string, Figure>();
    for (const volume of this.#deps.mounts.ofPod(uid)) {
      if (!isLocal(volume)) continue;
      const unknown = {
        volume,
        usage: undefined,
        inFlight: undefined,
        validUntilMs: Number.NEGATIVE_INFINITY,
      };
      figures.set(volume.spec.name, known?.get(volume.spec.name) ?? unknown);
    }
    if (figures.size > 0) this.#pods.set(uid, figures);
    else this.#pods.delete(uid);
    return figures;
  }

  #refresh(uid: PodUid, figure: Figure): Promise<void> {
    if (figure.inFlight !== undefined) return figure.inFlight;
    if (this.#deps.clock.monotonic() < figure.validUntilMs) return Promise.resolve();
    const running = this.#measure(uid, figure).finally(() => {
      figure.inFlight = undefined;
    });
    figure.inFlight = running;
    return running;
  }

  async #measure(uid: PodUid, figure: Figure): Promise<void> {
    const { clock, measure, periodMs } = this.#deps;
    const startedMs = clock.monotonic();
    const slot = await this.#slots.acquire(0);
    const deadline = new AbortController();
    const timer = clock.setTimer(deadlineMs, () => deadline.abort());
    try {
      figure.usage = await measure(uid, figure.volume, deadline.signal);
    } finally {
      timer.cancel();
      slot.release();
      const endedMs = clock.monotonic();
      // Including the time in the queue: the more there is to measure, the rarer it is.
      const idleMs = Math.min((endedMs - startedMs) * idleFactor, periodMs);
      figure.validUntilMs = endedMs + Math.max(minValidMs, isEmptyDir(figure.volume) ? idleMs : periodMs);
    }
  }
}

const isEmptyDir = ({ spec }: MountedVolume): boolean => spec.source.emptyDir !== undefined;

/** Volumes on other file systems, such as a server's, are never measured here. */
function isLocal({ spec }: MountedVolume): boolean {
  const { configMap, emptyDir, gitRepo } = spec.source;
  return emptyDir !== undefined || configMap !== undefined || gitRepo !== undefined;
}

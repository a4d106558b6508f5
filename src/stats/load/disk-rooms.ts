// Measures the file systems behind the disk signals. Owns the runtime's mount points as last reported.
// Invariants: each file system has its own deadline; the runtime is queried once a minute and, once its mount points are known, never
// waited for, so that its file systems are measured while it is unreachable.
// Upstream: ImageFsStats and RootFsStats of pkg/kubelet/stats; upstream's pass fails if either fails.
import type { CriImages } from '../../api/cri/runtime.ts';
import type { FileSystemRoom } from '../../api/ports/host-usage.ts';
import type { DiskRoom, NodeSignals } from '../../api/ports/node-usage.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { raceAbort } from '../../base/abort/race-abort.ts';
import type { Clock } from '../../base/clock.ts';
import { describeError, isKind } from '../../base/errors.ts';

export interface DiskRoomsDeps {
  /** Called again for a path while a call for it hangs, it must not occupy another thread. */
  readonly host: { room(path: string): Promise<FileSystemRoom> };
  readonly runtime: Pick<CriImages, 'imageFsInfo'>;
  readonly clock: Clock;
}

interface MountPoints {
  readonly images: string;
  readonly containers: string;
}

type RuntimeRooms = Pick<NodeSignals, 'imageFs' | 'containerFs'>;

/** A pass of eviction must not wait longer for a single part. */
const deadlineMs = 2_000;
const mountPointsValidMs = 60_000;

export class DiskRooms {
  readonly #deps: DiskRoomsDeps;
  #mountPoints: MountPoints | undefined;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #query: Promise<void> | undefined;

  constructor(deps: DiskRoomsDeps) {
    this.#deps = deps;
  }

  async room(path: string, signal: AbortSignal, faults: string[]): Promise<DiskRoom | undefined> {
    const { clock, host } = this.#deps;
    const what = `file system of ${path}`;
    try {
      const room = await withDeadline({ clock, ms: deadlineMs, signal, what }, () => host.room(path));
      const { availableBytes, capacityBytes, device, inodes, inodesFree } = room;
      return { atMs: clock.now(), device, capacityBytes, availableBytes, inodes, inodesFree };
    } catch (err) {
      faults.push(`${what}: ${describeError(err)}`);
      return undefined;
    }
  }

  async ofRuntime(signal: AbortSignal, faults: string[]): Promise<RuntimeRooms> {
    const known = await this.#known(signal, faults);
    if (known === undefined) return { imageFs: undefined, containerFs: undefined };
    const imageFs = this.room(known.images, signal, faults);
    const other = known.containers === known.images ? imageFs : this.room(known.containers, signal, faults);
    const rooms = await this.#compared(imageFs, other);
    // The runtime may have moved its files.
    if (rooms.imageFs === undefined) this.#validUntilMs = Number.NEGATIVE_INFINITY;
    return rooms;
  }

  /** One object if both are the same file system. */
  async #compared(
    images: Promise<DiskRoom | undefined>,
    containers: Promise<DiskRoom | undefined>,
  ): Promise<RuntimeRooms> {
    const [imageFs, other] = await Promise.all([images, containers]);
    return { imageFs, containerFs: other?.device === imageFs?.device ? imageFs : other };
  }

  async #known(signal: AbortSignal, faults: string[]): Promise<MountPoints | undefined> {
    if (this.#deps.clock.monotonic() < this.#validUntilMs) return this.#mountPoints;
    this.#query ??= this.#ask().finally(() => {
      this.#query = undefined;
    });
    const query = this.#query.catch((err: unknown) => {
      // An unavailable runtime is logged once, by the relist, and its file systems are measured nevertheless.
      if (this.#mountPoints === undefined || !isKind(err, 'unavailable'))
        faults.push(`image file system: ${describeError(err)}`);
    });
    if (this.#mountPoints === undefined) await raceAbort(query, signal).catch(() => undefined);
    return this.#mountPoints;
  }

  async #ask(): Promise<void> {
    const { clock, runtime } = this.#deps;
    const what = 'query of the image file system';
    const { containerFilesystems, imageFilesystems } = await withDeadline(
      { clock, ms: deadlineMs, what },
      (signal) => runtime.imageFsInfo({}, { signal }),
    );
    const images = imageFilesystems[0]?.fsId?.mountpoint ?? '';
    if (images === '') throw new Error('the runtime reported none');
    const containers = containerFilesystems[0]?.fsId?.mountpoint ?? '';
    this.#mountPoints = { images, containers: containers === '' ? images : containers };
    this.#validUntilMs = clock.monotonic() + mountPointsValidMs;
  }
}

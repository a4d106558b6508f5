// What the CSI driver of the tests has on disk and in the mount table: the calls that it received, its volumes, mounts and
// events. Works while the driver is running, hung or dead.
import type {
  NodeExpandVolumeRequest,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from '../../src/api/csi/generated/csi/v1/csi.ts';
import type { RequestLine, ResponseLine } from '../../test/csi-driver/call-log.ts';
import { mountTable } from '../../test/csi-driver/host.ts';
import {
  readLines,
  type VolumeEvent,
  type VolumeRecord,
  VolumeStore,
} from '../../test/csi-driver/volume-store.ts';
import { waitFor } from '../rig/wait.ts';

interface VolumeRequests {
  readonly NodeStageVolume: NodeStageVolumeRequest;
  readonly NodePublishVolume: NodePublishVolumeRequest;
  readonly NodeUnpublishVolume: NodeUnpublishVolumeRequest;
  readonly NodeUnstageVolume: NodeUnstageVolumeRequest;
  readonly NodeExpandVolume: NodeExpandVolumeRequest;
}

/** A request with the response, if one was sent. */
interface DriverCall extends RequestLine {
  readonly endMs?: number;
  /** `CANCELLED` if the client gave up first. */
  readonly code?: string;
  readonly message?: string;
  readonly response?: unknown;
}

interface DriverMount {
  readonly volume: string;
  readonly path: string;
  readonly role: 'staging' | 'publication';
  /** More than one: mounts on top of each other. */
  readonly count: number;
  readonly readonly: boolean;
}

export class DriverRecords {
  readonly dataDir: string;
  protected readonly callLog: string;
  protected readonly store: VolumeStore;

  constructor(dataDir: string, callLog: string) {
    this.dataDir = dataDir;
    this.callLog = callLog;
    this.store = new VolumeStore(dataDir);
  }

  /** The calls since the first start, in order. */
  calls(method?: string): readonly DriverCall[] {
    const lines = readLines(this.callLog) as readonly (RequestLine | ResponseLine)[];
    const ends = new Map<string, ResponseLine>();
    // The first end is the one that the client saw.
    for (const line of lines) if ('answers' in line && !ends.has(line.answers)) ends.set(line.answers, line);
    return lines
      .filter((line): line is RequestLine => 'method' in line && (method ?? line.method) === line.method)
      .map((line) => {
        const { answers: _id, atMs: endMs, ...end } = ends.get(line.id) ?? {};
        return { ...line, ...end, ...(endMs === undefined ? {} : { endMs }) };
      });
  }

  /** The requests for one volume, in order; bigints are strings. */
  requests<Method extends keyof VolumeRequests>(
    method: Method,
    volume: string,
  ): readonly VolumeRequests[Method][] {
    return this.calls(method)
      .map(({ request }) => request as VolumeRequests[Method])
      .filter(({ volumeId }) => volumeId === volume);
  }

  /** Waits for so many calls of this method since the first start. */
  async untilCalls(method: string, count: number, timeoutMs?: number): Promise<readonly DriverCall[]> {
    return waitFor(
      () => {
        const found = this.calls(method);
        if (found.length >= count) return found;
        throw new Error(`${found.length} calls`);
      },
      `${count} calls of ${method}`,
      timeoutMs,
    );
  }

  volumes(): readonly VolumeRecord[] {
    return this.store.all();
  }

  /** The directory with the image, or in `fs` the files, of a volume. */
  volumeDir(handle: string): string {
    return this.store.folder(handle);
  }

  /** What is really mounted now, except that a staged block volume has no mount. */
  mounts(): readonly DriverMount[] {
    const table = mountTable();
    const at = (volume: string, path: string, role: DriverMount['role']): readonly DriverMount[] => {
      const found = table.filter((entry) => entry.path === path);
      const [top] = found.toReversed();
      return top === undefined ? [] : [{ volume, path, role, count: found.length, readonly: top.readonly }];
    };
    return this.volumes().flatMap(({ handle, staged, published }) => [
      ...Object.keys(staged).flatMap((path) => at(handle, path, 'staging')),
      ...Object.keys(published).flatMap((path) => at(handle, path, 'publication')),
    ]);
  }

  /** The volumes that may not be detached now. */
  inUse(): ReadonlySet<string> {
    const devices = this.volumes().filter(
      ({ kind, staged }) => kind === 'block' && Object.keys(staged).length > 0,
    );
    return new Set([...devices.map(({ handle }) => handle), ...this.mounts().map(({ volume }) => volume)]);
  }

  /** Volumes are created, mounted, unmounted and deleted; violations are calls that no kubelet should make. */
  events(event?: VolumeEvent['event']): readonly VolumeEvent[] {
    return this.store.events().filter((each) => event === undefined || each.event === event);
  }

  /** `volume path: why`, one line each. */
  violations(): readonly string[] {
    return this.events('violation').map(({ volume, path, detail }) => `${volume} ${path}: ${detail}`);
  }

  /** How often the volume was mounted at the path, by all processes of the driver. */
  mountCount(volume: string, path: string): number {
    return this.events('mount').filter((each) => each.volume === volume && each.path === path).length;
  }

  /** Calls for one volume that were in flight at the same time, as `volume: method, method`; a kubelet makes none. */
  overlaps(): readonly string[] {
    const calls = this.calls().filter(({ request }) => volumeOf(request) !== undefined);
    return calls.flatMap((first, at) =>
      calls
        .slice(at + 1)
        .filter(
          (next) =>
            volumeOf(next.request) === volumeOf(first.request) &&
            next.atMs < (first.endMs ?? Number.POSITIVE_INFINITY) &&
            // A killed process ends its calls.
            next.pid === first.pid,
        )
        .map((next) => `${volumeOf(first.request)}: ${first.method}, ${next.method}`),
    );
  }
}

function volumeOf(request: unknown): string | undefined {
  return (request as { readonly volumeId?: string }).volumeId;
}

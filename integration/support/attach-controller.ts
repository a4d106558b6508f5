// A small attach/detach controller and external attacher for one node of the API server double. It attaches what the pods of the
// node need, and detaches a volume only after the node has stopped reporting it as in use.
// Records when each step happened, and every violation of the protocol by the kubelet.
// Upstream: pkg/controller/volume/attachdetach, kubernetes-csi/external-attacher.
import type { Pod } from '../../src/api/k8s/types.ts';
import { attachmentName, type StorageCluster, uniqueVolumeName } from './csi-objects.ts';

export interface AttachOrders {
  /** How long attaching and detaching take. */
  readonly attachMs?: number;
  readonly detachMs?: number;
  /** Attaching fails with this error until the order is removed. */
  readonly error?: { readonly message: string; readonly errorCode?: number };
  /** The attachmentMetadata, which the driver gets as the publish context. */
  readonly metadata?: Readonly<Record<string, string>>;
}

interface AttachControllerOptions extends AttachOrders {
  /** The handles that are mounted on the node at this moment, as the driver knows it. */
  readonly mounted?: () => ReadonlySet<string>;
  /** A volume that is reported as in use for longer than this after its last mount is a violation. */
  readonly lateMs?: number;
}

/** Times of the wall clock; of the last attachment of the volume. */
interface AttachTimes {
  wantedMs?: number;
  /** The node's status had it in volumesInUse. */
  inUseMs?: number;
  /** The node's status was given it in volumesAttached. */
  attachedMs?: number;
  mountedMs?: number;
  /** No pod needs it any more. */
  unwantedMs?: number;
  unmountedMs?: number;
  notInUseMs?: number;
  detachedMs?: number;
}

interface Wanted {
  readonly driver: string;
  readonly handle: string;
  readonly volumeName: string;
}

interface Attached extends Wanted {
  readonly unique: string;
  readonly attachment: string;
  state: 'attaching' | 'attached' | 'detaching';
  /** When the state was entered. */
  sinceMs: number;
  isMounted: boolean;
  isInUse: boolean;
}

const pollMs = 20;

export class AttachController {
  readonly violations: string[] = [];
  /** By volume handle. */
  readonly times = new Map<string, AttachTimes>();
  readonly #cluster: StorageCluster;
  readonly #options: AttachControllerOptions;
  readonly #volumes = new Map<string, Attached>();
  #orders: AttachOrders;
  #timer: NodeJS.Timeout | undefined;

  constructor(cluster: StorageCluster, options: AttachControllerOptions = {}) {
    this.#cluster = cluster;
    this.#options = options;
    this.#orders = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#reconcile(), pollMs);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Replaces the delays, the error and the metadata. */
  order(orders: AttachOrders): void {
    this.#orders = orders;
  }

  #reconcile(): void {
    const nowMs = Date.now();
    const wanted = this.#wanted();
    this.#observe(nowMs);
    for (const want of wanted.values()) this.#ensureKnown(want, nowMs);
    for (const volume of this.#volumes.values()) {
      const isWanted = wanted.has(volume.unique);
      if (isWanted) delete this.#timesOf(volume).unwantedMs;
      else this.#timesOf(volume).unwantedMs ??= nowMs;
      if (volume.state === 'attaching') this.#attach(volume, nowMs);
      else if (volume.state === 'attached' && !isWanted) this.#beginDetach(volume, nowMs);
      else if (volume.state === 'detaching') this.#detach(volume, nowMs);
    }
    this.#report();
  }

  /** Compares what is mounted with what the node reports. Both are read in one turn, so that a status cannot be in between. */
  #observe(nowMs: number): void {
    const mounted = this.#options.mounted?.() ?? new Set<string>();
    const inUse = new Set(this.#node()?.status?.volumesInUse ?? []);
    for (const volume of this.#volumes.values()) {
      const isMounted = mounted.has(volume.handle);
      const isInUse = inUse.has(volume.unique);
      if (isMounted && !volume.isMounted) this.#set(volume, 'mountedMs', nowMs);
      if (!isMounted && volume.isMounted) this.#set(volume, 'unmountedMs', nowMs);
      if (isInUse && !volume.isInUse) this.#set(volume, 'inUseMs', nowMs);
      if (!isInUse && volume.isInUse) this.#set(volume, 'notInUseMs', nowMs);
      if (isMounted && !volume.isMounted && volume.state !== 'attached')
        this.#violation(volume, `mounted while it is ${volume.state}`);
      if (isMounted && !isInUse && (volume.isInUse || !volume.isMounted))
        this.#violation(volume, 'mounted while the node does not report it as in use');
      if (!isInUse && volume.isInUse) this.#checkLateness(volume, nowMs);
      volume.isMounted = isMounted;
      volume.isInUse = isInUse;
    }
  }

  #checkLateness(volume: Attached, nowMs: number): void {
    const { unmountedMs, unwantedMs } = this.#timesOf(volume);
    const lateMs = nowMs - Math.max(unmountedMs ?? Number.POSITIVE_INFINITY, unwantedMs ?? 0);
    if (lateMs > (this.#options.lateMs ?? 15_000))
      this.#violation(volume, `reported as in use for ${lateMs} ms after its unmount`);
  }

  #ensureKnown(want: Wanted, nowMs: number): void {
    const unique = uniqueVolumeName(want.handle, want.driver);
    if (this.#volumes.has(unique)) return;
    const { objects } = this.#cluster.double;
    const { nodeName } = this.#cluster;
    const attachment = attachmentName(want.handle, want.driver, nodeName);
    if (objects.get('volumeattachments', '', attachment) === undefined) {
      objects.create('volumeattachments', {
        metadata: { name: attachment, finalizers: [finalizerOf(want.driver)] },
        spec: { attacher: want.driver, nodeName, source: { persistentVolumeName: want.volumeName } },
      });
      this.#patchAttachment(attachment, { attached: false });
    }
    this.times.set(want.handle, { wantedMs: nowMs });
    const known = { ...want, unique, attachment, state: 'attaching', sinceMs: nowMs } as const;
    this.#volumes.set(unique, { ...known, isMounted: false, isInUse: false });
  }

  #attach(volume: Attached, nowMs: number): void {
    const { attachMs = 0, error, metadata = {} } = this.#orders;
    if (nowMs - volume.sinceMs < attachMs) return;
    if (error !== undefined) {
      const now = this.#cluster.double.objects.get('volumeattachments', '', volume.attachment);
      if (now?.status?.attachError?.message === error.message) return;
      const time = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
      return this.#patchAttachment(volume.attachment, { attached: false, attachError: { ...error, time } });
    }
    this.#patchAttachment(volume.attachment, {
      attached: true,
      attachmentMetadata: metadata,
      attachError: null,
    });
    volume.state = 'attached';
    this.#set(volume, 'attachedMs', nowMs);
  }

  #beginDetach(volume: Attached, nowMs: number): void {
    if (volume.isInUse) return;
    // First the status, so that the kubelet does not begin to use it; then the detach itself.
    volume.state = 'detaching';
    volume.sinceMs = nowMs;
    this.#report();
    this.#cluster.double.objects.delete('volumeattachments', '', volume.attachment);
  }

  #detach(volume: Attached, nowMs: number): void {
    if (nowMs - volume.sinceMs < (this.#orders.detachMs ?? 0)) return;
    if (volume.isMounted) this.#violation(volume, 'still mounted when it was detached');
    const { objects } = this.#cluster.double;
    objects.patch('volumeattachments', '', volume.attachment, { metadata: { finalizers: null } });
    this.#set(volume, 'detachedMs', nowMs);
    this.#volumes.delete(volume.unique);
  }

  /** Writes node.status.volumesAttached if it differs. */
  #report(): void {
    const node = this.#node();
    if (node === undefined) return;
    const names = [...this.#volumes.values()]
      .filter(({ state }) => state === 'attached')
      .map(({ unique }) => unique);
    const now = (node.status?.volumesAttached ?? []).map(({ name }) => name);
    if (JSON.stringify(now) === JSON.stringify(names)) return;
    const volumesAttached = names.map((name) => ({ name, devicePath: '' }));
    this.#cluster.double.objects.patch(
      'nodes',
      '',
      this.#cluster.nodeName,
      { status: { volumesAttached } },
      'status',
    );
  }

  #node() {
    return this.#cluster.double.objects.get('nodes', '', this.#cluster.nodeName);
  }

  /** By unique name: what the pods of the node need that has to be attached. */
  #wanted(): ReadonlyMap<string, Wanted> {
    const { objects } = this.#cluster.double;
    const wanted = new Map<string, Wanted>();
    for (const pod of objects.list('pods')) {
      const isOver = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
      if (pod.spec?.nodeName !== this.#cluster.nodeName || isOver) continue;
      for (const claimName of claimsOf(pod)) {
        const { namespace = 'default' } = pod.metadata ?? {};
        const volumeName =
          objects.get('persistentvolumeclaims', namespace, claimName)?.spec?.volumeName ?? '';
        const csi = objects.get('persistentvolumes', '', volumeName)?.spec?.csi;
        if (csi === undefined) continue;
        const { driver, volumeHandle: handle } = csi;
        if (objects.get('csidrivers', '', driver)?.spec.attachRequired === false) continue;
        wanted.set(uniqueVolumeName(handle, driver), { driver, handle, volumeName });
      }
    }
    return wanted;
  }

  #patchAttachment(name: string, status: object): void {
    this.#cluster.double.objects.patch('volumeattachments', '', name, { status }, 'status');
  }

  #violation({ handle }: Attached, what: string): void {
    this.violations.push(`${handle}: ${what}`);
  }

  #timesOf({ handle }: Attached): AttachTimes {
    const times = this.times.get(handle) ?? {};
    this.times.set(handle, times);
    return times;
  }

  #set(volume: Attached, step: keyof AttachTimes, nowMs: number): void {
    this.#timesOf(volume)[step] = nowMs;
  }
}

function finalizerOf(driver: string): string {
  return `external-attacher/${driver.replaceAll('.', '-')}`;
}

function claimsOf({ metadata, spec }: Pod): readonly string[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) =>
    persistentVolumeClaim !== undefined
      ? [persistentVolumeClaim.claimName]
      : ephemeral === undefined
        ? []
        : [`${metadata?.name}-${name}`],
  );
}

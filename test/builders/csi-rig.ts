// A node with one CSI driver, d.csi, whose mounts appear in a FakeVolumeHost, and the API objects that its volumes need.
import type { CSIDriver, PersistentVolume, Pod, Secret, VolumeAttachment } from '../../src/api/k8s/types.ts';
import type { CsiCapabilities } from '../../src/api/ports/csi.ts';
import type { StorageObjects } from '../../src/api/ports/storage-objects.ts';
import { Channel } from '../../src/base/channel.ts';
import { KubeletError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log/log.ts';
import { csiPlugin } from '../../src/volumes/csi/csi.ts';
import type { CsiPluginDeps } from '../../src/volumes/csi/deps.ts';
import { attachmentName } from '../../src/volumes/csi/names.ts';
import type { SetUpRequest, VolumeOnDisk, VolumePlugin, VolumeSpec } from '../../src/volumes/plugin.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { type FakeCsiDriver, FakeCsiDrivers } from '../fakes/fake-csi-drivers.ts';
import { FakePodObjects } from '../fakes/fake-pod-objects.ts';
import { FakeVolumeHost } from '../fakes/fake-volume-host.ts';
import { aPod, type PodOver } from './builders.ts';
import { noOwner } from './volume-requests.ts';

const csiDriverName = 'd.csi';
const csiNode = 'node-1';
export const csiLayout = { podsDir: '/root/pods', pluginsDir: '/root/plugins' };
export const csiRoot = `${csiLayout.pluginsDir}/kubernetes.io/csi`;

class MemoryStorageObjects implements StorageObjects {
  readonly csiDriversChanged = new Channel<string>();
  readonly drivers = new Map<string, CSIDriver>();
  readonly attachments = new Map<string, VolumeAttachment>();
  readonly secrets = new Map<string, Secret>();
  readonly reads: string[] = [];
  /** False before the first list of CSIDrivers. */
  isListed = true;
  patchClaimStatus = (): Promise<never> => Promise.reject(new Error('not used'));

  csiDriver(name: string, signal: AbortSignal): Promise<CSIDriver | undefined> {
    if (this.isListed) return Promise.resolve(this.drivers.get(name));
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }

  knownCsiDriver(name: string): CSIDriver | undefined | 'unknown' {
    return this.isListed ? this.drivers.get(name) : 'unknown';
  }

  volumeAttachment(name: string): Promise<VolumeAttachment> {
    return this.#read('volumeattachments.storage.k8s.io', name, this.attachments.get(name));
  }

  volumeSecret(namespace: string, name: string): Promise<Secret> {
    return this.#read('secrets', name, this.secrets.get(`${namespace}/${name}`));
  }

  #read<T>(kind: string, name: string, object: T | undefined): Promise<T> {
    this.reads.push(`${kind} ${name}`);
    if (object !== undefined) return Promise.resolve(object);
    return Promise.reject(new KubeletError('not-found', 'NotFound', `${kind} "${name}" not found`));
  }
}

type CsiSource = NonNullable<NonNullable<PersistentVolume['spec']>['csi']>;

export class CsiRig {
  readonly host = new FakeVolumeHost(csiLayout.podsDir);
  readonly drivers = new FakeCsiDrivers();
  readonly storage = new MemoryStorageObjects();
  readonly objects = new FakePodObjects();
  readonly clock = new FakeClock();
  readonly events: string[] = [];
  readonly driver: FakeCsiDriver;
  seLinux = { isEnabled: (): Promise<boolean> => Promise.resolve(false), everyAccessMode: true };

  constructor(capabilities: Partial<CsiCapabilities> = { stage: true }) {
    this.driver = this.drivers.add(csiDriverName, capabilities);
    this.drivers.register(this.driver);
    this.driver.onWork = (method, path) => this.#mirror(method, path);
    this.attach('h');
  }

  /** A kubelet process: it remembers nothing of an earlier one. */
  plugin(over: Partial<CsiPluginDeps> = {}): VolumePlugin {
    const { clock, drivers, host, objects, seLinux, storage } = this;
    const events = { pod: () => undefined, node: () => undefined };
    return csiPlugin({
      ownership: { host, events, clock, log: silentLogger },
      layout: csiLayout,
      drivers,
      storage,
      objects,
      nodeName: csiNode,
      seLinux,
      ...over,
    });
  }

  putDriver(spec: CSIDriver['spec']): void {
    const fsGroupPolicy = 'ReadWriteOnceWithFSType';
    this.storage.drivers.set(csiDriverName, { spec: { fsGroupPolicy, ...spec } });
  }

  attach(handle: string, status: VolumeAttachment['status'] = { attached: true }): void {
    const name = attachmentName({ driver: csiDriverName, handle }, csiNode);
    const spec = { attacher: csiDriverName, nodeName: csiNode, source: {} };
    this.storage.attachments.set(name, {
      metadata: { name },
      spec,
      ...(status === undefined ? {} : { status }),
    });
  }

  putSecret(name: string, values: Readonly<Record<string, string>>): void {
    const data = Object.entries(values).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
    this.storage.secrets.set(name, { data: Object.fromEntries(data) as Record<string, string> });
  }

  /** Mounts of drivers and of the kubelet, and everything on disk except parents. */
  remains(): readonly string[] {
    const ground = [
      '',
      '/root',
      csiLayout.podsDir,
      csiLayout.pluginsDir,
      `${csiLayout.pluginsDir}/kubernetes.io`,
    ];
    const kept = [
      ...ground,
      csiRoot,
      `${csiRoot}/${csiDriverName}`,
      ...['', '/staging', '/publish'].map((each) => `${csiRoot}/volumeDevices${each}`),
    ];
    const isParent = (path: string): boolean =>
      kept.includes(path) || /^\/root\/pods\/[^/]+(?:\/(?:volumes|volumeDevices)(?:\/[^/]+)?)?$/.test(path);
    return [
      ...this.host.mounts.map(({ path }) => `mount ${path}`),
      ...[...this.host.entries.keys(), ...this.host.links.keys()].filter((path) => !isParent(path)),
    ].sort();
  }

  /** What a driver does on the host. Its mounts of one volume have one source. */
  #mirror(method: 'stage' | 'unstage' | 'publish' | 'unpublish', path: string): void {
    const { driver, host } = this;
    const at = host.mounts.findIndex((mount) => mount.path === path);
    const isBlock = path.includes('/volumeDevices/');
    if (method === 'stage' || method === 'publish') {
      const staged = [...driver.staged].find(([, each]) => each.path === path)?.[0];
      const options = staged ?? driver.published.get(path)?.volumeId ?? '';
      if (isBlock && method === 'stage') return;
      host.entries.set(path, isBlock ? 'block-device' : 'directory');
      if (at === -1) host.mounts.push({ path, fsType: 'ext4', options });
      return;
    }
    if (at !== -1) host.mounts.splice(at, 1);
    if (method === 'unpublish') host.entries.delete(path);
  }
}

export interface CsiSpecOver {
  readonly csi?: Partial<CsiSource>;
  readonly pv?: Partial<NonNullable<PersistentVolume['spec']>>;
  readonly spec?: Partial<VolumeSpec>;
}

/** The claim v of a pod, bound to the PersistentVolume pv. */
export function aCsiSpec({ csi, pv, spec }: CsiSpecOver = {}): VolumeSpec {
  const source = { driver: csiDriverName, volumeHandle: 'h', ...csi };
  return {
    name: 'v',
    directoryName: 'pv',
    source: {},
    readOnly: false,
    mountOptions: pv?.mountOptions ?? [],
    persistent: { metadata: { name: 'pv' }, spec: { accessModes: ['ReadWriteOnce'], ...pv, csi: source } },
    isBlock: pv?.volumeMode === 'Block',
    ...spec,
  };
}

export function anInlineSpec(
  csi: Partial<CsiSource> & { readonly nodePublishSecretRef?: object } = {},
): VolumeSpec {
  const source = { csi: { driver: csiDriverName, ...csi } };
  return {
    name: 'v',
    directoryName: 'v',
    source,
    readOnly: false,
    mountOptions: [],
    persistent: undefined,
    isBlock: false,
  };
}

export function aCsiRequest(
  spec: VolumeSpec = aCsiSpec(),
  over: Partial<SetUpRequest> & { readonly podOver?: PodOver } = {},
): SetUpRequest {
  const { podOver, ...rest } = over;
  const pod: Pod = over.pod ?? aPod({ serviceAccountName: 'sa', ...podOver });
  return { pod, spec, path: csiOnDisk(spec, pod).path, owner: noOwner, isRemount: false, ...rest };
}

export function csiOnDisk({ directoryName, isBlock }: VolumeSpec, pod: Pod = aPod()): VolumeOnDisk {
  const uid = pod.metadata?.uid ?? '';
  const kind = isBlock ? 'volumeDevices' : 'volumes';
  return {
    uid,
    directoryName,
    path: `${csiLayout.podsDir}/${uid}/${kind}/kubernetes.io~csi/${directoryName}`,
  };
}

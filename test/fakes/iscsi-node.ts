// A node with the iscsi plugin and two portals of one target in memory, and short forms for tests.
import type { Secret } from '../../src/api/k8s/types.ts';
import { describeError, KubeletError } from '../../src/base/errors.ts';
import { iscsiPlugin } from '../../src/volumes/iscsi/iscsi.ts';
import type { SetUpRequest, VolumePlugin } from '../../src/volumes/plugin.ts';
import { aSetUpRequest } from '../builders/volume-requests.ts';
import { type Death, DiskRig } from './disk-rig.ts';
import { FakeIscsi } from './fake-iscsi.ts';

export const iqn = 'iqn.2016-04.test.com:storage.target00';
export const portal = '10.0.0.1:3260';
export const second = '10.0.0.2:3260';
export const iscsiSource = {
  targetPortal: '10.0.0.1',
  iqn,
  lun: 0,
  iscsiInterface: 'default',
  fsType: 'ext4',
};
export const iscsiRoot = '/root/plugins/kubernetes.io/iscsi';
/** The global mount and the name of the volume of `iscsiSource`. */
export const place = `${iscsiRoot}/iface-default/${portal}-${iqn}-lun-0`;
export const attachName = `kubernetes.io/iscsi/10.0.0.1:${iqn}:0`;
export const admin = (text: string): string => `iscsiadm ${text}`;
export const clean = { left: [], sessions: [], nodes: [], ifaces: ['default'], disks: [] };

/** Empty directories of interfaces and of block devices may stay, as upstream leaves them. */
const emptyDirectory = /^\/root\/plugins\/kubernetes\.io\/iscsi(?:\/volumeDevices)?(?:\/iface-[^/]*)?$/;

const secretData: Record<string, string> = {
  'discovery.sendtargets.auth.username': 'finder',
  'discovery.sendtargets.auth.password': 'hunter1',
  'node.session.auth.username': 'user',
  'node.session.auth.password': 'hunter2',
};

type Over = Partial<typeof iscsiSource> & Record<string, unknown>;
type Rest = Parameters<typeof aSetUpRequest>[2];

export function iscsiRequest(over: Over = {}, rest: Rest = {}): SetUpRequest {
  return aSetUpRequest('iscsi', { iscsi: { ...iscsiSource, ...over } }, rest);
}

export class IscsiNode extends DiskRig {
  readonly iscsi = new FakeIscsi(this.programs, this.devices);
  readonly signal = new AbortController().signal;
  /** The secrets that were read: namespace/name. */
  readonly secrets: string[] = [];

  constructor() {
    super();
    for (const each of [portal, second, '[fd00::1]:3260', 'san-1.example.com:3260'])
      this.iscsi.targets.set(each, { iqn, luns: [0, 1] });
  }

  /** The plugin of a new kubelet process. */
  newPlugin(death?: Death): VolumePlugin {
    const storage = {
      volumeSecret: (namespace: string, secret: string): Promise<Secret> => {
        this.secrets.push(`${namespace}/${secret}`);
        if (secret === 'none')
          return Promise.reject(new KubeletError('not-found', 'NotFound', 'secrets "none" not found'));
        const data = Object.fromEntries(
          Object.entries(secretData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
        );
        return Promise.resolve({ apiVersion: 'v1', kind: 'Secret', data });
      },
    };
    return iscsiPlugin({ ...this.deps(death), storage });
  }

  async setUp(plugin: VolumePlugin, over: Over = {}, rest: Rest = {}): Promise<unknown> {
    return await this.clock.until(plugin.setUp(iscsiRequest(over, rest), this.signal));
  }

  /** `done`, or the error. */
  async tried(plugin: VolumePlugin, over: Over = {}, rest: Rest = {}): Promise<string> {
    return await this.setUp(plugin, over, rest).then(() => 'done', describeError);
  }

  async failure(plugin: VolumePlugin, over: Over = {}): Promise<unknown> {
    return await this.setUp(plugin, over).then(
      () => undefined,
      (err: unknown) => err,
    );
  }

  mountLines(): readonly string[] {
    return this.host.mounts.map(({ path, options }) => `${options} on ${path}`);
  }

  /** What a release should have removed. */
  remains(): unknown {
    return {
      left: this.leftovers(iscsiRoot).filter((each) => !emptyDirectory.test(each)),
      sessions: this.iscsi.sessions,
      nodes: [...this.iscsi.nodes.keys()],
      ifaces: [...this.iscsi.ifaces.keys()],
      disks: [...this.devices.links.keys()],
    };
  }
}

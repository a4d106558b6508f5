// The pods with CSI volumes that two kubelets run in turn: those that run, those that run after failures, and those that cannot.
import type { Pod, Volume } from '../../src/api/k8s/types.ts';
import { waitFor } from '../rig/wait.ts';
import type { CsiDriver } from './csi-driver.ts';
import { claimVolume, requestExpansion } from './csi-objects.ts';
import { type CsiPeerNode, drivers } from './csi-peer-node.ts';
import { container, exitsOnTerm, type ManifestOver } from './manifest.ts';

type Claim = Parameters<CsiPeerNode['csi']['claim']>[0];

const secretRef = (name: string) => ({ name, namespace: 'default' });
const quiet = { automountServiceAccountToken: false } as const;
const fsGroup = { securityContext: { fsGroup: 2000 } } as const;
const ebs = { volumeID: 'aws://zone-a/vol-1', fsType: 'ext4', partition: 2 };

export class CsiPeerPods {
  readonly #node: CsiPeerNode;
  readonly #ready = new Set<string>();

  constructor(node: CsiPeerNode) {
    this.#node = node;
  }

  #driver(name: string): CsiDriver {
    const found = this.#node.csi.drivers.find((driver) => driver.name === name);
    if (found === undefined) throw new Error(`no driver ${name}`);
    return found;
  }

  #claim(name: string, over: Partial<Claim> = {}): void {
    this.#node.csi.claim({ name, ...over });
  }

  /** Creates a pod with these volumes, each at a path of its name. */
  #pod(name: string, volumes: readonly (string | Volume)[], over: ManifestOver = {}): void {
    this.#node.csi.createWith(name, volumes, { ...quiet, ...over });
  }

  /** Creates a pod with these claims as devices. */
  #rawPod(name: string, claims: readonly string[]): void {
    const volumeDevices = claims.map((claim) => ({ name: claim, devicePath: `/dev/${claim}` }));
    const containers = [container('main', exitsOnTerm, { volumeDevices })];
    this.#node.csi.create(name, { ...quiet, volumes: claims.map((claim) => claimVolume(claim)), containers });
  }

  /** The volume of the claim is one of this source. */
  #becomes(name: string, source: Readonly<Record<string, unknown>>): void {
    this.#node.csi.objects.patch('persistentvolumes', '', name, { spec: { csi: null, ...source } });
  }

  async #untilReady(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.#node.cluster.untilReady(name);
      this.#ready.add(name);
    }
  }

  #secret(name: string): void {
    this.#node.csi.objects.create('secrets', {
      metadata: { name, namespace: 'default' },
      data: { word: Buffer.from(`word of ${name}`).toString('base64') },
    });
  }

  /** Pods whose volumes are staged and published at the first attempt. */
  async run(): Promise<void> {
    for (const name of ['stage', 'publish', 'inline']) this.#secret(name);
    this.#claim('ext4-shared', {
      csi: {
        fsType: 'ext4',
        volumeAttributes: { shape: 'round' },
        nodeStageSecretRef: secretRef('stage'),
        nodePublishSecretRef: secretRef('publish'),
      },
      volume: { mountOptions: ['noexec', 'noatime'] },
    });
    this.#pod('first', ['ext4-shared'], fsGroup);
    this.#claim('readable', { accessModes: ['ReadOnlyMany', 'ReadWriteMany'] });
    this.#pod('reader', [
      { name: 'readable', persistentVolumeClaim: { claimName: 'readable', readOnly: true } },
    ]);
    this.#claim('told', { driver: drivers.informed, csi: { nodePublishSecretRef: secretRef('publish') } });
    const nodePublishSecretRef = { name: 'inline' };
    const inline = {
      driver: drivers.informed,
      fsType: 'ext4',
      volumeAttributes: { shape: 'flat' },
      nodePublishSecretRef,
    };
    const inlines: readonly Volume[] = [
      { name: 'inline', csi: inline },
      { name: 'inline-read', csi: { driver: drivers.informed, readOnly: true } },
    ];
    this.#pod('informed', ['told', ...inlines], fsGroup);
    this.#claim('grouped', { driver: drivers.grouping, accessModes: ['ReadWriteOncePod'] });
    this.#pod('grouped', ['grouped'], fsGroup);
    this.#claim('block-raw', { volumeMode: 'Block' });
    this.#rawPod('raw', ['block-raw']);
    this.#generic('owner');
    this.#claim('attached-files', { driver: drivers.attached });
    this.#claim('block-attached', { driver: drivers.attached, volumeMode: 'Block' });
    this.#pod('attached', ['attached-files']);
    this.#rawPod('attached-raw', ['block-attached']);
    this.#claim('migrated', { driver: drivers.migrated });
    this.#becomes('migrated', { awsElasticBlockStore: ebs });
    this.#pod('migrated', ['migrated']);
    const inTree = { name: 'ebs', awsElasticBlockStore: { ...ebs, volumeID: 'vol-2' } } as Volume;
    this.#pod('migrated-inline', [inTree]);
    await this.#untilReady('first', 'raw', 'grouped');
    this.#pod('second', ['ext4-shared'], fsGroup);
    this.#rawPod('raw-too', ['block-raw']);
    await this.#untilReady(
      'reader',
      'informed',
      'owner',
      'attached',
      'attached-raw',
      'migrated',
      'migrated-inline',
    );
    await this.#untilReady('second', 'raw-too');
  }

  #generic(name: string): void {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } };
    this.#pod(name, [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec } } }]);
    const { uid = '' } = this.#node.cluster.pod(name)?.metadata ?? {};
    this.#claim(`${name}-scratch`);
    const owner = { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true };
    const metadata = { ownerReferences: [owner] };
    this.#node.csi.objects.patch('persistentvolumeclaims', 'default', `${name}-scratch`, { metadata });
  }

  /** Volumes that grow while they are used and before, on storage that supports it, refuses it and fails. */
  async expand(): Promise<void> {
    const { cluster } = this.#node;
    const online = ['recovered', 'legacy', 'refused', 'fails', 'busy', 'unavailable'];
    for (const name of online) this.#claim(`tmpfs-${name}`);
    this.#claim('block-grows', { volumeMode: 'Block' });
    this.#claim('ungrown', { driver: drivers.grouping });
    const offline = ['offline', 'offline-legacy', 'offline-refused', 'offline-busy'];
    for (const name of offline) this.#claim(`tmpfs-${name}`);
    const fault = (
      volume: string,
      code: 'OUT_OF_RANGE' | 'INTERNAL' | 'FAILED_PRECONDITION' | 'UNAVAILABLE',
      times?: number,
    ) => ({
      method: 'NodeExpandVolume',
      volume,
      code,
      message: `no growth (${code})`,
      ...(times === undefined ? {} : { times }),
    });
    this.#driver(drivers.main).setFaults(
      fault('tmpfs-refused', 'OUT_OF_RANGE'),
      fault('tmpfs-fails', 'INTERNAL', 1),
      fault('tmpfs-busy', 'FAILED_PRECONDITION'),
      fault('tmpfs-unavailable', 'UNAVAILABLE', 1),
      fault('tmpfs-offline-refused', 'OUT_OF_RANGE'),
      fault('tmpfs-offline-busy', 'FAILED_PRECONDITION'),
    );
    for (const name of online) this.#pod(`grows-${name}`, [`tmpfs-${name}`]);
    this.#rawPod('grows-raw', ['block-grows']);
    this.#pod('grows-ungrown', ['ungrown']);
    await this.#untilReady(...online.map((name) => `grows-${name}`), 'grows-raw', 'grows-ungrown');
    const grow = (name: string, recovery: boolean): void =>
      requestExpansion(cluster, name, '64Mi', { recovery });
    for (const name of online) grow(`tmpfs-${name}`, name !== 'legacy');
    grow('block-grows', true);
    grow('ungrown', true);
    for (const name of offline) {
      grow(`tmpfs-${name}`, name !== 'offline-legacy');
      this.#pod(`grows-${name}`, [`tmpfs-${name}`]);
    }
    await this.#untilReady(...offline.map((name) => `grows-${name}`));
    for (const name of ['recovered', 'legacy', 'fails', 'unavailable', 'offline', 'offline-legacy'])
      await this.#untilClaim(`tmpfs-${name}`, /"capacity":\{"storage":"64Mi"\}/);
    await this.#untilClaim('block-grows', /"capacity":\{"storage":"64Mi"\}/);
    for (const name of ['refused', 'offline-refused'])
      await this.#untilClaim(`tmpfs-${name}`, /NodeResizeInfeasible/);
    await this.#driver(drivers.main).untilCalls('NodeExpandVolume', 10);
    for (const name of ['tmpfs-busy', 'tmpfs-offline-busy', 'ungrown'])
      await this.#untilClaim(name, /NodeResizeInProgress|NodeResizeError/);
  }

  async #untilClaim(name: string, text: RegExp): Promise<void> {
    await waitFor(
      () => {
        const status = JSON.stringify(
          this.#node.csi.objects.get('persistentvolumeclaims', 'default', name)?.status,
        );
        if (text.test(status)) return true;
        throw new Error(status);
      },
      `the status of claim ${name} to have ${text}`,
      60_000,
    );
  }

  /** Pods whose volumes are mounted, or removed, after errors of the driver. */
  async recover(): Promise<void> {
    const files = [
      'stage-final',
      'stage-open',
      'stage-done',
      'publish-final',
      'publish-open',
      'publish-done',
    ];
    const raw = ['stage-final', 'stage-open', 'publish-final', 'publish-open'];
    for (const name of [...files, 'unpublish', 'unstage']) this.#claim(name);
    for (const name of [...raw, 'unpublish', 'unstage'])
      this.#claim(`block-${name}`, { volumeMode: 'Block' });
    const codes = { final: 'INTERNAL', open: 'ABORTED', done: 'UNAVAILABLE' } as const;
    const fault = (volume: string) => {
      const [, verb = '', kind = 'final'] = /^(?:block-)?(\w+)(?:-(\w+))?$/.exec(volume) ?? [];
      const method = `Node${verb.charAt(0).toUpperCase()}${verb.slice(1)}Volume`;
      const code = codes[kind as keyof typeof codes];
      const when = kind === 'done' ? ('after' as const) : ('before' as const);
      return { method, volume, code, when, message: `no ${verb} of ${volume}`, times: 2 };
    };
    const volumes = [
      ...files,
      'unpublish',
      'unstage',
      ...[...raw, 'unpublish', 'unstage'].map((name) => `block-${name}`),
    ];
    this.#driver(drivers.main).setFaults(...volumes.map(fault));
    for (const name of [...files, 'unpublish', 'unstage']) this.#pod(`after-${name}`, [name]);
    for (const name of [...raw, 'unpublish', 'unstage'])
      this.#rawPod(`after-block-${name}`, [`block-${name}`]);
    await this.#untilReady(...volumes.map((name) => `after-${name}`));
  }

  /** Pods that do not start. */
  async refuse(): Promise<void> {
    this.#driver(drivers.main).setFaults(
      ...(['INVALID_ARGUMENT', 'DEADLINE_EXCEEDED'] as const).flatMap((code) =>
        ['Stage', 'Publish'].map((verb) => ({
          method: `Node${verb}Volume`,
          volume: `lost-${verb}-${code.toLowerCase()}`.toLowerCase().replaceAll('_', '-'),
          code,
          message: 'never',
        })),
      ),
    );
    const lost = ['stage', 'publish'].flatMap((verb) =>
      ['invalid-argument', 'deadline-exceeded'].map((code) => `lost-${verb}-${code}`),
    );
    for (const name of lost) this.#claim(name);
    this.#claim('absent', { driver: 'absent.example.com' });
    this.#claim('removed');
    this.#becomes('removed', { glusterfs: { endpoints: 'e', path: 'p' } });
    this.#claim('elsewhere', { volume: { nodeAffinity: affinity } });
    this.#claim('secretive', { csi: { nodePublishSecretRef: secretRef('missing') } });
    this.#claim('stage-secretive', { csi: { nodeStageSecretRef: secretRef('missing') } });
    this.#claim('block-mode', { volumeMode: 'Block' });
    this.#claim('file-mode');
    this.#claim('other');
    this.#node.csi.objects.patch('persistentvolumes', '', 'other', {
      spec: { claimRef: { uid: 'another' } },
    });
    const names = [...lost, 'absent', 'removed', 'elsewhere', 'secretive', 'stage-secretive', 'other'];
    for (const name of names) this.#pod(`no-${name}`, [name]);
    this.#pod('no-block-mode', ['block-mode']);
    this.#rawPod('no-file-mode', ['file-mode']);
    this.#pod('no-claim', ['nothing']);
    this.#pod('no-inline', [{ name: 'inline', csi: { driver: drivers.main } }]);
    this.#pod('no-inline-driver', [{ name: 'inline', csi: { driver: 'absent.example.com' } }]);
    this.#pod('no-lone', ['grouped']);
    this.#pod('no-removed-inline', [{ name: 'old', glusterfs: { endpoints: 'e', path: 'p' } } as Volume]);
    for (const pod of this.#node.csi.objects.list('pods', 'default'))
      if (!this.#ready.has(pod.metadata?.name ?? '')) await this.#untilRefused(pod);
  }

  async #untilRefused({ metadata }: Pod): Promise<void> {
    await waitFor(
      () => {
        const isRefused = this.#node.csi.messages('FailedMount', metadata?.name).length > 0;
        return isRefused || this.#node.csi.messages('FailedMapVolume', metadata?.name).length > 0;
      },
      `${metadata?.name} to be refused`,
      60_000,
    );
  }

  /**
   * Deletes all pods, and waits until no driver has a volume of them: first those that do not run, then those that share volumes, so
   * that the order of the calls is not left to chance.
   */
  async removeAll(): Promise<void> {
    const { cluster, csi } = this.#node;
    const names = csi.objects.list('pods', 'default').map(({ metadata }) => metadata?.name ?? '');
    const sharing = ['second', 'raw-too'];
    await this.#node.end(...names.filter((name) => !this.#ready.has(name)));
    await this.#node.end(...sharing);
    await this.#node.end(...names.filter((name) => this.#ready.has(name) && !sharing.includes(name)));
    await waitFor(() => this.#node.volumesInUse().length === 0, 'all volumes to be unstaged', 60_000);
    await waitFor(() => {
      const { volumesAttached = [], volumesInUse = [] } = cluster.node()?.status ?? {};
      return volumesAttached.length + volumesInUse.length === 0;
    }, 'all volumes to be detached');
  }
}

const affinity = {
  required: {
    nodeSelectorTerms: [
      { matchExpressions: [{ key: 'topology.example.com/zone', operator: 'In', values: ['elsewhere'] }] },
    ],
  },
};

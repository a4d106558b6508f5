// Creates the pods with CSI volumes that two kubelets run in turn, with their claims and volumes, and removes them.
import type { Pod, Volume } from '../../src/api/k8s/types.ts';
import { waitFor } from '../rig/wait.ts';
import type { CsiDriver } from './csi-driver.ts';
import { claimVolume } from './csi-objects.ts';
import type { CsiPeerNode } from './csi-peer-node.ts';
import { container, exitsOnTerm, type ManifestOver } from './manifest.ts';

type Claim = Parameters<CsiPeerNode['csi']['claim']>[0];

export const secretRef = (name: string) => ({ name, namespace: 'default' });
const quiet = { automountServiceAccountToken: false } as const;

export class CsiPeerPods {
  readonly node: CsiPeerNode;
  readonly #ready = new Set<string>();

  constructor(node: CsiPeerNode) {
    this.node = node;
  }

  driver(name: string): CsiDriver {
    const found = this.node.csi.drivers.find((driver) => driver.name === name);
    if (found === undefined) throw new Error(`no driver ${name}`);
    return found;
  }

  claim(name: string, over: Partial<Claim> = {}): void {
    this.node.csi.claim({ name, ...over });
  }

  /** Creates a pod with these volumes, each at a path of its name. */
  pod(name: string, volumes: readonly (string | Volume)[], over: ManifestOver = {}): void {
    this.node.csi.createWith(name, volumes, { ...quiet, ...over });
  }

  /** Creates a pod with these claims as devices. */
  rawPod(name: string, claims: readonly string[]): void {
    const volumeDevices = claims.map((claim) => ({ name: claim, devicePath: `/dev/${claim}` }));
    const containers = [container('main', exitsOnTerm, { volumeDevices })];
    this.node.csi.create(name, { ...quiet, volumes: claims.map((claim) => claimVolume(claim)), containers });
  }

  /** The volume of the claim is one of this source. */
  becomes(name: string, source: Readonly<Record<string, unknown>>): void {
    this.node.csi.objects.patch('persistentvolumes', '', name, { spec: { csi: null, ...source } });
  }

  /** Waits until the pods run. The others are expected not to. */
  async untilReady(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.node.cluster.untilReady(name);
      this.#ready.add(name);
    }
  }

  secret(name: string): void {
    this.node.csi.objects.create('secrets', {
      metadata: { name, namespace: 'default' },
      data: { word: Buffer.from(`word of ${name}`).toString('base64') },
    });
  }

  /** Creates a pod with a generic ephemeral volume. */
  generic(name: string): void {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } };
    this.pod(name, [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec } } }]);
    const { uid = '' } = this.node.cluster.pod(name)?.metadata ?? {};
    this.claim(`${name}-scratch`);
    const owner = { apiVersion: 'v1', kind: 'Pod', name, uid, controller: true };
    const metadata = { ownerReferences: [owner] };
    this.node.csi.objects.patch('persistentvolumeclaims', 'default', `${name}-scratch`, { metadata });
  }

  async untilClaim(name: string, text: RegExp): Promise<void> {
    await waitFor(
      () => {
        const status = JSON.stringify(
          this.node.csi.objects.get('persistentvolumeclaims', 'default', name)?.status,
        );
        if (text.test(status)) return true;
        throw new Error(status);
      },
      `the status of claim ${name} to have ${text}`,
      60_000,
    );
  }

  /** Waits until each pod that does not run has an event with the reason. */
  async untilOthersRefused(): Promise<void> {
    for (const pod of this.node.csi.objects.list('pods', 'default'))
      if (!this.#ready.has(pod.metadata?.name ?? '')) await this.#untilRefused(pod);
  }

  async #untilRefused({ metadata }: Pod): Promise<void> {
    await waitFor(
      () => {
        const isRefused = this.node.csi.messages('FailedMount', metadata?.name).length > 0;
        return isRefused || this.node.csi.messages('FailedMapVolume', metadata?.name).length > 0;
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
    const { cluster, csi } = this.node;
    const names = csi.objects.list('pods', 'default').map(({ metadata }) => metadata?.name ?? '');
    const sharing = ['second', 'raw-too'];
    await this.node.end(...names.filter((name) => !this.#ready.has(name)));
    await this.node.end(...sharing);
    await this.node.end(...names.filter((name) => this.#ready.has(name) && !sharing.includes(name)));
    await waitFor(() => this.node.volumesInUse().length === 0, 'all volumes to be unstaged', 60_000);
    await waitFor(() => {
      const { volumesAttached = [], volumesInUse = [] } = cluster.node()?.status ?? {};
      return volumesAttached.length + volumesInUse.length === 0;
    }, 'all volumes to be detached');
  }
}

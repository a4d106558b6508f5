// A node with CSI volumes that changes between this kubelet and a Go kubelet under running pods: the pods, and what must stay as it is.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Container, Pod } from '../../src/api/k8s/types.ts';
import { mountsBelow } from '../rig/mounts.ts';
import { waitFor } from '../rig/wait.ts';
import { claimVolume } from './csi-objects.ts';
import { type CsiPeerNode, drivers } from './csi-peer-node.ts';
import { CsiRecord } from './csi-peer-record.ts';
import { container, exitsOnTerm } from './manifest.ts';
import { podFacts, runtimeState } from './takeover-state.ts';

const settleMs = 60_000;

/** What is mounted, linked and recorded, without modes: a Go kubelet lets all users read vol_data.json. */
const isOfVolume = /vol_data\.json| mounted | -> /;

export class CsiTakeover {
  readonly node: CsiPeerNode;
  readonly #record: CsiRecord;

  constructor(node: CsiPeerNode) {
    this.node = node;
    this.#record = new CsiRecord(node);
  }

  /** Creates a pod with an own file system and device, ones that are attached, an inline volume and a shared one, and waits for it. */
  async create(name: string): Promise<void> {
    const { csi } = this.node;
    const { attached, informed } = drivers;
    if (csi.objects.get('persistentvolumes', '', 'ext4-shared') === undefined)
      csi.claim({ name: 'ext4-shared', csi: { fsType: 'ext4' } });
    csi.claim({ name: `tmpfs-${name}` });
    csi.claim({ name: `block-${name}`, volumeMode: 'Block' });
    csi.claim({ name: `files-${name}`, driver: attached });
    csi.claim({ name: `block-attached-${name}`, driver: attached, volumeMode: 'Block' });
    const files = ['ext4-shared', `tmpfs-${name}`, `files-${name}`];
    const devices = [`block-${name}`, `block-attached-${name}`];
    const uses: Partial<Container> = {
      volumeMounts: [...files, 'inline'].map((each) => ({ name: each, mountPath: `/${each}` })),
      volumeDevices: devices.map((each) => ({ name: each, devicePath: `/dev/${each}` })),
    };
    csi.create(name, {
      securityContext: { fsGroup: 2000 },
      volumes: [
        ...[...files, ...devices].map((each) => claimVolume(each)),
        { name: 'inline', csi: { driver: informed } },
      ],
      containers: [container('main', exitsOnTerm, uses)],
    });
    const pod = await this.node.cluster.untilReady(name);
    await csi.exec(pod, this.#script(name, 'echo $v > /$v/written; sync'));
    await csi.exec(pod, `echo ${name} | dd of=/dev/block-${name} bs=512 seek=8 conv=sync,fsync 2>/dev/null`);
  }

  #script(name: string, each: string): string {
    return `for v in ext4-shared tmpfs-${name} files-${name}; do ${each}; done`;
  }

  #pods(): readonly Pod[] {
    return this.node.csi.objects.list('pods', 'default');
  }

  /** What a successor must not change. */
  async state(): Promise<unknown> {
    const { csi, kubelet, rig } = this.node;
    const contents = this.#pods().map(async (pod) => {
      const name = pod.metadata?.name ?? '';
      const raw = `dd if=/dev/block-${name} bs=512 skip=8 count=1 2>/dev/null | tr -d '\\000'`;
      return [name, await csi.exec(pod, `${this.#script(name, 'cat /$v/written')}; ${raw}`)];
    });
    const written = await Promise.all(contents);
    // A Go kubelet removes the sandbox of a deleted pod a minute later.
    const isOfPod = (line: string): boolean =>
      this.#pods().some(({ metadata }) => line.startsWith(metadata?.name ?? ''));
    return {
      runtime: (await runtimeState(rig)).filter(isOfPod),
      mounts: mountsBelow(kubelet.rootDir).toSorted(),
      disk: this.#record
        .disk()
        .filter((line) => isOfVolume.test(line))
        .map((line) => line.replace(/(vol_data\.json: file) \d+/, '$1')),
      node: this.#record.nodeObjects(),
      pods: this.#pods().map(podFacts),
      contents: Object.fromEntries(written),
    };
  }

  /** Changes the kubelet; the next one must bring back the state once it has had every volume published. */
  async change(end: 'stop' | 'kill9', command: string | undefined): Promise<void> {
    const before = await this.state();
    const published = this.#publications();
    const fromMs = Date.now();
    await this.node.replace(end, command);
    await waitFor(
      () => {
        const again = this.#publications(fromMs);
        const left = [...published].filter((path) => !again.has(path));
        if (left.length === 0) return true;
        throw new Error(left.join('\n'));
      },
      'all volumes to be published again',
      settleMs,
    );
    await expect.poll(() => this.state(), { timeout: settleMs }).toEqual(before);
  }

  /** The target paths of volumes that are published, if the driver was called after the time. */
  #publications(fromMs = 0): ReadonlySet<string> {
    const { drivers: all } = this.node.csi;
    const current = new Set(
      all.flatMap((driver) => driver.volumes().flatMap((each) => Object.keys(each.published))),
    );
    const calls = all
      .flatMap((driver) => driver.calls('NodePublishVolume'))
      .filter(({ atMs }) => atMs >= fromMs);
    const paths = calls.map(({ request }) => (request as { readonly targetPath: string }).targetPath);
    return new Set(paths.filter((path) => current.has(path)));
  }

  /** Deletes a pod; nothing of it may be left, and the shared volume stays staged while another pod has it. */
  async end(name: string): Promise<void> {
    await this.node.end(name);
    const own = new RegExp(`[ -]${name}:|inline`);
    const count = this.#pods().length;
    await waitFor(
      () => {
        const left = this.node.volumesInUse().filter((line) => own.test(line) && !line.includes('csi-'));
        if (left.length === 0) return true;
        throw new Error(left.join('\n'));
      },
      `the volumes of ${name} to be removed`,
      settleMs,
    );
    const shared = this.node.volumesInUse().filter((line) => line.includes(' ext4-shared: '));
    expect(shared).toHaveLength(count === 0 ? 0 : count + 1);
  }

  /**
   * Deletes a pod, and changes the kubelet while a driver does not respond to the last call for it: other volumes of the pod are
   * unstaged by then. A Go kubelet would not find a volume that its predecessor has unpublished but not yet unstaged.
   */
  async endDuringChange(name: string, command: string | undefined): Promise<void> {
    const { csi } = this.node;
    const driver = csi.drivers.find((each) => each.name === drivers.main);
    driver?.setFaults({ method: 'NodeUnpublishVolume', volume: `tmpfs-${name}`, hang: true });
    csi.objects.delete('pods', 'default', name);
    const isLast = this.#pods().length === 1;
    const others = [
      ...(isLast ? [csi.stagingDir('ext4-shared', drivers.main)] : []),
      csi.stagingDir(`files-${name}`, drivers.attached),
      ...[`block-${name}`, `block-attached-${name}`].map((each) => join(csi.blockDir, each)),
    ];
    await waitFor(
      () => {
        const left = others.filter((path) => existsSync(path));
        const calls = driver?.calls('NodeUnpublishVolume') ?? [];
        if (left.length === 0 && calls.some(({ fault }) => fault?.volume === `tmpfs-${name}`)) return true;
        throw new Error(left.join('\n'));
      },
      'the driver to hang and the other volumes to be unstaged',
      settleMs,
    );
    await this.node.replace('kill9', command);
    driver?.clearFaults();
    await this.node.cluster.untilGone(name);
  }

  /** Calls that no kubelet should make. */
  violations(): readonly string[] {
    return [
      ...this.node.csi.drivers.flatMap((driver) => driver.violations()),
      ...this.node.controller.violations,
    ];
  }
}

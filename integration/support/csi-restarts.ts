// Pods with CSI volumes of all forms for tests that interrupt the kubelet, the driver and the node: a file system and a device from
// claims, and an inline volume.
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Container, Pod } from '../../src/api/k8s/types.ts';
import type { RequestLine, ResponseLine } from '../../test/csi-driver/call-log.ts';
import { readLines } from '../../test/csi-driver/volume-store.ts';
import { detachLoopDevices, loopDevicesOf, mountsBelow, unmountBelow } from '../rig/mounts.ts';
import { waitFor } from '../rig/wait.ts';
import type { CsiDriver } from './csi-driver.ts';
import type { CsiNode } from './csi-node.ts';
import { type CsiClaim, claimVolume } from './csi-objects.ts';
import { container, exitsOnTerm } from './manifest.ts';
import { untilNoTraces } from './pod-traces.ts';
import { endAllContainers } from './reboot.ts';

type ClaimOver = Pick<CsiClaim, 'csi'>;

export class CsiPods {
  readonly #node: CsiNode;
  readonly #driver: CsiDriver;

  constructor(node: CsiNode, driver: CsiDriver) {
    this.#node = node;
    this.#driver = driver;
  }

  /** Creates the claims of one pod, or of pods that share them. */
  claim(name: string, over: ClaimOver = {}): void {
    const driver = this.#driver.name;
    this.#node.claim({ name: `files-${name}`, driver, ...over });
    this.#node.claim({ name: `block-${name}`, driver, volumeMode: 'Block', ...over });
  }

  /** The handles of the volumes of these claims. */
  handles(claims: string): readonly string[] {
    return [`files-${claims}`, `block-${claims}`];
  }

  /** The calls of the driver for a volume. */
  callsFor(handle: string): ReturnType<CsiDriver['calls']> {
    return this.#driver
      .calls()
      .filter(({ request }) => (request as { readonly volumeId?: string }).volumeId === handle);
  }

  /** Creates a pod with a file system at /files, a device at /dev/raw, and an inline volume at /inline. */
  create(name: string, claims = name): Pod {
    const volumes = [
      claimVolume('files', `files-${claims}`),
      claimVolume('raw', `block-${claims}`),
      { name: 'inline', csi: { driver: this.#driver.name } },
    ];
    const uses: Partial<Container> = {
      volumeMounts: ['files', 'inline'].map((each) => ({ name: each, mountPath: `/${each}` })),
      volumeDevices: [{ name: 'raw', devicePath: '/dev/raw' }],
    };
    return this.#node.create(name, { volumes, containers: [container('main', exitsOnTerm, uses)] });
  }

  /** Deletes the pod from the API server at once, as if its node were lost. */
  lose(name: string): void {
    this.#node.objects.delete('pods', 'default', name, { gracePeriodSeconds: 0 });
  }

  /** Begins the pod's termination. */
  delete(name: string): void {
    this.#node.objects.delete('pods', 'default', name);
  }

  /** Waits until the pod is Ready; its volumes must be the right ones, each mounted once now, and so often in all. */
  async untilWhole(
    name: string,
    { claims = name, mounted = 1 }: { readonly claims?: string; readonly mounted?: number } = {},
  ): Promise<Pod> {
    const driver = this.#driver;
    const pod = await this.#node.cluster.untilReady(name);
    const [files = '', raw = ''] = this.handles(claims);
    expect(await this.#node.exec(pod, 'head -qn 1 /files/csi-volume.json /dev/raw; ls /inline')).toBe(
      `{"handle":"${files}","kind":"directory"}\n{"handle":"${raw}","kind":"block"}\ncsi-volume.json\n`,
    );
    const uid = pod.metadata?.uid ?? '';
    const found = driver.mounts().filter(({ path, volume }) => path.includes(uid) || volume === files);
    const staged = found.filter(({ role }) => role === 'staging');
    expect(staged.map(({ count, volume }) => [volume, count])).toEqual([[files, 1]]);
    const published = found.filter(({ path }) => path.includes(uid));
    expect(published.map(({ count }) => count)).toEqual([1, 1, 1]);
    expect([name, driver.mountCount(files, join(this.#node.volumeDir(pod, files), 'mount'))]).toEqual([
      name,
      mounted,
    ]);
    return pod;
  }

  /** Waits until nothing is left of a pod that the API server no longer has. */
  async untilNothing(pod: Pod): Promise<void> {
    await this.#node.cluster.untilGone(pod.metadata?.name ?? '');
    await untilNoTraces(this.#node.rig, this.#node.kubelet, pod);
  }

  /** Ends all pods of the node; nothing of their volumes may stay. */
  async endAll(): Promise<void> {
    const all = this.#node.objects.list('pods', 'default');
    for (const { metadata } of all) this.delete(metadata?.name ?? '');
    for (const pod of all) await this.untilNothing(pod);
    await this.#node.untilNoLeftovers();
    const dirs = this.#node.drivers.map(({ dataDir }) => dataDir);
    await waitFor(() => dirs.flatMap(loopDevicesOf).length === 0, 'the devices to be detached');
  }

  /** Kills the kubelet, the driver and all containers, and removes the mounts and devices, as a reboot does. */
  async reboot(): Promise<void> {
    const { kubelet, rig } = this.#node;
    await kubelet.kill9();
    await this.#driver.kill9();
    await endAllContainers(rig);
    for (const dir of [kubelet.rootDir, this.#driver.dataDir]) {
      // A device of the kubelet has its file in a mount.
      await detachLoopDevices(dir);
      await waitFor(async () => {
        await unmountBelow(dir);
        return mountsBelow(dir).length === 0;
      }, `nothing to be mounted below ${dir}`);
      await detachLoopDevices(dir);
    }
  }
}

/** What identifies the first run of a container. */
export function runOf({ status }: Pod): readonly { readonly id?: string; readonly restarts: number }[] {
  return (status?.containerStatuses ?? []).map(({ containerID: id = '', restartCount: restarts }) => ({
    id,
    restarts,
  }));
}

/** Waits until the driver has completed all calls, also those whose client is gone, which it continues. */
export async function untilIdle(driver: CsiDriver): Promise<void> {
  await waitFor(() => {
    const lines = readLines(join(driver.dir, 'calls.jsonl')) as readonly (RequestLine | ResponseLine)[];
    const ended = new Set(
      lines.flatMap((line) => ('answers' in line && line.code !== 'CANCELLED' ? [line.answers] : [])),
    );
    const open = lines.filter((line) => 'method' in line && line.pid === driver.pid && !ended.has(line.id));
    if (open.length === 0) return true;
    throw new Error(`in flight: ${JSON.stringify(open)}`);
  }, 'the CSI driver to complete its calls');
}

/** Waits until the driver has received so many more calls, or for some seconds. */
export async function untilMoreCalls(driver: CsiDriver, count: number): Promise<void> {
  const before = driver.calls().length;
  await waitFor(() => driver.calls().length >= before + count, 'calls', 3_000).catch(() => undefined);
}

/** A generator of numbers in [0, 1) that returns the same ones for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

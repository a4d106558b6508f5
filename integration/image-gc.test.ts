// Image garbage collection on a small image file system: what goes first, what stays, pull records, events, restarts.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildBusyboxImage } from './rig/images.ts';
import type { Kubelet, KubeletOptions } from './rig/kubelet.ts';
import { buildImage, ociArchive } from './rig/oci.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { shortTimers } from './support/short-timers.ts';
import { TestPods } from './support/test-pods.ts';

const mebibyte = 1024 ** 2;
const imageFsBytes = 256 * mebibyte;
/** Twice that on disk: the layer and its unpacked files. */
const imageBytes = 6 * mebibyte;
const periodMs = 1_500;
const pinned = 'rig.local/pinned:1';

describeOnRig('image garbage collection', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let options: KubeletOptions;
  const own = new TestPods(() => kubelet);

  beforeAll(async () => {
    rig = await startRig({ imageFsBytes });
    options = {
      env: shortTimers(rig.workspace.dir, 300_000, periodMs),
      flags: ['--image-gc-keep=rig.local/kept,rig.local/tools/*'],
      config: { imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 79, imageMinimumGCAge: '1ms' },
    };
    kubelet = await rig.kubelet(options);
  });
  afterAll(async () => {
    await rig.stop();
    expect(await rig.leftovers()).toEqual([]);
  });

  const filler = (): string => join(rig.containerd.paths.root, 'filler');
  /** Fills the image file system up to this part of it. */
  function fillTo(share: number): void {
    rmSync(filler(), { force: true });
    const { bavail, blocks, bsize } = statfsSync(rig.containerd.paths.root);
    const bytes = Math.ceil((share * blocks - (blocks - bavail)) * bsize);
    if (bytes > 0) writeFileSync(filler(), Buffer.alloc(bytes));
  }

  async function importImage(name: string): Promise<void> {
    const content = randomBytes(imageBytes);
    const image = await buildImage({ layers: [[{ path: 'data', content }]] });
    const archive = join(rig.workspace.dir, 'image.tar');
    writeFileSync(archive, await ociArchive({ [name]: image }));
    await rig.ctr('images', 'import', '--snapshotter', rig.containerd.snapshotter, archive);
    rmSync(archive);
    await rig.waitForImage(name);
  }

  /** Puts an image with busybox into the registry. */
  async function publish(name: string): Promise<string> {
    const content = randomBytes(imageBytes);
    return rig.registry.add(name, await buildBusyboxImage(name, [{ path: 'data', content }]));
  }

  const names = async (): Promise<readonly string[]> => {
    const { images } = await rig.cri.listImages({});
    return images.flatMap(({ repoTags }) => repoTags);
  };
  const untilGone = (name: string): Promise<unknown> =>
    waitFor(async () => !(await names()).includes(name), `removal of ${name}`);
  const recordsOf = (name: string): readonly string[] => {
    const directory = join(kubelet.rootDir, 'image_manager', 'pulled');
    const files = existsSync(directory) ? readdirSync(directory) : [];
    return files.filter((file) =>
      readFileSync(join(directory, file), 'utf8').includes(name.split(':1')[0] ?? ''),
    );
  };
  const collections = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 2.5 * periodMs));
  const pod = (name: string, image: string) =>
    manifest(name, { containers: [container('main', exitsOnTerm, { image })] });
  async function runOnce(name: string, image: string): Promise<void> {
    await own.start(name, pod(name, image));
    await collections();
    own.remove(name);
    await waitFor(async () => (await kubelet.pod(name)) === undefined, `${name} to end`);
  }

  test('the least recently used image goes first, with its pull record; used and kept ones stay', async () => {
    const [older, newer, used] = await Promise.all(['older/app:1', 'newer/app:1', 'used/app:1'].map(publish));
    if (older === undefined || newer === undefined || used === undefined) throw new Error('no images');
    await importImage('rig.local/kept:1');
    await importImage('rig.local/tools/debug:1');
    await own.start('used', pod('used', used));
    await runOnce('older', older);
    await runOnce('newer', newer);
    // Never used, so that it goes before all others.
    await importImage('rig.local/stray:1');
    await collections();
    expect(recordsOf(older)).toHaveLength(1);
    fillTo(0.803);
    await untilGone('rig.local/stray:1');
    await collections();
    expect(await names()).toEqual(expect.arrayContaining([older, newer, used]));

    fillTo(0.803);
    await untilGone(older);
    await waitFor(() => recordsOf(older).length === 0, 'the pull record to be pruned');
    expect(await names()).toEqual(
      expect.arrayContaining([newer, used, 'rig.local/kept:1', 'rig.local/tools/debug:1', rig.images.pause]),
    );
    expect([recordsOf(newer).length, recordsOf(used).length]).toEqual([1, 1]);
    expect(kubelet.log.matching(/FreeDiskSpaceFailed/)).toEqual([]);
  });

  test('what is used, kept or the sandbox image stays when nothing else is left, and events report it', async () => {
    rmSync(filler());
    // Its pod is no longer active; the exited container alone uses the image.
    const done = await publish('done/app:1');
    const containers = [container('main', 'exit 0', { image: done })];
    own.write('done', manifest('done', { containers, restartPolicy: 'Never' }));
    await waitFor(
      async () => (await kubelet.pod('done'))?.status?.phase === 'Succeeded',
      'the pod to succeed',
    );
    await importImage(pinned);
    await rig.ctr('images', 'label', pinned, 'io.cri-containerd.pinned=pinned');
    await collections();
    fillTo(0.95);
    const { images } = await rig.cri.listImages({});
    const isPinned = images.some((image) => image.repoTags.includes(pinned) && image.pinned);
    // containerd 1.6 does not report pinned images.
    const { runtimeVersion } = await rig.cri.version({});
    expect(isPinned).toBe(!/^v?1\.6\./.test(runtimeVersion));
    const line = await kubelet.log.waitForLine(/Event occurred.*FreeDiskSpaceFailed/);
    expect(line).toMatch(
      /Insufficient free disk space on the node's image filesystem \(9[56]% of 256\.0 MiB used\)\. Failed to free sufficient space by deleting unused images \(freed \d+ bytes\)\./,
    );
    await kubelet.log.waitForLine(/Event occurred.*ImageGCFailed/);
    expect((await names()).toSorted()).toEqual(
      [
        `${rig.registry.host}/used/app:1`,
        done,
        'rig.local/kept:1',
        'rig.local/tools/debug:1',
        rig.images.pause,
        ...(isPinned ? [pinned] : []),
      ].toSorted(),
    );
    const metrics = (await kubelet.secure('/metrics')).text;
    expect(metrics).toMatch(/kubelet_image_garbage_collected_total\{reason="space"\} [2-6]\n/);
    // The images that went are pulled again.
    rmSync(filler());
    await own.start('again', pod('again', `${rig.registry.host}/older/app:1`));
    own.remove('again');
  });

  test('a restarted kubelet counts all images as new', async () => {
    await importImage('rig.local/stray:2');
    await kubelet.kill9();
    fillTo(0.9);
    const from = kubelet.log.end;
    kubelet = rig.newKubelet({ ...options, config: { ...options.config, imageMinimumGCAge: '6s' } });
    await kubelet.start();
    const line = await kubelet.log.waitForLine(/Event occurred.*FreeDiskSpaceFailed/, { from });
    expect(line).toContain('(freed 0 bytes)');
    expect(await names()).toContain('rig.local/stray:2');
    await untilGone('rig.local/stray:2');
  });
});

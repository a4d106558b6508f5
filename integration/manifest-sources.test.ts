// The ways a manifest can come to the kubelet: directory or file, YAML or JSON, several in one, swapped by a link.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Kubelet, KubeletOptions } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { mustRun } from './rig/process.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { manifest } from './support/manifest.ts';
import { uidOf, untilNoPod, untilRunning } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';

/** How long a change may go unnoticed. */
const noticeMs = 1000;

function yaml(name: string, label = 'x'): string {
  return `apiVersion: v1
kind: Pod
metadata:
  name: ${name}
  labels: {app: ${label}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: docker.io/library/busybox:1
    command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 2147483647 & wait $!; done"]
`;
}

describeOnRig('manifest sources', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let count = 0;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  // A kubelet of its own for each: two on one runtime would end each other's pods.
  beforeEach(() => {
    count += 1;
  });
  afterEach(async () => {
    if (kubelet.running) expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
    await rig.removeAllPods();
  });

  const start = async (options: KubeletOptions = {}): Promise<void> => {
    kubelet = await rig.kubelet({ name: `k${count}`, nodeName: 'node', ...options });
  };
  const names = async (): Promise<readonly string[]> =>
    (await kubelet.pods()).map(({ metadata }) => metadata?.name ?? '').toSorted();

  test('YAML, several documents in one file, and JSON', async () => {
    await start();
    kubelet.writeManifest('several.yaml', `${yaml('one')}---\n# nothing here\n---\n${yaml('two')}`);
    kubelet.writeManifest('pod.json', manifest('three'));
    for (const name of ['one', 'two', 'three']) await untilRunning(kubelet, name);
    expect(await names()).toEqual(['one-node', 'three-node', 'two-node']);
    kubelet.writeManifest('several.yaml', yaml('two'));
    await untilNoPod(kubelet, 'one');
    expect(await names()).toEqual(['three-node', 'two-node']);
  });

  test('files whose name begins with a dot, and folders, are no manifests', async () => {
    await start();
    writeFileSync(join(kubelet.manifestDir, '.hidden.yaml'), yaml('hidden'));
    mkdirSync(join(kubelet.manifestDir, 'folder'));
    writeFileSync(join(kubelet.manifestDir, 'folder', 'inside.yaml'), yaml('inside'));
    kubelet.writeManifest('seen', yaml('seen'));
    await untilRunning(kubelet, 'seen');
    expect(await names()).toEqual(['seen-node']);
  });

  test('one file instead of a directory', async () => {
    const dir = join(rig.workspace.dir, 'single');
    mkdirSync(dir);
    const file = join(dir, 'pod.yaml');
    writeFileSync(file, yaml('single'));
    await start({ flags: [`--pod-manifest-path=${file}`] });
    const before = await untilRunning(kubelet, 'single');
    // A neighbour is nobody's manifest, and the file may be replaced under its name.
    writeFileSync(join(dir, 'neighbour.yaml'), yaml('neighbour'));
    writeFileSync(join(dir, 'fresh'), yaml('single', 'other'));
    renameSync(join(dir, 'fresh'), file);
    await waitFor(
      async () => uidOf((await kubelet.pod('single')) ?? {}) !== uidOf(before),
      'the file to be noticed',
      noticeMs,
    );
    await untilRunning(kubelet, 'single');
    expect(await names()).toEqual(['single-node']);
    await untilNoTraces(rig, kubelet, before);
  });

  test('a directory that is swapped by a link, as ConfigMaps are, is noticed within a second', async () => {
    await start();
    const put = (version: string, label: string): void => {
      mkdirSync(join(kubelet.manifestDir, version));
      writeFileSync(join(kubelet.manifestDir, version, 'cm.yaml'), yaml('cm', label));
    };
    put('..v1', 'a');
    symlinkSync('..v1', join(kubelet.manifestDir, '..data'));
    symlinkSync('..data/cm.yaml', join(kubelet.manifestDir, 'cm.yaml'));
    const before = await untilRunning(kubelet, 'cm');
    expect(before.metadata?.labels).toEqual({ app: 'a' });
    put('..v2', 'b');
    symlinkSync('..v2', join(kubelet.manifestDir, '..data_tmp'));
    renameSync(join(kubelet.manifestDir, '..data_tmp'), join(kubelet.manifestDir, '..data'));
    await waitFor(
      async () => (await kubelet.pod('cm'))?.metadata?.labels?.['app'] === 'b',
      'the swap to be noticed',
      noticeMs,
    );
    expect(uidOf(await untilRunning(kubelet, 'cm'))).not.toBe(uidOf(before));
  });

  test('manifests come, change and go within a second each', async () => {
    await start();
    const noticed = (what: string, is: (app: string | undefined) => boolean): Promise<boolean> =>
      waitFor(async () => is((await kubelet.pod('quick'))?.metadata?.labels?.['app']), what, noticeMs);
    const path = kubelet.manifestPath('quick');
    writeFileSync(path, yaml('quick', 'a'));
    await noticed('the file to be noticed', (app) => app === 'a');
    writeFileSync(path, yaml('quick', 'b'));
    await noticed('the edit in place to be noticed', (app) => app === 'b');
    kubelet.removeManifest('quick');
    await noticed('the removal to be noticed', (app) => app === undefined);
  });

  test('what comes without an event is found by the rescan', async () => {
    await start({ config: { fileCheckFrequency: '1s' } });
    kubelet.writeManifest('below', yaml('below'));
    await untilRunning(kubelet, 'below');
    const above = join(rig.workspace.dir, 'above');
    mkdirSync(above);
    writeFileSync(join(above, 'above.yaml'), yaml('above'));
    // A mount on the directory gives no event.
    await mustRun('mount', ['--bind', above, kubelet.manifestDir]);
    try {
      await untilRunning(kubelet, 'above');
      expect(await names()).toEqual(['above-node']);
    } finally {
      await mustRun('umount', [kubelet.manifestDir]);
    }
    await untilRunning(kubelet, 'below');
    expect(await names()).toEqual(['below-node']);
  });
});

// Sources of manifests: directory or file, YAML or JSON, several in one file, swapped by a link.
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

/** How long the detection of a change may take. */
const detectionMs = 1000;

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
  // Each test has its own kubelet: two on one runtime would end each other's pods.
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

  test('reads YAML, several documents in one file, and JSON', async () => {
    await start();
    kubelet.writeManifest('several.yaml', `${yaml('one')}---\n# nothing here\n---\n${yaml('two')}`);
    kubelet.writeManifest('pod.json', manifest('three'));
    for (const name of ['one', 'two', 'three']) await untilRunning(kubelet, name);
    expect(await names()).toEqual(['one-node', 'three-node', 'two-node']);
    kubelet.writeManifest('several.yaml', yaml('two'));
    await untilNoPod(kubelet, 'one');
    expect(await names()).toEqual(['three-node', 'two-node']);
  });

  test('ignores hidden files and directories', async () => {
    await start();
    writeFileSync(join(kubelet.manifestDir, '.hidden.yaml'), yaml('hidden'));
    mkdirSync(join(kubelet.manifestDir, 'folder'));
    writeFileSync(join(kubelet.manifestDir, 'folder', 'inside.yaml'), yaml('inside'));
    kubelet.writeManifest('seen', yaml('seen'));
    await untilRunning(kubelet, 'seen');
    expect(await names()).toEqual(['seen-node']);
  });

  test('reads a single file instead of a directory', async () => {
    const dir = join(rig.workspace.dir, 'single');
    mkdirSync(dir);
    const file = join(dir, 'pod.yaml');
    writeFileSync(file, yaml('single'));
    await start({ flags: [`--pod-manifest-path=${file}`] });
    const before = await untilRunning(kubelet, 'single');
    // A neighbouring file is not a manifest, and the file may be replaced under its name.
    writeFileSync(join(dir, 'neighbour.yaml'), yaml('neighbour'));
    writeFileSync(join(dir, 'fresh'), yaml('single', 'other'));
    renameSync(join(dir, 'fresh'), file);
    await waitFor(
      async () => uidOf((await kubelet.pod('single')) ?? {}) !== uidOf(before),
      'the file to be detected',
      detectionMs,
    );
    await untilRunning(kubelet, 'single');
    expect(await names()).toEqual(['single-node']);
    await untilNoTraces(rig, kubelet, before);
  });

  test('detects a directory swapped by a link, as of a ConfigMap, within a second', async () => {
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
      'the swap to be detected',
      detectionMs,
    );
    expect(uidOf(await untilRunning(kubelet, 'cm'))).not.toBe(uidOf(before));
  });

  test('detects a created, edited and removed manifest within a second each', async () => {
    await start();
    const detected = (what: string, is: (app: string | undefined) => boolean): Promise<boolean> =>
      waitFor(async () => is((await kubelet.pod('quick'))?.metadata?.labels?.['app']), what, detectionMs);
    const path = kubelet.manifestPath('quick');
    writeFileSync(path, yaml('quick', 'a'));
    await detected('the file to be detected', (app) => app === 'a');
    writeFileSync(path, yaml('quick', 'b'));
    await detected('the edit in place to be detected', (app) => app === 'b');
    kubelet.removeManifest('quick');
    await detected('the removal to be detected', (app) => app === undefined);
  });

  test('the rescan detects changes without file events', async () => {
    await start({ config: { fileCheckFrequency: '1s' } });
    kubelet.writeManifest('below', yaml('below'));
    await untilRunning(kubelet, 'below');
    const above = join(rig.workspace.dir, 'above');
    mkdirSync(above);
    writeFileSync(join(above, 'above.yaml'), yaml('above'));
    // A mount on the directory causes no event.
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

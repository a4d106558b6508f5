// CSI drivers in the hands of an attacker: paths that lead out of the volume, texts for the log, secrets that are repeated. Nothing
// outside of the volumes is touched, and the kubelet's output stays readable and without secrets, at high verbosity too.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import { waitFor } from './rig/wait.ts';
import type { CsiDriver } from './support/csi-driver.ts';
import { type CsiNode, describeOnCsiNode, useCsiNode } from './support/csi-node.ts';
import type { CsiClaim } from './support/csi-objects.ts';
import { container, exitsOnTerm } from './support/manifest.ts';
import { shortTimers } from './support/short-timers.ts';
import { eventually } from './support/suite-driver.ts';

describeOnCsiNode('hostile CSI drivers', () => {
  let node: CsiNode;
  let driver: CsiDriver;
  useCsiNode(
    async (started) => {
      node = started;
      driver = await node.driver();
    },
    (cluster) => ({
      verbosity: 8,
      // The deadline of a call of a driver.
      env: shortTimers(dirname(cluster.kubeconfig), 120_000, 4_000, 119_000),
      config: { runtimeRequestTimeout: '3m' },
    }),
  );
  afterEach(() => {
    for (const each of node.drivers) each.clearFaults();
  });

  const create = (name: string, claim: Partial<CsiClaim> = {}): Pod => {
    node.claim({ name, ...claim });
    return node.createWith(name, [name]);
  };
  const ready = (...names: readonly string[]): Promise<readonly Pod[]> =>
    Promise.all(names.map((name) => node.cluster.untilReady(name)));

  test('links and files in the place of mounts and devices are refused and removed, and not followed', async () => {
    const outside = join(driver.dir, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'file'), 'kept');
    const etc = (): unknown => [
      statSync('/etc').mode,
      readdirSync('/etc'),
      readFileSync('/etc/hostname', 'utf8'),
    ];
    const before = etc();
    driver.setFaults(
      { method: 'NodePublishVolume', volume: 'linked', linkTarget: '/etc' },
      { method: 'NodePublishVolume', volume: 'block-file', linkTarget: '/etc/hostname' },
      { method: 'NodeUnpublishVolume', volume: 'swapped', when: 'after', hang: true, times: 1 },
    );
    create('linked');
    create('swapped');
    node.claim({ name: 'block-file', volumeMode: 'Block' });
    const [swapped] = await ready('swapped');
    if (swapped === undefined) throw new Error('no pod');
    node.create('block-file', {
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'block-file' } }],
      containers: [
        container('main', exitsOnTerm, { volumeDevices: [{ name: 'data', devicePath: '/dev/data' }] }),
      ],
    });
    await node.untilEvent(
      'FailedMount',
      `MountVolume.SetUp failed for volume "linked" : the CSI driver ${driver.name} reported success, but `,
    );
    await node.untilEvent('FailedMount', '/mount is a symbolic link');
    await node.untilEvent('FailedMapVolume', 'MapVolume.MapPodDevice failed for volume "block-file" : ');
    node.objects.delete('pods', 'default', 'swapped');
    const mount = join(node.volumeDir(swapped, 'swapped'), 'mount');
    await waitFor(
      () => driver.calls('NodeUnpublishVolume').length > 0 && !existsSync(mount),
      'the target to be removed',
    );
    symlinkSync(outside, mount);
    driver.setFaults();
    await node.cluster.untilGone('swapped');
    await node.end('linked', 'block-file');
    await node.untilNoLeftovers();
    expect(etc()).toEqual(before);
    expect(readdirSync(outside)).toEqual(['file']);
  });

  test('hostile texts of a driver are one bounded line, without the secrets of the request', async () => {
    const secret = 'sesame-0123456789';
    node.objects.create('secrets', {
      metadata: { name: 'hostile', namespace: 'default' },
      data: { k: Buffer.from(secret).toString('base64') },
    });
    const csi = {
      nodeStageSecretRef: { name: 'hostile', namespace: 'default' },
      nodePublishSecretRef: { name: 'hostile', namespace: 'default' },
    };
    const lines = 'first\nI1118 second\u001b[31m\u2028third\u0007';
    driver.setFaults(
      { method: 'NodeStageVolume', volume: 'lines', code: 'INTERNAL', message: lines },
      {
        method: 'NodeStageVolume',
        volume: 'long',
        code: 'INTERNAL',
        message: 'y'.repeat(12 * 1024),
        echoSecrets: true,
      },
      { method: 'NodeStageVolume', volume: 'echo-stage', code: 'INTERNAL', echoSecrets: true },
      { method: 'NodePublishVolume', volume: 'echo-publish', code: 'UNAVAILABLE', echoSecrets: true },
      { method: 'NodeUnpublishVolume', volume: 'fine', code: 'INTERNAL', message: lines, times: 2 },
    );
    // Its server never sends it, and no longer answers on that connection: the kubelet needs the deadline to find out.
    const huge = await node.driver({ name: 'huge.example.com' });
    huge.setFaults({ method: 'NodeStageVolume', code: 'INTERNAL', message: 'x'.repeat(1024 ** 2), times: 1 });
    create('huge', { driver: huge.name, csi });
    const names = ['lines', 'long', 'echo-stage', 'echo-publish'];
    for (const name of names) create(name, { csi });
    create('fine', { csi });
    await ready('fine', 'huge');
    for (const name of names)
      await eventually(() => node.messages('FailedMount', name).length).toBeGreaterThan(0);
    const messages = names.flatMap((name) => node.messages('FailedMount', name));
    const explanations = await Promise.all(names.map((name) => node.explanation(name)));
    const output = readFileSync(node.kubelet.log.path, 'utf8');
    for (const text of [...messages, ...explanations]) {
      expect(text).not.toMatch(/[\p{Cc}\u2028]/u);
      expect(text.length).toBeLessThan(3_000);
    }
    for (const text of [...messages, ...explanations, output, (await node.kubelet.secure('/explain')).text])
      expect(text.includes(secret)).toBe(false);
    expect(['\u001b', '\u2028', '\nI1118 second'].filter((each) => output.includes(each))).toEqual([]);
    expect(Math.max(...output.split('\n').map(({ length }) => length))).toBeLessThan(16 * 1024);
    await node.end('fine', 'huge', ...names);
    await node.untilNoLeftovers();
  });
});

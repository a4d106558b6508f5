// Volumes with content from the cluster, on real mounts, devices and containers: missing and changing objects, a
// rejected token request, claims of block devices, and a repeatedly killed kubelet.
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Pod, PodSpec } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { mountsBelow } from './rig/mounts.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { mustRun } from './rig/process.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { useClusterNode } from './support/suite-node.ts';

describeOnRig('volumes from the cluster', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;

  useClusterNode((node) => ({ rig, cluster, kubelet } = node));

  const create = (name: string, over: Partial<PodSpec>): Pod => cluster.createPod(manifest(name, over));
  const end = async (name: string): Promise<void> => {
    cluster.double.objects.delete('pods', 'default', name);
    await cluster.untilGone(name);
  };
  const volumeDir = (pod: Pod, plugin: string, name: string): string =>
    join(kubelet.rootDir, 'pods', pod.metadata?.uid ?? '', 'volumes', `kubernetes.io~${plugin}`, name);
  const inContainer = async (pod: Pod, script: string): Promise<string> => {
    const id = pod.status?.containerStatuses?.[0]?.containerID ?? '';
    const { stdout } = await rig.cri.execSync({
      containerId: id.replace('containerd://', ''),
      cmd: ['sh', '-c', script],
      timeout: 20n,
    });
    return new TextDecoder().decode(stdout);
  };
  const putConfig = (value: string): void => {
    const known = cluster.double.objects.get('configmaps', 'default', 'cm');
    const metadata = { name: 'cm', namespace: 'default' };
    if (known === undefined) cluster.double.objects.create('configmaps', { metadata, data: { k: value } });
    else cluster.double.objects.update('configmaps', { ...known, data: { k: value } });
  };
  const messages = (reason: string): readonly (string | undefined)[] =>
    cluster.double.objects
      .list('events', 'default')
      .filter((event) => event.reason === reason)
      .map(({ message }) => message);
  const untilEvent = async (reason: string, text: string): Promise<void> =>
    void (await waitFor(
      () => messages(reason).some((message) => message?.includes(text)),
      `an event ${reason}: ${text}`,
      60_000,
    ));

  test('a volume follows a ConfigMap that is missing, appears, changes and disappears; a sub-path keeps its first content', async () => {
    const volumeMounts = [
      { name: 'v', mountPath: '/v' },
      { name: 'v', mountPath: '/part', subPath: 'k' },
    ];
    const created = create('follower', {
      volumes: [{ name: 'v', configMap: { name: 'cm' } }],
      containers: [container('main', exitsOnTerm, { volumeMounts })],
    });
    await untilEvent('FailedMount', 'MountVolume.SetUp failed for volume "v" : configmap "cm" not found');
    expect(existsSync(volumeDir(created, 'configmap', 'v'))).toBe(false);
    putConfig('one');
    const pod = await cluster.untilReady('follower');
    expect(await inContainer(pod, 'cat /v/k /part')).toBe('oneone');
    putConfig('two');
    await waitFor(async () => (await inContainer(pod, 'cat /v/k')) === 'two', 'the file to follow', 30_000);
    expect(await inContainer(pod, 'cat /part')).toBe('one');
    cluster.double.objects.delete('configmaps', 'default', 'cm');
    putConfig('three');
    await waitFor(async () => (await inContainer(pod, 'cat /v/k')) === 'three', 'the file to follow', 30_000);
    const eventCount = (): number =>
      cluster.double.objects
        .list('events', 'default')
        .reduce((sum, { count = 1, reason }) => sum + (reason === 'FailedMount' ? count : 0), 0);
    const before = eventCount();
    cluster.double.objects.delete('configmaps', 'default', 'cm');
    await waitFor(() => eventCount() > before, 'an event about the missing ConfigMap', 60_000);
    expect(await inContainer(pod, 'cat /v/k')).toBe('three');
    await end('follower');
    putConfig('one');
  });

  test('secrets and tokens are in memory, with restricted modes, and not logged', async () => {
    const word = 'a-very-secret-word';
    cluster.double.objects.create('secrets', {
      metadata: { name: 'hush', namespace: 'default' },
      data: { word: Buffer.from(word).toString('base64') },
    });
    const tokenRequests = { verb: 'create', resource: 'serviceaccounts', subresource: 'token' } as const;
    // More than an authorizer's lag explains: five attempts for each of the pod's two tokens.
    cluster.double.faults.fail(tokenRequests, { code: 403, times: 12 });
    create('keeper', {
      securityContext: { runAsUser: 1000, fsGroup: 2000 },
      volumes: [
        { name: 'hush', secret: { secretName: 'hush', defaultMode: 0o400 } },
        {
          name: 'own',
          projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 600 } }] },
        },
      ],
      containers: [
        container('main', exitsOnTerm, {
          volumeMounts: [
            { name: 'hush', mountPath: '/hush' },
            { name: 'own', mountPath: '/own' },
          ],
        }),
      ],
    });
    await untilEvent('FailedMount', 'MountVolume.SetUp failed for volume "own"');
    const pod = await cluster.untilReady('keeper');
    const listing = await inContainer(
      pod,
      'cat /hush/word; echo; stat -L -c "%a %u %g" /hush/word /own/token; id -u',
    );
    expect(listing).toBe(`${word}\n440 0 2000\n640 1000 2000\n1000\n`);
    const token = readFileSync(join(volumeDir(pod, 'projected', 'own'), 'token'), 'utf8');
    const table = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    for (const [plugin, name] of [
      ['secret', 'hush'],
      ['projected', 'own'],
    ] as const)
      expect(table.filter((line) => line.includes(` ${volumeDir(pod, plugin, name)} `))).toEqual([
        expect.stringContaining(' - tmpfs tmpfs '),
      ]);
    await end('keeper');
    const logText = kubelet.log.lines().join('\n');
    for (const secret of [word, Buffer.from(word).toString('base64'), token])
      expect(logText).not.toContain(secret);
  });

  const claim = (name: string, spec: object): void => {
    const { objects } = cluster.double;
    const bound = objects.create('persistentvolumeclaims', {
      metadata: { name, namespace: 'default' },
      spec: { accessModes: ['ReadWriteOnce'], volumeName: name },
    });
    objects.patch('persistentvolumeclaims', 'default', name, { status: { phase: 'Bound' } }, 'status');
    const claimRef = { namespace: 'default', name, uid: bound.metadata?.uid ?? '' };
    objects.create('persistentvolumes', { metadata: { name }, spec: { claimRef, ...spec } });
  };

  test('a claim provides a block device, raw and with a file system', async () => {
    const image = join(rig.workspace.dir, 'disk.img');
    writeFileSync(image, 'written on the disk\n');
    truncateSync(image, 16 * 1024 * 1024);
    const device = (await mustRun('losetup', ['-f', '--show', image])).trim();
    try {
      claim('raw', { local: { path: device }, volumeMode: 'Block' });
      claim('formatted', { local: { path: device }, volumeMode: 'Filesystem' });
      const uses = (claimName: string) => [{ name: 'v', persistentVolumeClaim: { claimName } }];
      create('raw', {
        volumes: uses('raw'),
        containers: [
          container('main', exitsOnTerm, { volumeDevices: [{ name: 'v', devicePath: '/dev/xvda' }] }),
        ],
      });
      const raw = await cluster.untilReady('raw');
      expect(await inContainer(raw, 'head -n 1 /dev/xvda; [ -b /dev/xvda ] && echo device')).toBe(
        'written on the disk\ndevice\n',
      );
      await inContainer(raw, 'dd if=/dev/zero of=/dev/xvda bs=4096 count=4 2>/dev/null');
      await end('raw');
      // It is empty now, so it is formatted.
      create('formatted', {
        securityContext: { fsGroup: 2000 },
        volumes: uses('formatted'),
        containers: [container('main', exitsOnTerm, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      });
      const formatted = await cluster.untilReady('formatted');
      await inContainer(formatted, 'echo kept > /v/file');
      expect(statSync(volumeDir(formatted, 'local-volume', 'formatted')).gid).toBe(2000);
      await kubelet.kill9();
      await kubelet.start();
      await end('formatted');
      const plugins = join(kubelet.rootDir, 'plugins');
      await waitFor(() => mountsBelow(plugins).length === 0, 'the device to be released', 60_000);
      const loops = await mustRun('losetup', ['-n', '-O', 'NAME,BACK-FILE']);
      expect(loops.split('\n').filter((line) => line.includes(rig.workspace.dir))).toHaveLength(1);
    } finally {
      await mustRun('losetup', ['-d', device]);
    }
  });

  test('repeated kills while pods start mount nothing twice and leave nothing behind', async () => {
    const names = Array.from({ length: 8 }, (_, at) => `cut-${at}`);
    const volumes = [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      { name: 'config', configMap: { name: 'cm' } },
      { name: 'hush', secret: { secretName: 'hush' } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    const pods = names.map((name) =>
      create(name, { volumes, containers: [container('main', exitsOnTerm, { volumeMounts })] }),
    );
    const podsDir = join(kubelet.rootDir, 'pods');
    // At different moments: after this number of mounts.
    for (const count of [1, 5, 9]) {
      await waitFor(() => mountsBelow(podsDir).length >= count, `${count} mounts`, {
        timeoutMs: 60_000,
        everyMs: 2,
      });
      await kubelet.kill9();
      await kubelet.start();
    }
    for (const name of names) await cluster.untilReady(name);
    const mounts = mountsBelow(podsDir);
    expect(mounts.length).toBe(new Set(mounts).size);
    // Each pod has a memory volume, a secret and a service account token.
    expect(mounts).toHaveLength(3 * names.length);
    for (const name of names) cluster.double.objects.delete('pods', 'default', name);
    for (const name of names) await cluster.untilGone(name);
    expect(mountsBelow(podsDir)).toEqual([]);
    const watched = (): readonly string[] =>
      [...cluster.double.watches]
        .map(({ type }) => type.plural)
        .filter((plural) => plural === 'configmaps' || plural === 'secrets');
    await waitFor(() => watched().length === 0, 'the watches of unreferenced objects to end', 60_000);
    const left = (): readonly string[] =>
      readdirSync(podsDir).filter((uid) => pods.some(({ metadata }) => metadata?.uid === uid));
    await waitFor(() => left().length === 0, 'their directories to be removed', 60_000);
  }, 240_000);
});

// What only later releases of containerd have: image volumes, recursive read-only mounts, supplementalGroupsPolicy, user
// namespaces (2), and container events (1.7). What earlier releases refuse.
import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ContainerState } from '../src/api/k8s/types.ts';
import { describeBeforeContainerd, describeOnContainerd } from './rig/installed-containerd.ts';
import type { Kubelet } from './rig/kubelet.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { logLines, untilLogged } from './support/container-log.ts';
import { container, manifest } from './support/manifest.ts';
import {
  containerIdOf,
  containerStatus,
  uidOf,
  untilContainer,
  untilPod,
  untilRestarted,
  untilRunning,
} from './support/pod-state.ts';
import { killTask } from './support/runtime-pods.ts';
import { type StalledRig, startStalledRig } from './support/stalling-cri.ts';
import { useNode } from './support/suite-node.ts';

const forever = 'exec sleep 2147483647';

describeOnContainerd(2, 1, 'features of containerd 2', () => {
  let kubelet: Kubelet;
  let rig: Rig;
  const own = useNode((node) => ({ kubelet, rig } = node));

  test('an image is mounted as a volume, read-only', async () => {
    const volumes = [{ name: 'i', image: { reference: rig.images.busybox, pullPolicy: 'IfNotPresent' } }];
    const script = `ls /img/bin/busybox; touch /img/x 2>&1 | grep -c 'Read-only'; ${forever}`;
    const volumeMounts = [{ name: 'i', mountPath: '/img' }];
    own.write(
      'image',
      manifest('image', { volumes, containers: [container('main', script, { volumeMounts })] }),
    );
    const pod = await untilRunning(kubelet, 'image');
    expect(await untilLogged(kubelet, pod, 2)).toEqual(['/img/bin/busybox', '1']);
  });

  test('a missing image of a volume is the waiting reason of its container', async () => {
    const volumes = [{ name: 'i', image: { reference: 'example.com/absent:1', pullPolicy: 'Never' } }];
    const volumeMounts = [{ name: 'i', mountPath: '/img' }];
    own.write(
      'absent',
      manifest('absent', { volumes, containers: [container('main', forever, { volumeMounts })] }),
    );
    const reason = 'ErrImageNeverPull';
    await untilContainer(kubelet, 'absent', reason, (each) => each.state?.waiting?.reason === reason);
  });

  test('a recursive read-only mount covers the mounts below it, and is reported', async () => {
    const path = join(rig.workspace.dir, 'tree');
    mkdirSync(join(path, 'sub'), { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(path, 'sub')]);
    try {
      const volumeMounts = [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'Enabled' }];
      const script = `touch /v/sub/x 2>&1 | grep -c 'Read-only'; ${forever}`;
      const volumes = [{ name: 'v', hostPath: { path } }];
      own.write(
        'rro',
        manifest('rro', { volumes, containers: [container('main', script, { volumeMounts })] }),
      );
      const pod = await untilRunning(kubelet, 'rro');
      expect(await untilLogged(kubelet, pod, 1)).toEqual(['1']);
      expect(containerStatus(pod).volumeMounts?.[0]).toMatchObject({ recursiveReadOnly: 'Enabled' });
    } finally {
      execFileSync('umount', ['-l', join(path, 'sub')]);
    }
  });

  test('supplementalGroupsPolicy Strict leaves out the groups of the image, without an API server', async () => {
    for (const policy of ['Merge', 'Strict']) {
      const securityContext = {
        runAsUser: 1000,
        supplementalGroups: [60_000],
        supplementalGroupsPolicy: policy,
      };
      const containers = [container('main', `id -G; ${forever}`)];
      own.write(policy.toLowerCase(), manifest(policy.toLowerCase(), { securityContext, containers }));
    }
    const groups = async (name: string): Promise<unknown> => {
      const pod = await untilRunning(kubelet, name);
      const [line = ''] = await untilLogged(kubelet, pod, 1);
      const { supplementalGroups } = containerStatus(pod).user?.linux ?? {};
      return { inside: line.split(' ').map(Number), reported: supplementalGroups };
    };
    expect(await groups('merge')).toEqual({
      inside: [1000, 50_000, 60_000],
      reported: [1000, 50_000, 60_000],
    });
    expect(await groups('strict')).toEqual({ inside: [1000, 60_000], reported: [1000, 60_000] });
  });

  test('pods with user namespaces have separate ranges of IDs and use their volumes as root', async () => {
    const volumes = [
      { name: 'data', emptyDir: {} },
      { name: 'info', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
    ];
    const volumeMounts = [
      { name: 'data', mountPath: '/data' },
      { name: 'info', mountPath: '/info' },
    ];
    const script = [
      'id -u',
      'cat /proc/self/uid_map',
      'echo x > /data/x',
      'stat -c %u /data/x /etc/hosts',
      'cat /info/name',
      forever,
    ].join('; echo; ');
    for (const name of ['users-a', 'users-b']) {
      const containers = [container('main', script, { volumeMounts })];
      own.write(name, manifest(name, { hostUsers: false, volumes, containers }));
    }
    const firstIds: number[] = [];
    for (const name of ['users-a', 'users-b']) {
      const pod = await untilRunning(kubelet, name);
      const lines = (await untilLogged(kubelet, pod, 9)).filter((line) => line.trim() !== '');
      const [uid, map = '', owner, hostsOwner, podName] = lines;
      expect([uid, owner, hostsOwner, podName]).toEqual(['0', '0', '0', pod.metadata?.name]);
      const [inside, outside = 0, length] = map.trim().split(/\s+/).map(Number);
      expect([inside, length]).toEqual([0, 65_536]);
      firstIds.push(outside);
      const { info } = await rig.cri.containerStatus({ containerId: containerIdOf(pod), verbose: true });
      const { pid } = JSON.parse(info['info'] ?? '{}') as { readonly pid: number };
      expect(statSync(`/proc/${pid}`).uid).toBe(outside);
      // Volumes are mounted with mapped IDs: root of the container is root of the volume.
      const data = join(kubelet.rootDir, 'pods', uidOf(pod), 'volumes/kubernetes.io~empty-dir/data/x');
      expect(statSync(data).uid).toBe(0);
    }
    expect(firstIds.every((id) => id >= 65_536)).toBe(true);
    expect(new Set(firstIds).size).toBe(2);
  });

  test('a pod keeps its user namespace over restarts of its container and of the kubelet', async () => {
    const script = `cat /proc/self/uid_map; echo bye > /dev/termination-log; test -e /data/x || { touch /data/x; exit 3; }; ${forever}`;
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    const containers = [container('main', script, { volumeMounts })];
    const volumes = [{ name: 'data', emptyDir: {} }];
    own.write('kept', manifest('kept', { hostUsers: false, volumes, containers }));
    const pod = await untilRestarted(kubelet, 'kept', 1);
    expect(containerStatus(pod).lastState?.terminated).toMatchObject({ exitCode: 3, message: 'bye\n' });
    const maps = [0, 1].map((restart) => logLines(kubelet, pod, 'main', restart)[0]);
    expect(maps[1]).toBe(maps[0]);
    await kubelet.stop();
    await kubelet.start();
    const after = await untilRestarted(kubelet, 'kept', 1);
    expect(containerIdOf(after)).toBe(containerIdOf(pod));
    await killTask(rig, containerIdOf(pod));
    const again = await untilRestarted(kubelet, 'kept', 2);
    expect(logLines(kubelet, again, 'main', 2)[0]).toBe(maps[0]);
  });
});

describeBeforeContainerd(2, 0, 'refused on containerd 1', () => {
  let kubelet: Kubelet;
  const own = useNode((node) => ({ kubelet } = node));

  test('a pod with a user namespace does not start, and its event names the runtime', async () => {
    own.write('users', manifest('users', { hostUsers: false }));
    const refusal = /FailedCreatePodSandBox.*runtime does not support user namespaces/;
    await waitFor(() => kubelet.log.matching(refusal).length > 0, 'the event', 20_000);
    expect((await kubelet.pod('users'))?.status?.phase).toBe('Pending');
  });

  test('a pod with supplementalGroupsPolicy Strict is rejected', async () => {
    const securityContext = { supplementalGroupsPolicy: 'Strict' };
    own.write('strict', manifest('strict', { securityContext }));
    const pod = await untilPod(kubelet, 'strict', 'rejected', ({ phase }) => phase === 'Failed');
    expect(pod.status).toMatchObject({
      reason: 'SupplementalGroupsPolicyNotSupported',
      message: 'Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node',
    });
  });
});

describeOnContainerd(1, 7, 'container events', () => {
  let stalled: StalledRig;

  beforeAll(async () => {
    stalled = await startStalledRig();
  });
  afterAll(async () => await stalled.stop());

  test('an exit is noticed by its event while the relist hangs', async () => {
    const { cri, kubelet } = stalled;
    const wait = 'while ! test -e /data/end; do sleep 0.1; done; exit 7';
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    const containers = [container('main', wait, { volumeMounts })];
    const volumes = [{ name: 'data', emptyDir: {} }];
    kubelet.writeManifest('ends', manifest('ends', { restartPolicy: 'Never', volumes, containers }));
    const pod = await untilRunning(kubelet, 'ends');
    // The relist lists everything, an inspection one pod.
    const relist = cri.faults.stall('listContainers', {
      times: 1000,
      match: ({ filter }) => filter === undefined || Object.keys(filter.labelSelector).length === 0,
    });
    try {
      await waitFor(() => relist.waiting > 0, 'the relist to hang');
      const data = join(kubelet.rootDir, 'pods', uidOf(pod), 'volumes/kubernetes.io~empty-dir/data');
      writeFileSync(join(data, 'end'), '');
      const isOver = (status: { readonly state?: ContainerState }) =>
        status.state?.terminated?.exitCode === 7;
      await untilContainer(kubelet, 'ends', 'ended', isOver);
      expect(relist.waiting).toBeGreaterThan(0);
      const text = await (await kubelet.get(kubelet.readOnlyPort, '/metrics')).text();
      expect(text).toMatch(/^kubelet_evented_pleg_connection_success_count [1-9]/m);
    } finally {
      relist.release();
    }
  });
});

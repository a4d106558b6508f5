// Volumes on real mounts and containers: their content, their removal, their recovery after a kill of the kubelet, and
// containment of sub-paths.
import { chmodSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { mountsBelow } from './rig/mounts.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { logLines, untilLogged } from './support/container-log.ts';
import { container, exitsOnTerm, manifest } from './support/manifest.ts';
import { containerIdOf, uidOf, untilContainer, untilRunning } from './support/pod-state.ts';
import { untilNoTraces } from './support/pod-traces.ts';
import { useNode } from './support/suite-node.ts';

/** Prints one line per kind of volume. */
const look = `
cat /labels/labels; echo
cat /all/name; echo
df -k /memory | tail -1 | awk '{ print $2 }'
touch /empty/mine && ls -ln /empty/mine | awk '{ print $3, $4 }'
touch /part/mine && ls /empty/a/b
touch /read-only/x 2>/dev/null || echo read-only
echo from-the-container > /host/written && cat /host/written
ls -A /nested
`;

describeOnRig('volumes', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const own = useNode((node) => ({ rig, kubelet } = node));

  beforeAll(async () => {
    mkdirSync(hostDirectory());
    // The container does not run as root.
    chmodSync(hostDirectory(), 0o777);
  });

  const hostDirectory = (): string => join(kubelet.dir, 'host-path');
  const seenBy = (name: string): readonly string[] => [
    'app="web"',
    `${name}-${kubelet.nodeName}`,
    '8192',
    '1000 2000',
    'mine',
    'read-only',
    'from-the-container',
    'inner',
  ];
  const podMounts = (pod: Pod): readonly string[] =>
    mountsBelow(join(kubelet.rootDir, 'pods', uidOf(pod))).map(
      (path) => path.split(`${uidOf(pod)}/`)[1] ?? path,
    );

  const full = (name: string): Pod =>
    manifest(name, {
      metadata: { labels: { app: 'web' } },
      securityContext: { fsGroup: 2000 },
      volumes: [
        { name: 'empty', emptyDir: {} },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '8Mi' } },
        {
          name: 'labels',
          downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] },
        },
        {
          name: 'all',
          projected: {
            sources: [
              { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
            ],
          },
        },
        { name: 'host', hostPath: { path: hostDirectory(), type: 'Directory' } },
      ],
      containers: [
        container('main', `${look}${exitsOnTerm}`, {
          securityContext: { runAsUser: 1000, runAsGroup: 1000 },
          volumeMounts: [
            { name: 'empty', mountPath: '/empty' },
            { name: 'empty', mountPath: '/part', subPath: 'a/b' },
            { name: 'memory', mountPath: '/memory' },
            { name: 'labels', mountPath: '/labels' },
            { name: 'all', mountPath: '/all' },
            { name: 'host', mountPath: '/host' },
            { name: 'empty', mountPath: '/read-only', readOnly: true },
            { name: 'empty', mountPath: '/nested/inner' },
          ],
        }),
      ],
    });

  test('every kind of volume is mounted when the container starts, and removed when the pod has ended', async () => {
    const before = await own.start('full', full('full'));
    const lines = seenBy('full');
    expect(await untilLogged(kubelet, before, lines.length)).toEqual(lines);
    expect(podMounts(before).toSorted()).toEqual([
      'volume-subpaths/empty/main/1',
      'volumes/kubernetes.io~downward-api/labels',
      'volumes/kubernetes.io~empty-dir/memory',
      'volumes/kubernetes.io~projected/all',
    ]);
    own.remove('full');
    await untilNoTraces(rig, kubelet, before);
    expect(podMounts(before)).toEqual([]);
    // Files of the host stay.
    expect(readFileSync(join(hostDirectory(), 'written'), 'utf8')).toBe('from-the-container\n');
  });

  test('a restarted kubelet finds its mounts: nothing is mounted twice, restarted or left behind', async () => {
    const before = await own.start('kept', full('kept'));
    const lines = seenBy('kept');
    await untilLogged(kubelet, before, lines.length);
    const mounts = podMounts(before);
    await kubelet.kill9();
    await kubelet.start();
    const after = await untilRunning(kubelet, 'kept');
    expect(containerIdOf(after)).toBe(containerIdOf(before));
    expect(podMounts(after).toSorted()).toEqual(mounts.toSorted());
    expect(logLines(kubelet, after)).toEqual(lines);
    own.remove('kept');
    await untilNoTraces(rig, kubelet, before);
    expect(podMounts(before)).toEqual([]);
  });

  test('a sub-path that is a link out of its volume is not mounted, and reveals nothing about the node', async () => {
    const volumeMounts = [{ name: 'shared', mountPath: '/shared' }];
    own.write(
      'escape',
      manifest('escape', {
        volumes: [{ name: 'shared', emptyDir: {} }],
        initContainers: [container('plant', 'ln -s /etc /shared/out', { volumeMounts })],
        containers: [
          container('main', 'cat /out/hostname', {
            volumeMounts: [{ name: 'shared', mountPath: '/out', subPath: 'out' }],
          }),
        ],
      }),
    );
    const pod = await untilContainer(
      kubelet,
      'escape',
      'refused',
      ({ state }) => state?.waiting?.reason === 'CreateContainerConfigError',
    );
    const message = 'failed to prepare subPath for volumeMount "shared" of container "main"';
    expect(pod.status?.containerStatuses?.[0]?.state?.waiting?.message).toBe(message);
    expect(podMounts(pod)).toEqual([]);
    own.remove('escape');
    await untilNoTraces(rig, kubelet, pod);
    expect(existsSync('/etc/passwd')).toBe(true);
  });
});

// What only containerd 2 has: image volumes and recursive read-only mounts.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { whyNotContainerd2 } from './rig/installed-containerd.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { untilLogged } from './support/container-log.ts';
import { container, manifest } from './support/manifest.ts';
import { containerStatus, untilContainer, untilRunning } from './support/pod-state.ts';
import { useNode } from './support/suite-node.ts';

const forever = 'exec sleep 2147483647';

const why = whyNotContainerd2();
const name = 'features of containerd 2';

describe.skipIf(why !== undefined)(why === undefined ? name : `${name} (${why})`, () => {
  describeOnRig('on a node', () => {
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
  });
});

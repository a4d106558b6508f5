// State files that are damaged while the kubelet is down: it starts, no container restarts, and the file is reported once.
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { manifest } from './support/manifest.ts';
import { untilRunning } from './support/pod-state.ts';
import { useNode } from './support/suite-node.ts';

describeOnRig('damaged state files', () => {
  let kubelet: Kubelet;
  const pods = useNode((node) => {
    ({ kubelet } = node);
  });
  const path = (name: string): string => join(kubelet.rootDir, name);

  test('the kubelet starts, sets the files aside and leaves the containers alone', async () => {
    pods.write('web', manifest('web'));
    const before = (await untilRunning(kubelet, 'web')).status?.containerStatuses;
    const allocated = readFileSync(path('allocated_pods_state'), 'utf8');
    await kubelet.kill9();
    truncateSync(path('allocated_pods_state'), 20);
    writeFileSync(path('actuated_pods_state'), '');
    await kubelet.start();
    expect((await untilRunning(kubelet, 'web')).status?.containerStatuses).toEqual(before);
    await expect.poll(() => readFileSync(path('allocated_pods_state'), 'utf8')).toBe(allocated);
    expect(readFileSync(path('.allocated_pods_state.damaged'), 'utf8')).toBe(allocated.slice(0, 20));
    expect(existsSync(path('.actuated_pods_state.damaged'))).toBe(true);
    const recovered = (): number =>
      kubelet.log.lines().filter((line) => line.includes('Recovered from a damaged state file')).length;
    expect(recovered()).toBe(2);
    await kubelet.stop();
    await kubelet.start();
    expect((await untilRunning(kubelet, 'web')).status?.containerStatuses).toEqual(before);
    expect(recovered()).toBe(2);
  });
});

// Container logs, read from the runtime's files in the kubelet's log directory.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../../src/api/k8s/types.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { waitFor } from '../rig/wait.ts';

export function logPath(kubelet: Kubelet, pod: Pod, container = 'main', restart = 0): string {
  const { name, namespace, uid } = pod.metadata ?? {};
  return join(kubelet.podLogsDir, `${namespace}_${name}_${uid}`, container, `${restart}.log`);
}

/** The text of each line, without time, stream and tag. */
export function logLines(kubelet: Kubelet, pod: Pod, container = 'main', restart = 0): readonly string[] {
  const lines = readFileSync(logPath(kubelet, pod, container, restart), 'utf8').split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const match = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) F (.*)$/.exec(line);
      if (match === null) throw new Error(`not in the CRI log format: ${line}`);
      return match[1] ?? '';
    });
}

/** Waits for `count` lines and returns them. */
export async function untilLogged(kubelet: Kubelet, pod: Pod, count: number): Promise<readonly string[]> {
  return waitFor(
    () => {
      const lines = logLines(kubelet, pod);
      return lines.length >= count ? lines.slice(0, count) : undefined;
    },
    `${count} lines in ${logPath(kubelet, pod)}`,
  );
}

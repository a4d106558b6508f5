// What a container wrote, from the file that the runtime keeps under the kubelet's log directory.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod } from '../../src/api/k8s/types.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { waitFor } from '../rig/wait.ts';

export function logPath(kubelet: Kubelet, pod: Pod, container = 'main', restart = 0): string {
  const { name, namespace, uid } = pod.metadata ?? {};
  return join(kubelet.podLogsDir, `${namespace}_${name}_${uid}`, container, `${restart}.log`);
}

/** The text of each line, without the time, the stream and the mark in front of it. */
export function logLines(kubelet: Kubelet, pod: Pod, container = 'main', restart = 0): readonly string[] {
  const lines = readFileSync(logPath(kubelet, pod, container, restart), 'utf8').split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const match = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) F (.*)$/.exec(line);
      if (match === null) throw new Error(`not a line of a container log: ${line}`);
      return match[1] ?? '';
    });
}

/** The first lines, as soon as there are so many. */
export async function untilLogged(kubelet: Kubelet, pod: Pod, count: number): Promise<readonly string[]> {
  return waitFor(
    () => {
      const lines = logLines(kubelet, pod);
      return lines.length >= count ? lines.slice(0, count) : undefined;
    },
    `${count} lines in ${logPath(kubelet, pod)}`,
  );
}

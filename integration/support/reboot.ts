// What a reboot does to containers: every process ends, and the runtime keeps its records.
import type { Rig } from '../rig/rig.ts';
import { waitFor } from '../rig/wait.ts';

export async function endAllContainers(rig: Rig): Promise<void> {
  await waitFor(async () => {
    const tasks = (await rig.ctr('tasks', 'ls')).split('\n').filter((line) => line.includes('RUNNING'));
    for (const [id = ''] of tasks.map((line) => line.split(' ')))
      await rig.ctr('tasks', 'kill', '--signal', 'SIGKILL', id).catch(() => undefined);
    return tasks.length === 0;
  }, 'all containers to end');
}

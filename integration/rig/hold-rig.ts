// Starts a rig with one pod, prints its workspace, and keeps it until it is killed. For tests of the leftovers of a
// kill.
import { startRig } from './rig.ts';
import { runPod } from './run-pod.ts';

const rig = await startRig({ nodeFs: { bytes: 16 * 1024 ** 2, inodes: 256 } });
await runPod(rig, 'held', { hostPort: Number(process.argv[2]) });
console.log(JSON.stringify(rig.workspace));
setInterval(() => undefined, 60_000);

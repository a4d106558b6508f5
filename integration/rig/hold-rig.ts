// Starts a rig with one pod, says where it is, and holds it until it is killed. For tests of what a kill leaves.
import { startRig } from './rig.ts';
import { runPod } from './run-pod.ts';

const rig = await startRig();
await runPod(rig, 'held', { hostPort: Number(process.argv[2]) });
console.log(JSON.stringify(rig.workspace));
setInterval(() => undefined, 60_000);

// The CRI contract on a real containerd; the fake runtime passes the same cases.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { criContract } from '../test/fake-cri/contract/cri-contract.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';

/** containerd has container events since 1.7; before, the call fails at once. */
async function hasEvents(rig: Rig): Promise<boolean> {
  const stop = new AbortController();
  const events = rig.cri.getContainerEvents({}, { signal: stop.signal })[Symbol.asyncIterator]();
  const refused = events.next().then(
    () => false,
    () => true,
  );
  const isRefused = await Promise.race([refused, sleep(1000, false)]);
  stop.abort();
  return !isRefused;
}

describeOnRig('containerd', () => {
  criContract('containerd', async () => {
    const rig = await startRig();
    return {
      runtime: rig.cri,
      images: rig.cri,
      image: rig.images.busybox,
      pauseReady: true,
      hasEvents: await hasEvents(rig),
      cgroupParent: rig.cgroupParent,
      logDirectory: join(rig.workspace.dir, 'logs'),
      advance: (ms) => sleep(ms),
      close: () => rig.stop(),
    };
  });
});

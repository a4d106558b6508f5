// The CRI contract on a real containerd; the fake runtime passes the same cases.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isUnimplemented } from '../src/api/cri/runtime.ts';
import { criContract } from '../test/fake-cri/contract/cri-contract.ts';
import { olderContainerdReason } from './rig/installed-containerd.ts';
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

/** No containerd up to 2.1 has them. */
async function streamsLists(rig: Rig): Promise<boolean> {
  try {
    for await (const message of rig.cri.streamImages({}, { timeoutMs: 5000 }))
      return message.images.length > 0;
  } catch (err) {
    if (isUnimplemented(err)) return false;
    throw err;
  }
  return true;
}

describeOnRig('containerd', () => {
  criContract('containerd', async () => {
    const rig = await startRig();
    return {
      runtime: rig.cri,
      images: rig.cri,
      image: rig.images.busybox,
      pauseReady: true,
      stopsAbsent: olderContainerdReason(1, 7) === undefined,
      major: Number.parseInt((await rig.cri.version({})).runtimeVersion, 10),
      hasEvents: await hasEvents(rig),
      streamsLists: await streamsLists(rig),
      cgroupParent: rig.cgroupParent,
      logDirectory: join(rig.workspace.dir, 'logs'),
      advance: (ms) => sleep(ms),
      close: () => rig.stop(),
    };
  });
});

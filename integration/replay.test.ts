// The recorded pods as static pods on a real containerd, all at once: each reaches the state that it had under the Go
// kubelet, with the same events, and leaves nothing behind. Those that need a cluster are in replay-cluster.test.ts.
import { afterAll, beforeAll, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import { type Recording, readRecordings } from '../test/replay/recording.ts';
import { olderContainerdReason } from './rig/installed-containerd.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import {
  comparable,
  expectEvents,
  hasReached,
  needsCluster,
  stateOf,
  wantedState,
} from './support/recorded-pods.ts';

/** Recordings with an image volume. */
const needsContainerd2: ReadonlySet<string> = new Set(['image-volume']);
const skipReason = olderContainerdReason(2, 1);
const [skipped, recordings] = partition(readRecordings().filter(({ name }) => !needsCluster.has(name)));

/** The image of the recorded volume: any image with /bin/busybox. */
const volumeImage = 'registry.k8s.io/e2e-test-images/nonroot:1.4';

interface LoggedEvent {
  readonly msg: string;
  readonly object?: string;
  readonly fieldPath?: string;
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
}

describeOnRig('replay', () => {
  let rig: Rig;
  let kubelet: Kubelet;

  beforeAll(async () => {
    rig = await startRig();
    kubelet = await rig.kubelet({ flags: ['--logging-format=json'] });
    await rig.ctr('images', 'tag', rig.images.busybox, volumeImage);
    await rig.waitForImage(volumeImage);
    for (const recording of recordings) kubelet.writeManifest(recording.name, staticPod(recording));
  });
  afterAll(() => rig.stop());

  for (const recording of recordings) {
    test(`${recording.name} reaches its recorded state`, async () => {
      const want = wantedState(recording);
      await waitFor(
        async () => {
          const pod = await kubelet.pod(recording.name);
          const status = pod?.status ?? {};
          if (hasReached(status, want)) return true;
          throw new Error(`the state is ${JSON.stringify(stateOf(status), undefined, 1)}`);
        },
        `pod ${recording.name} to be ${JSON.stringify(stateOf(want), undefined, 1)}`,
        90_000,
      );
    });
  }

  for (const { name } of skipped)
    test.skip(`${name} reaches its recorded state (${skipReason})`, () => undefined);

  test('removed pods end with their recorded events and leave nothing behind', async () => {
    for (const { name } of recordings) kubelet.removeManifest(name);
    await waitFor(
      async () => {
        const { items } = await rig.cri.listPodSandbox({});
        const { containers } = await rig.cri.listContainers({});
        const pods = await kubelet.pods();
        if (items.length + containers.length + pods.length === 0) return true;
        throw new Error(`${pods.map(({ metadata }) => metadata?.name).join(', ')} still exist`);
      },
      'every pod to be removed',
      90_000,
    );
    for (const recording of recordings) expectEvents(recording, eventsOf(kubelet, recording));
  });
});

function partition(all: readonly Recording[]): readonly [readonly Recording[], readonly Recording[]] {
  const isSkipped = ({ name }: Recording): boolean => skipReason !== undefined && needsContainerd2.has(name);
  return [all.filter(isSkipped), all.filter((each) => !isSkipped(each))];
}

function staticPod({ name, pod }: Recording): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...pod.metadata, name, namespace: 'rec' },
    // A pod without a grace period gets one second instead of the default of thirty.
    spec: { terminationGracePeriodSeconds: 1, ...(pod.spec ?? { containers: [] }) },
  };
}

function eventsOf(kubelet: Kubelet, { name }: Recording): readonly string[] {
  const full = `${name}-${kubelet.nodeName}`;
  const events = kubelet.log.matching(/"Event occurred"/).flatMap((line) => {
    const event = JSON.parse(line) as LoggedEvent;
    if (event.object !== `rec/${full}`) return [];
    const { type, reason, fieldPath = '-', message = '' } = event;
    const text = message.replaceAll(full, name).replaceAll(/\([0-9a-f]{32}\)/g, '(UID)');
    return [comparable(`${type} ${reason} ${fieldPath} ${text}`)];
  });
  return [...new Set(events)];
}

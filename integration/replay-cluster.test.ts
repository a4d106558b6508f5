// The recorded pods that need a cluster, on a real containerd: each reaches the state that it had under the Go kubelet,
// with the same events, and ends when it is deleted.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Event, PodStatus } from '../src/api/k8s/types.ts';
import { type Recording, readRecordings } from '../test/replay/recording.ts';
import { createObjects, createPod, eventLine, namespace } from '../test/replay/run.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import {
  comparable,
  expectEvents,
  hasReached,
  needsCluster,
  stateOf,
  wantedState,
} from './support/recorded-pods.ts';
import { useClusterNode } from './support/suite-node.ts';

const recordings = readRecordings().filter(({ name }) => needsCluster.has(name));
const recordedPath = '/tmp/lab-hostpath';

describeOnRig('replay in a cluster', () => {
  let rig: Rig;
  let cluster: Cluster;

  useClusterNode(
    (node) => ({ rig, cluster } = node),
    () => ({ config: { clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local' } }),
  );

  beforeAll(async () => {
    createObjects(cluster.double, { objects: recordings.flatMap(({ objects = [] }) => objects) });
    for (const { pod } of recordings) createPod(cluster.double, { pod: onRig(rig, pod) }, 'node1');
  });

  const statusOf = (name: string) => cluster.double.objects.get('pods', namespace, name)?.status ?? {};
  const eventsOf = (name: string): readonly string[] => {
    const events: readonly Event[] = cluster.double.objects.list('events', namespace);
    const own = events.filter(({ involvedObject }) => involvedObject.name === name);
    return [...new Set(own.map((event) => comparable(eventLine(event))))];
  };

  const untilReached = (recording: Recording, want: PodStatus): Promise<boolean> =>
    waitFor(
      () => {
        if (hasReached(statusOf(recording.name), want)) return true;
        throw new Error(`the state is ${JSON.stringify(stateOf(statusOf(recording.name)), undefined, 1)}`);
      },
      `pod ${recording.name} to be ${JSON.stringify(stateOf(want), undefined, 1)}`,
      90_000,
    );

  describe.each(recordings)('$name', (recording) => {
    test('reaches its recorded state, and emits events', async () => {
      await untilReached(recording, wantedState(expected(recording)));
      // Events reach the API server asynchronously.
      await waitFor(() => eventsOf(recording.name).length > 0, `events of ${recording.name}`, 20_000);
    });
  });

  const resized = recordings.filter(({ resize }) => resize !== undefined);

  test.each(resized)('$name is resized and reports its recorded resources', async (recording) => {
    const spec = { resources: recording.resize?.resources };
    cluster.double.objects.patch('pods', namespace, recording.name, { spec }, 'resize');
    const want = wantedState(recording, 2);
    await waitFor(
      () => statusOf(recording.name).resources?.limits?.['cpu'] === want.resources?.limits?.['cpu'],
      `pod ${recording.name} to be resized`,
      30_000,
    );
    await untilReached(recording, want);
    const { allocatedResources, observedGeneration, resources } = statusOf(recording.name);
    expect({ allocatedResources, observedGeneration, resources }).toEqual({
      allocatedResources: want.allocatedResources,
      observedGeneration: 2,
      resources: want.resources,
    });
  });

  test('deleted pods end with their recorded events and leave nothing in the runtime', async () => {
    for (const { name } of recordings) {
      cluster.double.objects.delete('pods', namespace, name, { gracePeriodSeconds: 1 });
    }
    await waitFor(
      async () => {
        const { items } = await rig.cri.listPodSandbox({});
        const { containers } = await rig.cri.listContainers({});
        const pods = cluster.double.objects.list('pods', namespace);
        return pods.length + items.length + containers.length === 0;
      },
      'every pod to be removed',
      90_000,
    );
    for (const recording of recordings) expectEvents(expected(recording), eventsOf(recording.name));
  });
});

/** Replaces the host path by a directory of the rig, which is removed at the end. */
function onRig(rig: Rig, pod: Recording['pod']): Recording['pod'] {
  const text = JSON.stringify(pod).replaceAll(recordedPath, join(rig.workspace.dir, 'lab-hostpath'));
  return JSON.parse(text) as Recording['pod'];
}

/** On a machine with shared mounts, the pod that the recording machine rejected runs like any other. */
function expected(recording: Recording): Recording {
  if (recording.name !== 'volumes' || !rootIsShared()) return recording;
  return recordings.find(({ name }) => name === 'env') ?? recording;
}

function rootIsShared(): boolean {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return lines.some((line) => / \/ \/ /.test(line) && / (shared|master):\d+/.test(line));
}

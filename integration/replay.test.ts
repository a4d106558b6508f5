// The recorded manifests as static pods on a real containerd, all at once: each comes to where the Go kubelet had it when it was
// deleted, the same is told of it, and nothing is left of it afterwards. What time decides is left open: how often a container
// was restarted beyond the recording, and what is left of earlier containers.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ContainerStatus, Pod, PodStatus } from '../src/api/k8s.ts';
import { recordedStates } from '../src/testing/replay/compare.ts';
import { type Recording, readRecordings } from '../src/testing/replay/recording.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';

/** What needs a cluster's objects, more than the machine has, or all of its memory is replayed in memory only. */
const inMemoryOnly: ReadonlySet<string> = new Set([
  'env',
  'env-missing',
  'oom',
  'too-big',
  'volume-missing',
  'volumes',
]);
/** Their last state before the end lasted only as long as upstream took to look again: the one before it does. */
const passing: ReadonlySet<string> = new Set(['onfailure']);
/** Whose words are the runtime's or a program's own, and other ones in other versions. */
const foreignWords = /^Warning (Failed|Unhealthy) /;
/** Whether these are told, and of what else a busy machine warns, depends on the moment. */
const byMoment = /^(Normal (Killing|BackOff)|Warning (BackOff|Failed|Unhealthy)) /;
const warning = /^Warning /;

const recordings = readRecordings().filter(({ name }) => !inMemoryOnly.has(name));

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
    for (const recording of recordings) kubelet.writeManifest(recording.name, staticPod(recording));
  });
  afterAll(() => rig.stop());

  for (const recording of recordings) {
    test(`${recording.name} comes to where it was recorded`, async () => {
      const want = wantedState(recording);
      await waitFor(
        async () => {
          const pod = await kubelet.pod(recording.name);
          const status = pod?.status ?? {};
          if (isThere(status, want)) return true;
          throw new Error(`it is ${JSON.stringify(stateOf(status), undefined, 1)}`);
        },
        `pod ${recording.name} to be ${JSON.stringify(stateOf(want), undefined, 1)}`,
        90_000,
      );
    });
  }

  test('when they are removed nothing is left, and what was told of each was recorded', async () => {
    for (const { name } of recordings) kubelet.removeManifest(name);
    await waitFor(
      async () => {
        const { items } = await rig.cri.listPodSandbox({});
        const { containers } = await rig.cri.listContainers({});
        const pods = await kubelet.pods();
        if (items.length + containers.length + pods.length === 0) return true;
        throw new Error(`${pods.map(({ metadata }) => metadata?.name).join(', ')} are still there`);
      },
      'every pod to have gone',
      90_000,
    );
    for (const recording of recordings) expectEvents(recording, eventsOf(kubelet, recording));
  });
});

function staticPod({ name, pod }: Recording): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...pod.metadata, name, namespace: 'rec' },
    // Who does not say how long its end may take does not get half a minute here.
    spec: { terminationGracePeriodSeconds: 1, ...(pod.spec ?? { containers: [] }) },
  };
}

/** The recorded status before the pod was deleted. */
function wantedState(recording: Recording): PodStatus {
  const states = recordedStates(recording);
  const before = states.filter(({ observedGeneration }) => observedGeneration === 1);
  const want = before.at(passing.has(recording.name) ? -2 : -1);
  if (want === undefined) throw new Error(`${recording.name} has no status before its deletion`);
  return want;
}

function isThere(status: PodStatus, want: PodStatus): boolean {
  const counts = (one: PodStatus): number[] => all(one).map(({ restartCount }) => restartCount);
  const wanted = counts(want);
  return (
    JSON.stringify(stateOf(status)) === JSON.stringify(stateOf(want)) &&
    counts(status).every((count, index) => count >= (wanted[index] ?? 0))
  );
}

function all({ initContainerStatuses = [], containerStatuses = [] }: PodStatus): readonly ContainerStatus[] {
  return [...initContainerStatuses, ...containerStatuses];
}

/** What does not depend on time, names or the runtime's words. */
function stateOf(status: PodStatus): unknown {
  return {
    phase: status.phase,
    reason: status.reason,
    hasAddress: status.podIP !== undefined,
    conditions: (status.conditions ?? []).map((each) => [each.type, each.status, each.reason, each.message]),
    containers: all(status).map(({ name, state, ready, started }) => [
      name,
      state?.running === undefined ? [] : ['running'],
      state?.waiting?.reason,
      state?.terminated?.exitCode,
      state?.terminated?.reason,
      ready,
      started,
    ]),
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

function comparable(event: string): string {
  return foreignWords.test(event) ? event.split(' ').slice(0, 3).join(' ') : event;
}

function expectEvents({ name, events }: Recording, told: readonly string[]): void {
  const recorded = new Set(events.map(comparable));
  const missing = [...recorded].filter((event) => !told.includes(event) && !byMoment.test(`${event} `));
  const extra = told.filter(
    (event) => !recorded.has(event) && !byMoment.test(`${event} `) && !warning.test(event),
  );
  expect({ name, missing, extra }, told.join('\n')).toEqual({ name, missing: [], extra: [] });
}

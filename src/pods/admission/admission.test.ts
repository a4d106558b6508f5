import { expect, test } from 'vitest';
import { aContainer, anObservedPod, aPod, type PodOver } from '../../../test/builders/builders.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { Pod } from '../../api/k8s/types.ts';
import { podUid } from '../../api/pod/pod-ref.ts';
import type { EventText } from '../../api/ports/events.ts';
import type { PodKill } from '../../api/ports/pod-kill.ts';
import { Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';
import { Admission } from './admission.ts';

const signal = new AbortController().signal;
const requesting = (name: string, cpu: string, over: PodOver = {}): Pod =>
  aPod({ name, containers: [aContainer({ resources: { requests: { cpu } } })], ...over });

/** `live`: the labels that the API server has by now, or its failure. */
function rig(cpu = '2', live?: Record<string, string> | Error) {
  let fetched = 0;
  const shutdown = { isShuttingDown: false };
  const active: Pod[] = [];
  const running = new Set<string>();
  const events: [string, EventText][] = [];
  const kills: [string, PodKill][] = [];
  const preempted: string[] = [];
  const released: string[] = [];
  const refused = new Set<string>();
  const exclusive = (pod: Pod) =>
    refused.has(pod.metadata?.name ?? '') ? { reason: 'Exclusive', message: 'none left' } : undefined;
  const admission = new Admission({
    active: { withStatuses: () => active },
    observed: { get: (uid) => (running.has(uid) ? anObservedPod() : undefined) },
    node: {
      features: async () => undefined,
      current: () => ({
        metadata: { name: 'n' },
        status: { allocatable: { cpu, memory: '1Gi', pods: '10' } },
      }),
      live: async () => {
        fetched++;
        if (live instanceof Error) throw live;
        if (live === undefined) return undefined;
        return {
          metadata: { name: 'n', labels: live },
          status: { allocatable: { cpu, memory: '1Gi', pods: '10' } },
        };
      },
    },
    kills: {
      kill: async (uid, kill) => {
        kills.push([uid, kill]);
        active.splice(
          active.findIndex((pod) => podUid(pod) === uid),
          1,
        );
      },
    },
    exclusive: {
      admit: (pod) => exclusive(pod),
      release: (uid) => void released.push(uid),
      isDevice: (resource) => resource === 'example.com/device',
    },
    pressure: { conditions: () => [] },
    shutdown,
    podLevelResources: true,
    report: {
      events: {
        pod: (pod, event) => void events.push([pod.metadata?.name ?? '', event]),
        node: () => undefined,
      },
      metrics: { countPreemption: (resource) => void preempted.push(resource) },
      log: textLogger({
        write: () => undefined,
        clock: new FakeClock(0),
        verbosity: new Verbosity(0),
        pid: 1,
      }),
    },
  });
  const admit = async (pod: Pod): Promise<string | undefined> => {
    active.push(pod);
    return (await admission.admit(pod, signal))?.reason;
  };
  return {
    active,
    admission,
    admit,
    events,
    fetched: () => fetched,
    kills,
    preempted,
    refused,
    released,
    running,
    shutdown,
  };
}

test('counts admitted pods against the next', async () => {
  const { admit } = rig();
  expect([
    await admit(requesting('a', '1')),
    await admit(requesting('b', '1')),
    await admit(requesting('c', '1')),
  ]).toEqual([undefined, undefined, 'OutOfcpu']);
});

test('admits no new pod while the node shuts down, not even a critical one', async () => {
  const { active, admission, admit, running, shutdown } = rig();
  shutdown.isShuttingDown = true;
  const critical = aPod({ priority: 2_000_000_000 });
  expect(await admission.admit(critical, signal)).toEqual({
    reason: 'NodeShutdown',
    message: 'Pod was rejected as the node is shutting down.',
  });
  const old = aPod({ name: 'old' });
  active.push(old);
  running.add(podUid(old));
  expect(await admit(old)).toBeUndefined();
  shutdown.isShuttingDown = false;
  expect(await admit(critical)).toBeUndefined();
});

test('does not count rejected or removed pods', async () => {
  const { active, admit } = rig();
  expect([await admit(requesting('a', '2')), await admit(requesting('b', '1'))]).toEqual([
    undefined,
    'OutOfcpu',
  ]);
  active.splice(0, 2);
  expect(await admit(requesting('c', '2'))).toBeUndefined();
});

test('counts running pods against new ones after a restart', async () => {
  const { active, admit, running } = rig();
  const old = requesting('old', '2');
  active.push(old);
  running.add(podUid(old));
  expect(await admit(requesting('new', '1'))).toBe('OutOfcpu');
});

test('keeps the running pods that still fit on a node that shrank, and rejects the rest', async () => {
  const { active, admit, running } = rig('1');
  const pods = [requesting('a', '1'), requesting('b', '1')];
  for (const pod of pods) running.add(podUid(pod));
  active.push(...pods);
  expect([await admit(pods[0] as Pod), await admit(pods[1] as Pod)]).toEqual([undefined, 'OutOfcpu']);
});

test('preempts a pod for a critical one, with an event and a condition', async () => {
  const { admit, events, kills, preempted } = rig();
  await admit(requesting('small', '500m'));
  await admit(requesting('large', '1500m'));
  expect(await admit(requesting('critical', '1', { priority: 2_000_000_000 }))).toBeUndefined();
  expect(kills).toEqual([
    [
      'uid-large',
      {
        reason: 'Preempting',
        message: 'Preempted in order to admit critical pod',
        condition: {
          type: 'DisruptionTarget',
          status: 'True',
          reason: 'TerminationByKubelet',
          message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
        },
      },
    ],
  ]);
  expect(events).toEqual([
    ['large', { type: 'Warning', reason: 'Preempting', message: 'Preempted in order to admit critical pod' }],
  ]);
  expect(preempted).toEqual(['cpu']);
});

const zoned = (over: PodOver = {}): Pod => requesting('zoned', '1', { nodeSelector: { zone: 'a' }, ...over });

test('reads the node once before it rejects a pod for its labels alone', async () => {
  const late = rig('2', { zone: 'a' });
  expect([await late.admit(zoned()), late.fetched()]).toEqual([undefined, 1]);
  const still = rig('2', { zone: 'b' });
  expect([await still.admit(zoned()), still.fetched()]).toEqual(['NodeAffinity', 1]);
});

test('does not read the node if something else speaks against the pod, or nothing does', async () => {
  const { admit, fetched } = rig('2', { zone: 'a' });
  expect(await admit(zoned({ nodeName: 'other' }))).toBe('NodeAffinity');
  expect(await admit(requesting('plain', '1'))).toBeUndefined();
  expect(await admit(requesting('large', '9', { nodeSelector: { zone: 'a' } }))).toBe('OutOfcpu');
  expect(fetched()).toBe(0);
});

test('rejects the pod if the node cannot be read, or there is no API server', async () => {
  expect(await rig('2', new Error('unreachable')).admit(zoned())).toBe('NodeAffinity');
  expect(await rig('2').admit(zoned())).toBe('NodeAffinity');
});

test('checks exclusive resources before all others, and releases those of a pod that is rejected for another reason', async () => {
  const { admit, refused, released } = rig('1');
  refused.add('a');
  expect(await admit(requesting('a', '9'))).toBe('Exclusive');
  expect(await admit(requesting('b', '9'))).toBe('OutOfcpu');
  expect(released).toEqual(['uid-a', 'uid-b']);
});

test('keeps the exclusive resources of a rejected pod whose containers still run', async () => {
  const { admit, released, running } = rig('1');
  const pod = requesting('a', '9');
  running.add(podUid(pod));
  expect(await admit(pod)).toBe('OutOfcpu');
  expect(released).toEqual([]);
});

test('preempts pods before it allocates exclusive resources to a critical pod', async () => {
  const { admit, kills, refused } = rig('1');
  await admit(requesting('small', '1'));
  refused.add('critical');
  expect(await admit(requesting('critical', '1', { priority: 2_000_000_000 }))).toBe('Exclusive');
  expect(kills).toHaveLength(1);
});

test('leaves resources of device plugins to their allocation', async () => {
  const { admit } = rig();
  const resources = { requests: { 'example.com/device': '9', 'example.com/other': '9' } };
  expect(await admit(aPod({ containers: [aContainer({ resources })] }))).toBeUndefined();
});

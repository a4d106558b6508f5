import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import type { Node, NodeSelectorRequirement, Pod } from '../../api/k8s/types.ts';
import { admitPod } from './admit-pod.ts';

const node: Node = {
  metadata: { name: 'n', labels: { zone: 'a', size: '5', 'kubernetes.io/os': 'linux' } },
  spec: { taints: [] },
  status: {
    allocatable: { cpu: '2', memory: '1000', pods: '3', 'ephemeral-storage': '500', 'example.com/gpu': '1' },
  },
};
const requesting = (requests: Record<string, string>, over: PodOver = {}): Pod =>
  aPod({ containers: [aContainer({ resources: { requests } })], ...over });
const admit = (pod: Pod, others: readonly Pod[] = [], on: Node = node): ReturnType<typeof admitPod> =>
  admitPod({ pod, others, node: on, podLevelResources: true });
const admitted = { admit: true, preempt: [] };
const no = (reason: string, message: string) => ({ admit: false, reason, message });
const short = (resource: string, requested: number, used: number, capacity: number) =>
  no(
    `OutOf${resource}`,
    `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  );

describe('resources', () => {
  const three = ['a', 'b', 'c'].map((name) => aPod({ name }));
  const cases = [
    ['a pod without requests', aPod(), [], admitted],
    ['exactly the remaining CPU', requesting({ cpu: '1500m' }), [requesting({ cpu: '500m' })], admitted],
    [
      'one milli-CPU more',
      requesting({ cpu: '1501m' }),
      [requesting({ cpu: '500m' })],
      short('cpu', 1501, 500, 2000),
    ],
    ['more than the capacity', requesting({ cpu: '64' }), [], short('cpu', 64_000, 0, 2000)],
    [
      'memory',
      requesting({ memory: '600' }),
      [requesting({ memory: '500' })],
      short('memory', 600, 500, 1000),
    ],
    ['reports cpu before memory', requesting({ memory: '2000', cpu: '3' }), [], short('cpu', 3000, 0, 2000)],
    ['storage', requesting({ 'ephemeral-storage': '501' }), [], short('ephemeral-storage', 501, 0, 500)],
    ['reports the pod limit first', requesting({ cpu: '64' }), three, short('pods', 1, 3, 3)],
    ['a device', requesting({ 'example.com/gpu': '2' }), [], short('example.com/gpu', 2, 0, 1)],
    [
      'an extended resource that the node does not advertise: ignored',
      requesting({ 'example.com/tpu': '9' }),
      [],
      admitted,
    ],
    [
      'huge pages that the node lacks',
      requesting({ 'hugepages-2Mi': '2Mi' }),
      [],
      short('hugepages-2Mi', 2_097_152, 0, 0),
    ],
    [
      'counts the pod overhead',
      requesting({ cpu: '1900m' }, { overhead: { cpu: '200m' } }),
      [],
      short('cpu', 2100, 0, 2000),
    ],
  ] as const;
  for (const [name, pod, others, want] of cases) test(name, () => expect(admit(pod, others)).toEqual(want));
});

describe('node constraints', () => {
  const affinity = (...matchExpressions: NodeSelectorRequirement[]): PodOver => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
      },
    },
  });
  const mismatch = no(
    'NodeAffinity',
    "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  );
  const notHere = { ...mismatch, isAffinityOnly: true };
  const port = (hostPort: number, over: object = {}): PodOver => ({
    containers: [aContainer({ ports: [{ containerPort: 80, hostPort, ...over }] })],
  });
  const noPort = no(
    'NodePorts',
    "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  );
  const cases: readonly (readonly [string, PodOver, readonly PodOver[], unknown])[] = [
    ['matching node selector', { nodeSelector: { zone: 'a' } }, [], admitted],
    ['mismatching node selector', { nodeSelector: { zone: 'b' } }, [], notHere],
    [
      'mismatching node selector, and a port in use',
      { nodeSelector: { zone: 'b' }, ...port(80) },
      [port(80)],
      mismatch,
    ],
    ['In', affinity({ key: 'zone', operator: 'In', values: ['a', 'b'] }), [], admitted],
    ['In, mismatching', affinity({ key: 'zone', operator: 'In', values: ['b'] }), [], notHere],
    ['NotIn', affinity({ key: 'zone', operator: 'NotIn', values: ['a'] }), [], notHere],
    ['NotIn with a missing label', affinity({ key: 'none', operator: 'NotIn', values: ['a'] }), [], admitted],
    ['Exists', affinity({ key: 'zone', operator: 'Exists' }), [], admitted],
    ['DoesNotExist', affinity({ key: 'zone', operator: 'DoesNotExist' }), [], notHere],
    ['Gt', affinity({ key: 'size', operator: 'Gt', values: ['4'] }), [], admitted],
    ['Lt', affinity({ key: 'size', operator: 'Lt', values: ['4'] }), [], notHere],
    ['an empty term matches nothing', affinity(), [], notHere],
    ['an unknown operator', affinity({ key: 'zone', operator: 'Near' }), [], notHere],
    [
      'another node by name',
      { nodeName: 'm' },
      [],
      no('NodeName', "Predicate NodeName failed: node(s) didn't match the requested node name"),
    ],
    ['this node by name', { nodeName: 'n' }, [], admitted],
    ['a free host port', port(80), [port(81)], admitted],
    ['a host port in use', port(80), [port(80)], noPort],
    ['the same port of another protocol', port(80), [port(80, { protocol: 'UDP' })], admitted],
    [
      'the same port at another address',
      port(80, { hostIP: '10.0.0.1' }),
      [port(80, { hostIP: '10.0.0.2' })],
      admitted,
    ],
    ['the wildcard address conflicts with any', port(80), [port(80, { hostIP: '10.0.0.2' })], noPort],
    [
      'another operating system',
      { os: { name: 'windows' } },
      [],
      no('PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS"),
    ],
    [
      'the OS label of another operating system',
      { labels: { 'kubernetes.io/os': 'windows' } },
      [],
      no(
        'PodOSSelectorNodeLabelDoesNotMatch',
        "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
      ),
    ],
    [
      'a supplemental groups policy that the runtime does not support',
      { securityContext: { supplementalGroupsPolicy: 'Strict' } },
      [],
      no(
        'SupplementalGroupsPolicyNotSupported',
        'SupplementalGroupsPolicy=Strict is not supported in this node',
      ),
    ],
  ];
  for (const [name, pod, others, want] of cases)
    test(name, () =>
      expect(
        admit(
          aPod(pod),
          others.map((each) => aPod(each)),
        ),
      ).toEqual(want),
    );
});

describe('taints', () => {
  const tainted: Node = { ...node, spec: { taints: [{ key: 'k', value: 'v', effect: 'NoExecute' }] } };
  const rejected = no(
    'TaintToleration',
    "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  );
  const cases: readonly (readonly [string, PodOver, unknown])[] = [
    ['not tolerated', {}, rejected],
    [
      'tolerated by key and value',
      { tolerations: [{ key: 'k', value: 'v', effect: 'NoExecute' }] },
      admitted,
    ],
    ['another value', { tolerations: [{ key: 'k', value: 'w' }] }, rejected],
    ['any value', { tolerations: [{ key: 'k', operator: 'Exists' }] }, admitted],
    ['tolerates everything', { tolerations: [{ operator: 'Exists' }] }, admitted],
    ['another effect', { tolerations: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] }, rejected],
    ['a static pod ignores taints', { annotations: { 'kubernetes.io/config.source': 'file' } }, admitted],
  ];
  for (const [name, pod, want] of cases)
    test(name, () => expect(admit(aPod(pod), [], tainted)).toEqual(want));
  test('ignores NoSchedule taints', () =>
    expect(admit(aPod(), [], { ...node, spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } })).toEqual(
      admitted,
    ));
});

describe('preemption for critical pods', () => {
  const critical = (requests: Record<string, string>): Pod =>
    requesting(requests, { name: 'critical', priority: 2_000_000_000 });
  const bestEffort = aPod({ name: 'best-effort' });
  const burstable = (name: string, cpu: string, memory = '1'): Pod => requesting({ cpu, memory }, { name });
  const guaranteed = (name: string, cpu: string, memory: string): Pod =>
    aPod({
      name,
      containers: [aContainer({ resources: { requests: { cpu, memory }, limits: { cpu, memory } } })],
    });
  const names = (pod: Pod, others: readonly Pod[]): readonly string[] | string => {
    const answer = admit(pod, others);
    return answer.admit ? answer.preempt.map(({ metadata }) => metadata?.name ?? '') : answer.message;
  };
  const cases = [
    ['no pod if the critical one fits', critical({ cpu: '1' }), [burstable('a', '1')], []],
    [
      'the one pod that suffices',
      critical({ cpu: '1' }),
      [burstable('a', '500m'), burstable('b', '1500m')],
      ['b'],
    ],
    [
      'the smaller of two that suffice',
      critical({ cpu: '500m' }),
      [burstable('a', '1200m'), burstable('b', '700m')],
      ['b'],
    ],
    [
      'both if one does not suffice',
      critical({ cpu: '2' }),
      [burstable('a', '1'), burstable('b', '1')],
      ['b', 'a'],
    ],
    [
      'a Burstable pod before a Guaranteed one',
      critical({ cpu: '1' }),
      [guaranteed('g', '1', '10'), burstable('b', '1')],
      ['b'],
    ],
    [
      'a BestEffort pod if only the pod limit is reached',
      critical({}),
      [bestEffort, burstable('b', '1'), guaranteed('g', '1', '10')],
      ['best-effort'],
    ],
    [
      'not another critical pod of the same priority',
      critical({ cpu: '2' }),
      [requesting({ cpu: '1' }, { name: 'other', priority: 2_000_000_000 })],
      'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]',
    ],
    [
      'a critical pod of lower priority',
      requesting({ cpu: '2' }, { name: 'top', priority: 2_000_001_000 }),
      [requesting({ cpu: '1' }, { name: 'other', priority: 2_000_000_000 })],
      ['other'],
    ],
    [
      'no pod if another constraint fails',
      { ...critical({ cpu: '2' }), spec: { ...critical({ cpu: '2' }).spec, nodeName: 'm' } } as Pod,
      [burstable('a', '1')],
      "Predicate NodeName failed: node(s) didn't match the requested node name",
    ],
    [
      'a static pod is critical',
      requesting({ cpu: '2' }, { annotations: { 'kubernetes.io/config.source': 'file' } }),
      [burstable('a', '1')],
      ['a'],
    ],
  ] as const;
  for (const [name, pod, others, want] of cases) test(name, () => expect(names(pod, others)).toEqual(want));
  test('reports the resource that was short', () =>
    expect(admit(critical({ cpu: '2' }), [burstable('a', '1')])).toMatchObject({
      admit: true,
      shortOf: 'cpu',
    }));
});

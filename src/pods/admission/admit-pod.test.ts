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
const asking = (requests: Record<string, string>, over: PodOver = {}): Pod =>
  aPod({ containers: [aContainer({ resources: { requests } })], ...over });
const admit = (pod: Pod, others: readonly Pod[] = [], on: Node = node): ReturnType<typeof admitPod> =>
  admitPod({ pod, others, node: on, podLevelResources: true });
const yes = { admit: true, preempt: [] };
const no = (reason: string, message: string) => ({ admit: false, reason, message });
const short = (resource: string, requested: number, used: number, capacity: number) =>
  no(
    `OutOf${resource}`,
    `Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, capacity: ${capacity}`,
  );

describe('resources', () => {
  const three = ['a', 'b', 'c'].map((name) => aPod({ name }));
  const cases = [
    ['a pod that asks for nothing', aPod(), [], yes],
    ['just what is left', asking({ cpu: '1500m' }), [asking({ cpu: '500m' })], yes],
    [
      'one thousandth more',
      asking({ cpu: '1501m' }),
      [asking({ cpu: '500m' })],
      short('cpu', 1501, 500, 2000),
    ],
    ['more than there is', asking({ cpu: '64' }), [], short('cpu', 64_000, 0, 2000)],
    ['memory', asking({ memory: '600' }), [asking({ memory: '500' })], short('memory', 600, 500, 1000)],
    ['cpu is named before memory', asking({ memory: '2000', cpu: '3' }), [], short('cpu', 3000, 0, 2000)],
    ['storage', asking({ 'ephemeral-storage': '501' }), [], short('ephemeral-storage', 501, 0, 500)],
    ['pods, before all else', asking({ cpu: '64' }), three, short('pods', 1, 3, 3)],
    ['a device', asking({ 'example.com/gpu': '2' }), [], short('example.com/gpu', 2, 0, 1)],
    [
      'a device that the node does not know: somebody else has it',
      asking({ 'example.com/tpu': '9' }),
      [],
      yes,
    ],
    [
      'huge pages that the node does not have',
      asking({ 'hugepages-2Mi': '2Mi' }),
      [],
      short('hugepages-2Mi', 2_097_152, 0, 0),
    ],
    [
      'overhead counts',
      asking({ cpu: '1900m' }, { overhead: { cpu: '200m' } }),
      [],
      short('cpu', 2100, 0, 2000),
    ],
  ] as const;
  for (const [name, pod, others, want] of cases) test(name, () => expect(admit(pod, others)).toEqual(want));
});

describe('the node', () => {
  const affinity = (...matchExpressions: NodeSelectorRequirement[]): PodOver => ({
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
      },
    },
  });
  const notHere = no(
    'NodeAffinity',
    "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  );
  const port = (hostPort: number, over: object = {}): PodOver => ({
    containers: [aContainer({ ports: [{ containerPort: 80, hostPort, ...over }] })],
  });
  const noPort = no(
    'NodePorts',
    "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  );
  const cases: readonly (readonly [string, PodOver, readonly PodOver[], unknown])[] = [
    ['selector that holds', { nodeSelector: { zone: 'a' } }, [], yes],
    ['selector that does not', { nodeSelector: { zone: 'b' } }, [], notHere],
    ['In', affinity({ key: 'zone', operator: 'In', values: ['a', 'b'] }), [], yes],
    ['In, not', affinity({ key: 'zone', operator: 'In', values: ['b'] }), [], notHere],
    ['NotIn', affinity({ key: 'zone', operator: 'NotIn', values: ['a'] }), [], notHere],
    ['NotIn of a label it lacks', affinity({ key: 'none', operator: 'NotIn', values: ['a'] }), [], yes],
    ['Exists', affinity({ key: 'zone', operator: 'Exists' }), [], yes],
    ['DoesNotExist', affinity({ key: 'zone', operator: 'DoesNotExist' }), [], notHere],
    ['Gt', affinity({ key: 'size', operator: 'Gt', values: ['4'] }), [], yes],
    ['Lt', affinity({ key: 'size', operator: 'Lt', values: ['4'] }), [], notHere],
    ['a term that asks for nothing matches nothing', affinity(), [], notHere],
    ['an operator nobody knows', affinity({ key: 'zone', operator: 'Near' }), [], notHere],
    [
      'another node by name',
      { nodeName: 'm' },
      [],
      no('NodeName', "Predicate NodeName failed: node(s) didn't match the requested node name"),
    ],
    ['this node by name', { nodeName: 'n' }, [], yes],
    ['a port that is free', port(80), [port(81)], yes],
    ['a port that is taken', port(80), [port(80)], noPort],
    ['the same port of another protocol', port(80), [port(80, { protocol: 'UDP' })], yes],
    [
      'the same port at another address',
      port(80, { hostIP: '10.0.0.1' }),
      [port(80, { hostIP: '10.0.0.2' })],
      yes,
    ],
    ['any address takes all', port(80), [port(80, { hostIP: '10.0.0.2' })], noPort],
    [
      'another system',
      { os: { name: 'windows' } },
      [],
      no('PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS"),
    ],
    [
      'a label of another system',
      { labels: { 'kubernetes.io/os': 'windows' } },
      [],
      no(
        'PodOSSelectorNodeLabelDoesNotMatch',
        "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
      ),
    ],
    [
      'groups that the runtime cannot keep apart',
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
  const refused = no(
    'TaintToleration',
    "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  );
  const cases: readonly (readonly [string, PodOver, unknown])[] = [
    ['not borne', {}, refused],
    ['borne by key and value', { tolerations: [{ key: 'k', value: 'v', effect: 'NoExecute' }] }, yes],
    ['another value', { tolerations: [{ key: 'k', value: 'w' }] }, refused],
    ['any value', { tolerations: [{ key: 'k', operator: 'Exists' }] }, yes],
    ['everything', { tolerations: [{ operator: 'Exists' }] }, yes],
    ['another effect', { tolerations: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] }, refused],
    ['a static pod does not care', { annotations: { 'kubernetes.io/config.source': 'file' } }, yes],
  ];
  for (const [name, pod, want] of cases)
    test(name, () => expect(admit(aPod(pod), [], tainted)).toEqual(want));
  test('one that only keeps the scheduler away', () =>
    expect(admit(aPod(), [], { ...node, spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } })).toEqual(
      yes,
    ));
});

describe('critical pods push others aside', () => {
  const critical = (requests: Record<string, string>): Pod =>
    asking(requests, { name: 'critical', priority: 2_000_000_000 });
  const bestEffort = aPod({ name: 'best-effort' });
  const burstable = (name: string, cpu: string, memory = '1'): Pod => asking({ cpu, memory }, { name });
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
    ['nobody when it fits', critical({ cpu: '1' }), [burstable('a', '1')], []],
    [
      'the one that suffices',
      critical({ cpu: '1' }),
      [burstable('a', '500m'), burstable('b', '1500m')],
      ['b'],
    ],
    [
      'the smaller of two that do',
      critical({ cpu: '500m' }),
      [burstable('a', '1200m'), burstable('b', '700m')],
      ['b'],
    ],
    [
      'both when one does not',
      critical({ cpu: '2' }),
      [burstable('a', '1'), burstable('b', '1')],
      ['b', 'a'],
    ],
    [
      'a burstable one before a guaranteed one',
      critical({ cpu: '1' }),
      [guaranteed('g', '1', '10'), burstable('b', '1')],
      ['b'],
    ],
    [
      'for room alone a best-effort one',
      critical({}),
      [bestEffort, burstable('b', '1'), guaranteed('g', '1', '10')],
      ['best-effort'],
    ],
    [
      'not another critical one',
      critical({ cpu: '2' }),
      [asking({ cpu: '1' }, { name: 'other', priority: 2_000_000_000 })],
      'Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]',
    ],
    [
      'one of lower priority, although both are critical',
      asking({ cpu: '2' }, { name: 'top', priority: 2_000_001_000 }),
      [asking({ cpu: '1' }, { name: 'other', priority: 2_000_000_000 })],
      ['other'],
    ],
    [
      'nobody when something else is in the way',
      { ...critical({ cpu: '2' }), spec: { ...critical({ cpu: '2' }).spec, nodeName: 'm' } } as Pod,
      [burstable('a', '1')],
      "Predicate NodeName failed: node(s) didn't match the requested node name",
    ],
    [
      'a static pod is critical',
      asking({ cpu: '2' }, { annotations: { 'kubernetes.io/config.source': 'file' } }),
      [burstable('a', '1')],
      ['a'],
    ],
  ] as const;
  for (const [name, pod, others, want] of cases) test(name, () => expect(names(pod, others)).toEqual(want));
  test('says what it was short of', () =>
    expect(admit(critical({ cpu: '2' }), [burstable('a', '1')])).toMatchObject({
      admit: true,
      shortOf: 'cpu',
    }));
});

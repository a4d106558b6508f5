import { describe, expect, test } from 'vitest';
import type { Node } from '../api/k8s/types.ts';
import { Quantity } from '../api/quantity/quantity.ts';
import { facts, resources, settings } from './fixtures/node-world.ts';
import { generateInitialNode, generateNode } from './generate-node.ts';
import { computeAddresses } from './node-addresses.ts';
import { computeAmounts } from './node-capacity.ts';
import { computeConditions } from './node-conditions.ts';
import { nodeHasChanged, nodeStatusPatch } from './node-patch.ts';
import { reconcileNode } from './reconcile-node.ts';

const nowMs = Date.parse('2026-11-15T20:40:21Z');
const now = '2026-11-15T20:40:21Z';

function initial(over: Parameters<typeof settings>[0] = {}, found: Parameters<typeof facts>[0] = {}): Node {
  return generateInitialNode(settings(over), facts(found), nowMs).node;
}

test('generates the recorded object for a new node', () => {
  const condition = (type: string, status: string, reason: string, message: string) => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  expect(initial()).toEqual({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: 'node1',
      annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
      labels: {
        'beta.kubernetes.io/arch': 'amd64',
        'beta.kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': 'node1',
        'kubernetes.io/os': 'linux',
      },
    },
    spec: {},
    status: {
      addresses: [
        { type: 'InternalIP', address: '192.0.2.2' },
        { type: 'Hostname', address: 'node1' },
      ],
      allocatable: {
        cpu: '2',
        'ephemeral-storage': '265142110657',
        'hugepages-1Gi': '0',
        'hugepages-2Mi': '0',
        memory: '24580016Ki',
        pods: '110',
      },
      capacity: {
        cpu: '2',
        'ephemeral-storage': '270553174016',
        'hugepages-1Gi': '0',
        'hugepages-2Mi': '0',
        memory: '24682416Ki',
        pods: '110',
      },
      conditions: [
        condition(
          'MemoryPressure',
          'False',
          'KubeletHasSufficientMemory',
          'kubelet has sufficient memory available',
        ),
        condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
        condition('PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
        condition('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'),
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      images: [
        { names: ['agnhost:2.53', 'agnhost:2.56'], sizeBytes: 174_992_146 },
        { names: [], sizeBytes: 78_992_145 },
      ],
      nodeInfo: {
        architecture: 'amd64',
        bootID: '74a6f5d8-f2dd-43ea-9e9c-7175bb0248c5',
        containerRuntimeVersion: 'containerd://1.6.20',
        kernelVersion: '6.18.44-fc-v445',
        kubeProxyVersion: '',
        kubeletVersion: 'v1.37.0',
        machineID: '3d1219c7c4c5404aaa1f6d2a48adfda4',
        operatingSystem: 'linux',
        osImage: 'Debian GNU/Linux 12 (bookworm)',
        runningInUserNamespace: false,
        systemUUID: '3d1219c7c4c5404aaa1f6d2a48adfda4',
      },
    },
  });
});

test('takes labels, taints and the provider ID from the settings', () => {
  const node = initial({
    labels: { tier: 'x', 'kubernetes.io/hostname': 'other' },
    taints: [{ key: 'k', effect: 'NoExecute' }],
    providerID: 'cloud://1',
    externalCloudProvider: true,
    controllerAttachDetach: false,
  });
  expect(node.metadata?.labels).toMatchObject({ tier: 'x', 'kubernetes.io/hostname': 'other' });
  expect(node.metadata?.annotations).toBeUndefined();
  expect(node.spec).toEqual({
    providerID: 'cloud://1',
    taints: [
      { key: 'k', effect: 'NoExecute' },
      { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
    ],
  });
});

describe('computeAddresses', () => {
  const network = {
    hostAddresses: ['127.0.0.1', '192.0.2.2', '192.0.2.3', '2001:db8::2'],
    nameAddresses: ['127.0.1.1', '192.0.2.3'],
    defaultAddresses: ['192.0.2.2', '2001:db8::2'],
  };
  const bare = { ...network, nameAddresses: [] };
  const plain = { hostname: 'node1', nodeIps: [], externalCloudProvider: false };
  const known = [{ type: 'InternalIP', address: '198.51.100.1' }];
  const cases = [
    ['resolves the host name to a local address', [], plain, network, ['192.0.2.3', 'node1']],
    ['uses the default route', [], plain, bare, ['192.0.2.2', 'node1']],
    [
      'a host name that is an address',
      [],
      { ...plain, hostname: '192.0.2.9' },
      bare,
      ['192.0.2.9', '192.0.2.9'],
    ],
    [':: prefers IPv6', [], { ...plain, nodeIps: ['::'] }, bare, ['2001:db8::2', 'node1']],
    ['--node-ip', [], { ...plain, nodeIps: ['192.0.2.3'] }, bare, ['192.0.2.3', 'node1']],
    [
      'dual stack',
      [],
      { ...plain, nodeIps: ['2001:db8::2', '192.0.2.2'] },
      bare,
      ['2001:db8::2', '192.0.2.2', 'node1'],
    ],
    [
      'a node IP of another host: unchanged',
      known,
      { ...plain, nodeIps: ['192.0.2.77'] },
      bare,
      ['198.51.100.1'],
    ],
    ['no address: unchanged', known, plain, { ...bare, defaultAddresses: [] }, ['198.51.100.1']],
    [
      'external cloud provider: only the host name',
      [],
      { ...plain, externalCloudProvider: true },
      network,
      ['node1'],
    ],
    [
      'external cloud provider that has set addresses: unchanged',
      known,
      { ...plain, externalCloudProvider: true, nodeIps: ['192.0.2.2'] },
      network,
      ['198.51.100.1'],
    ],
    [
      'external cloud provider with a node IP',
      [],
      { ...plain, externalCloudProvider: true, nodeIps: ['192.0.2.2'] },
      network,
      ['192.0.2.2', 'node1'],
    ],
  ] as const;
  for (const [name, before, over, net, want] of cases)
    test(name, () =>
      expect(computeAddresses(before, over, net).addresses.map(({ address }) => address)).toEqual(want),
    );

  test('annotates the node IP for an external cloud provider, and removes a stale annotation', () => {
    const requested = initial({ externalCloudProvider: true, nodeIps: ['192.0.2.2'] });
    expect(requested.metadata?.annotations).toMatchObject({
      'alpha.kubernetes.io/provided-node-ip': '192.0.2.2',
    });
    const later = generateNode(requested, settings(), facts(), nowMs).node;
    expect(later.metadata?.annotations).not.toHaveProperty('alpha.kubernetes.io/provided-node-ip');
  });
});

describe('computeAmounts', () => {
  test('limits pods by pods per core', () => {
    expect(computeAmounts({}, resources(), { maxPods: 110, podsPerCore: 10 }).capacity['pods']).toBe('20');
    expect(computeAmounts({}, resources(), { maxPods: 15, podsPerCore: 10 }).capacity['pods']).toBe('15');
  });

  test('subtracts huge pages from memory, never below zero', () => {
    const { allocatable } = computeAmounts(
      {},
      resources({
        capacity: () =>
          new Map([
            ['memory', Quantity.parse('4Gi')],
            ['hugepages-1Gi', Quantity.parse('1Gi')],
          ]),
        reservation: () => new Map([['memory', Quantity.parse('100Mi')]]),
      }),
      { maxPods: 1, podsPerCore: 0 },
    );
    expect(allocatable).toMatchObject({ memory: '2972Mi', 'hugepages-1Gi': '1Gi' });
    const tight = resources({ reservation: () => new Map([['memory', Quantity.parse('1Ti')]]) });
    expect(computeAmounts({}, tight, { maxPods: 1, podsPerCore: 0 }).allocatable['memory']).toBe('0');
  });

  test('keeps extended resources of others, and drops those no longer in capacity', () => {
    const before = {
      capacity: { 'example.com/dongle': '4' },
      allocatable: { 'example.com/dongle': '3', 'example.com/gone': '1' },
    };
    const { allocatable } = computeAmounts(before, resources(), { maxPods: 1, podsPerCore: 0 });
    expect(allocatable).toMatchObject({ 'example.com/dongle': '4' });
    expect(allocatable).not.toHaveProperty('example.com/gone');
  });

  test('reports healthy devices as allocatable and removed ones as zero', () => {
    const devices = () => ({
      capacity: new Map([['example.com/gpu', Quantity.of(4)]]),
      allocatable: new Map([['example.com/gpu', Quantity.of(3)]]),
      removed: ['example.com/old'],
    });
    const amounts = computeAmounts({}, resources({ devices }), { maxPods: 1, podsPerCore: 0 });
    expect(amounts.capacity).toMatchObject({ 'example.com/gpu': '4', 'example.com/old': '0' });
    expect(amounts.allocatable).toMatchObject({ 'example.com/gpu': '3', 'example.com/old': '0' });
  });
});

describe('computeConditions', () => {
  const base = {
    before: [],
    pressure: { memory: false, disk: false, pid: false },
    problems: [],
    capacity: { cpu: '2', memory: '1Gi', pods: '1', 'ephemeral-storage': '1Gi' },
    localStorageIsolation: true,
    now,
  };
  const first = computeConditions(base);
  const earlier = first.conditions.map((each) => ({ ...each, lastTransitionTime: '2026-01-01T00:00:00Z' }));

  test('emits events for new conditions except Ready', () => {
    expect(first.transitions).toEqual([
      'NodeHasSufficientMemory',
      'NodeHasNoDiskPressure',
      'NodeHasSufficientPID',
    ]);
  });

  test('keeps the transition time and emits no event for unchanged conditions', () => {
    const again = computeConditions({ ...base, before: earlier });
    expect(again.transitions).toEqual([]);
    expect(again.conditions).toEqual(earlier);
  });

  const problems = ['container runtime is down', 'PLEG is not healthy: x', 'container runtime is down'];
  const cases = [
    [
      'pressure',
      { pressure: { memory: true, disk: true, pid: true } },
      ['NodeHasInsufficientMemory', 'NodeHasDiskPressure', 'NodeHasInsufficientPID'],
      'True',
      'kubelet is posting ready status',
    ],
    [
      'one problem',
      { problems: ['container runtime is down'] },
      ['NodeNotReady'],
      'False',
      'container runtime is down',
    ],
    [
      'several problems without duplicates',
      { problems },
      ['NodeNotReady'],
      'False',
      '[container runtime is down, PLEG is not healthy: x]',
    ],
    [
      'missing capacity',
      { capacity: { cpu: '1' } },
      ['NodeNotReady'],
      'False',
      'missing node capacity for resources: memory, pods, ephemeral-storage',
    ],
  ] as const;
  for (const [name, over, transitions, status, message] of cases)
    test(name, () => {
      const result = computeConditions({ ...base, ...over, before: earlier });
      expect(result.transitions).toEqual(transitions);
      expect(result.conditions.at(-1)).toMatchObject({ type: 'Ready', status, message });
    });

  test('keeps other controllers’ conditions in place', () => {
    const foreign = { type: 'NetworkUnavailable', status: 'False' };
    const { conditions } = computeConditions({ ...base, before: [foreign, ...earlier] });
    expect(conditions.map(({ type }) => type)).toEqual([
      'NetworkUnavailable',
      'MemoryPressure',
      'DiskPressure',
      'PIDPressure',
      'Ready',
    ]);
  });
});

test('emits a Rebooted event with the new boot ID', () => {
  const before = initial();
  const { bootID: _old, ...rest } = facts().identity;
  const { events } = generateNode(before, settings(), facts({ identity: { ...rest, bootID: 'b2' } }), nowMs);
  expect(events).toEqual([
    { type: 'Warning', reason: 'Rebooted', message: 'Node node1 has been rebooted, boot id: b2' },
  ]);
});

test('reports volumes in use, keeps them while unknown, and omits an empty list', () => {
  const used = initial({}, { volumesInUse: ['example.com/d^1'] });
  expect(used.status?.volumesInUse).toEqual(['example.com/d^1']);
  const next = (volumesInUse: readonly string[] | undefined) =>
    generateNode(used, settings(), facts({ volumesInUse }), nowMs).node.status;
  expect(next(undefined)?.volumesInUse).toEqual(['example.com/d^1']);
  expect(next([])).not.toHaveProperty('volumesInUse');
});

test('reports the largest images first, at most the maximum, with five names each', () => {
  const digests = ['a', 'b', 'c', 'd', 'e', 'f'];
  const images = [
    { digests, tags: ['t'], sizeBytes: 1 },
    { digests: [], tags: ['big'], sizeBytes: 9 },
  ];
  const all = initial({ maxImages: -1 }, { images }).status?.images;
  expect(all).toEqual([
    { names: ['big'], sizeBytes: 9 },
    { names: ['a', 'b', 'c', 'd', 'e'], sizeBytes: 1 },
  ]);
  expect(initial({ maxImages: 1 }, { images }).status?.images).toEqual([{ names: ['big'], sizeBytes: 9 }]);
});

describe('reconcileNode', () => {
  const existing: Node = {
    ...initial(),
    metadata: {
      name: 'node1',
      labels: { mine: 'stays', 'kubernetes.io/hostname': 'old' },
      annotations: { other: 'stays' },
    },
    spec: { taints: [{ key: 'admin', effect: 'NoSchedule' }] },
    status: {
      capacity: { cpu: '8', 'hugepages-64Ki': '1', 'example.com/x': '2' },
      allocatable: { cpu: '8', 'hugepages-64Ki': '1', 'example.com/x': '2' },
    },
  };

  test('updates only the kubelet’s labels, the annotation and huge pages', () => {
    const node = reconcileNode(existing, initial({ labels: { tier: 'new' } }), false);
    expect(node.metadata?.labels).toEqual({
      mine: 'stays',
      'beta.kubernetes.io/arch': 'amd64',
      'beta.kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      'kubernetes.io/hostname': 'node1',
      'kubernetes.io/os': 'linux',
    });
    expect(node.metadata?.annotations).toEqual({
      other: 'stays',
      'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
    });
    expect(node.spec).toEqual(existing.spec);
    const amounts = { cpu: '8', 'example.com/x': '2', 'hugepages-1Gi': '0', 'hugepages-2Mi': '0' };
    expect(node.status).toEqual({ capacity: amounts, allocatable: amounts });
  });

  test('resets extended resources of a recreated machine', () => {
    expect(reconcileNode(existing, initial(), true).status?.capacity).toMatchObject({ 'example.com/x': '0' });
  });
});

describe('nodeStatusPatch', () => {
  const later = generateNode(initial(), settings(), facts(), nowMs + 10_000).node;

  test('does not count a heartbeat as a change, but patches it', () => {
    expect(nodeHasChanged(initial(), later)).toBe(false);
    const patch = nodeStatusPatch(initial(), later) as { status: { conditions: object[] } };
    expect(patch.status.conditions).toHaveLength(4);
    expect(patch.status.conditions[3]).toEqual({ type: 'Ready', lastHeartbeatTime: '2026-11-15T20:40:31Z' });
  });

  test('treats an absent and an empty list as equal', () => {
    const stored = structuredClone(initial()) as { status: { images: { names: unknown }[] } };
    for (const image of stored.status.images.slice(1)) image.names = null;
    expect(nodeHasChanged(stored as unknown as Node, later)).toBe(false);
  });

  test('replaces addresses, since two may have the same type', () => {
    const other = facts({
      network: { hostAddresses: [], nameAddresses: [], defaultAddresses: ['192.0.2.8'] },
    });
    const moved = generateNode(initial(), settings(), other, nowMs).node;
    expect(nodeHasChanged(initial(), moved)).toBe(true);
    expect(nodeStatusPatch(initial(), moved)).toEqual({
      status: {
        addresses: [
          { type: 'InternalIP', address: '192.0.2.8' },
          { type: 'Hostname', address: 'node1' },
          { $patch: 'replace' },
        ],
      },
    });
  });

  test('restores a removed label', () => {
    const before = initial();
    const stripped = { ...before, metadata: { ...before.metadata, labels: {} } };
    const { node } = generateNode(stripped, settings(), facts(), nowMs);
    expect(nodeHasChanged(stripped, node)).toBe(true);
    expect(nodeStatusPatch(stripped, node)).toEqual({
      metadata: { labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' } },
    });
  });
});

test('reports whether it runs in a user namespace, unless the gate is off', () => {
  const report = (reportsUserNamespace: boolean, inUserNamespace: boolean): boolean | undefined => {
    const found = facts({ identity: { ...facts().identity, inUserNamespace } });
    const { node } = generateInitialNode(settings({ reportsUserNamespace }), found, 0);
    return node.status?.nodeInfo?.runningInUserNamespace;
  };
  expect([report(true, true), report(true, false), report(false, true)]).toEqual([true, false, undefined]);
});

const startup = { startupProblems: ['CSINode is not yet initialized'] };
const wasReady = initial();
const startupCases: readonly (readonly [string, Node, Partial<ReturnType<typeof facts>>, string])[] = [
  ['a new node waits', {}, startup, 'False'],
  ['a node that was Ready since it booted does not wait again', wasReady, startup, 'True'],
  [
    'a node that has booted since waits',
    wasReady,
    { ...startup, identity: { ...facts().identity, bootID: 'b2' } },
    'False',
  ],
  ['a node that has not been Ready yet still waits', initial({}, startup), startup, 'False'],
  ['other problems count in any case', wasReady, { problems: ['down'] }, 'False'],
];
test.each(startupCases)('startup problems: %s', (_name, before, found, want) => {
  const { node } = generateNode(before, settings(), facts(found), nowMs);
  expect(node.status?.conditions?.find(({ type }) => type === 'Ready')?.status).toBe(want);
});

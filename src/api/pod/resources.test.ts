import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Container, ContainerStatus, Pod, PodSpec, PodStatus, ResourceList } from '../k8s/types.ts';
import { formatAmounts, type ResourceAmounts } from '../quantity/resource-amounts.ts';
import {
  containerLimits,
  containerRequests,
  hasPodLevelResources,
  isPodLevelResource,
  limitsByContainer,
  type PodResourcesOptions,
  podLimits,
  podRequests,
} from './resources.ts';

type Part = Pick<Container, 'resources' | 'restartPolicy'>;

/** A container with equal requests and limits, so that one table checks both sums. */
const both = (list: ResourceList): Part => ({ resources: { requests: list, limits: list } });
const cpu = (amount: string): Part => both({ cpu: amount });
const sidecar = (amount: string): Part => ({ ...cpu(amount), restartPolicy: 'Always' });

function named(prefix: string, parts: readonly Part[]): Container[] {
  return parts.map((part, index) => ({ name: `${prefix}${index}`, ...part }));
}

function pod(containers: readonly Part[], inits: readonly Part[] = [], spec: Partial<PodSpec> = {}): Pod {
  return { spec: { containers: named('c', containers), initContainers: named('i', inits), ...spec } };
}

const overhead = { cpu: '1', memory: '1Gi' };

describe('pod sums', () => {
  const cases: ReadonlyArray<readonly [string, Pod, ResourceList, ResourceList?]> = [
    ['no spec', {}, {}],
    ['no containers', pod([]), {}],
    ['no requests and limits', pod([{}, {}], [{}]), {}],
    [
      'containers add up',
      pod([both({ cpu: '1', memory: '5' }), both({ cpu: '4', memory: '12' })]),
      { cpu: '5', memory: '17' },
    ],
    [
      'one container without resources',
      pod([both({ cpu: '2', memory: '2Gi' }), {}]),
      { cpu: '2', memory: '2Gi' },
    ],
    ['a larger init container', pod([cpu('1')], [cpu('4')]), { cpu: '4' }],
    ['the largest init container', pod([cpu('1'), cpu('4')], [cpu('1'), cpu('40')]), { cpu: '40' }],
    ['larger containers', pod([cpu('2'), cpu('3')], [cpu('2')]), { cpu: '5' }],
    [
      'per resource',
      pod([both({ cpu: '5', memory: '1' })], [both({ cpu: '1', memory: '9' })]),
      { cpu: '5', memory: '9' },
    ],
    [
      'a resource of an init container only',
      pod([cpu('1')], [both({ memory: '1Gi' }), {}]),
      { cpu: '1', memory: '1Gi' },
    ],
    ['a sidecar adds up', pod([cpu('1')], [sidecar('1')]), { cpu: '2' }],
    ['a sidecar alone', pod([], [sidecar('1')]), { cpu: '1' }],
    [
      'sidecars after an init container',
      pod([cpu('1')], [cpu('5'), sidecar('1'), sidecar('2'), sidecar('3')]),
      { cpu: '7' },
    ],
    [
      'an init container between sidecars needs those before it',
      pod([cpu('1')], [cpu('5'), sidecar('1'), sidecar('2'), cpu('5'), sidecar('3')]),
      { cpu: '8' },
    ],
    [
      'sidecars and init container in another order',
      pod([cpu('1')], [cpu('5'), cpu('5'), sidecar('1'), sidecar('2'), sidecar('3')]),
      { cpu: '7' },
    ],
    ['sidecar, init, container', pod([cpu('100')], [sidecar('10'), cpu('200')]), { cpu: '210' }],
    ['a zero is kept', pod([cpu('0')]), { cpu: '0' }],
    [
      'overhead is added to limits only where there are some',
      pod([cpu('5')], [], { overhead }),
      { cpu: '6', memory: '1Gi' },
      { cpu: '6' },
    ],
    ['overhead alone', pod([{}], [], { overhead }), overhead, {}],
    ['overhead on no limit', pod([cpu('0')], [], { overhead }), overhead, { cpu: '0' }],
    [
      'overhead comes after the largest',
      pod([cpu('1')], [cpu('4')], { overhead }),
      { cpu: '5', memory: '1Gi' },
      { cpu: '5' },
    ],
    ['only limits', pod([{ resources: { limits: { cpu: '9' } } }]), {}, { cpu: '9' }],
    [
      'a pod-level amount replaces the sum',
      pod([both({ memory: '3Mi', cpu: '2m' })], [], {
        resources: both({ memory: '6Mi', cpu: '8m' }).resources ?? {},
      }),
      { memory: '6Mi', cpu: '8m' },
    ],
    [
      'even a smaller pod-level amount',
      pod([cpu('9')], [], { resources: cpu('1').resources ?? {} }),
      { cpu: '1' },
    ],
    [
      'other resources still add up',
      pod([cpu('2m')], [], { resources: { requests: { memory: '2Mi' } } }),
      { cpu: '2m', memory: '2Mi' },
      { cpu: '2m' },
    ],
    [
      'an unsupported pod-level resource is ignored',
      pod([both({ storage: '3Mi' })], [], { resources: both({ storage: '2Mi' }).resources ?? {} }),
      { storage: '3Mi' },
    ],
    [
      'huge pages of several sizes',
      pod([both({ memory: '4Mi', 'hugepages-1Gi': '1Gi' })], [], {
        resources: both({ cpu: '1', 'hugepages-2Mi': '10Mi' }).resources ?? {},
      }),
      { memory: '4Mi', 'hugepages-1Gi': '1Gi', cpu: '1', 'hugepages-2Mi': '10Mi' },
    ],
    [
      'overhead on a pod-level amount',
      pod([], [], { resources: cpu('2').resources ?? {}, overhead }),
      { cpu: '3', memory: '1Gi' },
      { cpu: '3' },
    ],
    ['a number in the manifest', pod([both({ cpu: 2 as unknown as string })]), { cpu: '2' }],
  ];
  for (const [name, given, requests, limits] of cases) {
    test(name, () => {
      expect(formatAmounts(podRequests(given))).toEqual(requests);
      expect(formatAmounts(podLimits(given))).toEqual(limits ?? requests);
    });
  }

  test('containerRequests and containerLimits exclude overhead and pod-level resources', () => {
    const given = pod([cpu('2'), cpu('3')], [cpu('4')], { overhead, resources: cpu('9').resources ?? {} });
    const sums = (options: PodResourcesOptions): ResourceList[] =>
      [podRequests(given, options), podLimits(given, options)].map(formatAmounts);
    expect(sums({ excludeOverhead: true })).toEqual([{ cpu: '9' }, { cpu: '9' }]);
    expect(sums({ skipPodLevelResources: true })).toEqual([{ cpu: '6', memory: '1Gi' }, { cpu: '6' }]);
    expect([containerRequests(given), containerLimits(given)].map(formatAmounts)).toEqual([
      { cpu: '5' },
      { cpu: '5' },
    ]);
  });

  test('rejects a malformed quantity', () => {
    expect(() => podRequests(pod([cpu('two')]))).toThrow(/^quantity "two"/);
  });
});

describe('during an in-place resize', () => {
  const infeasible: PodStatus = {
    conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
  };
  const deferred: PodStatus = {
    conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Deferred' }],
  };
  const has = (name: string, actual?: ResourceList, allocated?: ResourceList): ContainerStatus => ({
    name,
    image: '',
    imageID: '',
    ready: true,
    restartCount: 0,
    ...(actual && { resources: { requests: actual, limits: actual } }),
    ...(allocated && { allocatedResources: allocated }),
  });
  const asks = (amount: string): Pod => pod([cpu(amount)]);
  const sidecarAsks = (amount: string): Pod => pod([], [sidecar(amount)]);
  const podSized = (amount: string): Pod =>
    pod([{}], [], { resources: both({ cpu: amount }).resources ?? {} });
  const status = (...containerStatuses: ContainerStatus[]): PodStatus => ({ containerStatuses });
  const initStatus = (...initContainerStatuses: ContainerStatus[]): PodStatus => ({ initContainerStatuses });

  const cases: ReadonlyArray<readonly [string, Pod, PodStatus, ResourceList, ResourceList]> = [
    ['growing', asks('4'), status(has('c0', { cpu: '2' })), { cpu: '4' }, { cpu: '4' }],
    ['shrinking', asks('1'), status(has('c0', { cpu: '2' })), { cpu: '2' }, { cpu: '2' }],
    ['deferred', asks('4'), { ...deferred, ...status(has('c0', { cpu: '2' })) }, { cpu: '4' }, { cpu: '4' }],
    [
      'infeasible',
      asks('4'),
      { ...infeasible, ...status(has('c0', { cpu: '2' })) },
      { cpu: '2' },
      { cpu: '2' },
    ],
    [
      'infeasible while another resize is in progress',
      asks('6'),
      { ...infeasible, ...status(has('c0', { cpu: '2' }, { cpu: '4' })) },
      { cpu: '4' },
      { cpu: '2' },
    ],
    [
      'the maximum of three, per resource',
      pod([both({ cpu: '30m', memory: '20M', storage: '10G' })]),
      status(
        has(
          'c0',
          { cpu: '10m', memory: '30M', storage: '20G' },
          { cpu: '20m', memory: '10M', storage: '30G' },
        ),
      ),
      { cpu: '30m', memory: '30M', storage: '30G' },
      { cpu: '30m', memory: '30M', storage: '20G' },
    ],
    ['no status yet', asks('4'), {}, { cpu: '4' }, { cpu: '4' }],
    [
      'a status without actual resources',
      asks('4'),
      status(has('c0', undefined, { cpu: '9' })),
      { cpu: '9' },
      { cpu: '4' },
    ],
    [
      'no requests in the spec, some in the status',
      pod([{}]),
      status(has('c0', { cpu: '2' })),
      { cpu: '2' },
      { cpu: '2' },
    ],
    [
      'a sidecar shrinking',
      sidecarAsks('1'),
      initStatus(has('i0', { cpu: '2' })),
      { cpu: '2' },
      { cpu: '2' },
    ],
    [
      'a sidecar, infeasible',
      sidecarAsks('4'),
      { ...infeasible, ...initStatus(has('i0', { cpu: '2' })) },
      { cpu: '2' },
      { cpu: '2' },
    ],
    [
      'an init container shrinking',
      pod([], [cpu('1')]),
      initStatus(has('i0', { cpu: '2' })),
      { cpu: '2' },
      { cpu: '2' },
    ],
    [
      'the maximum of the sums, not of each container',
      pod([cpu('1'), cpu('3')]),
      status(has('c0', { cpu: '3' }), has('c1', { cpu: '1' })),
      { cpu: '4' },
      { cpu: '4' },
    ],
    [
      'pod-level resources shrinking',
      podSized('1'),
      { resources: both({ cpu: '2' }).resources ?? {}, allocatedResources: { cpu: '1' } },
      { cpu: '2' },
      { cpu: '2' },
    ],
    [
      'pod-level resources growing, granted but not applied',
      podSized('4'),
      { resources: both({ cpu: '2' }).resources ?? {}, allocatedResources: { cpu: '3' } },
      { cpu: '4' },
      { cpu: '4' },
    ],
    [
      'pod-level resources, infeasible',
      podSized('4'),
      { ...infeasible, resources: both({ cpu: '2' }).resources ?? {}, allocatedResources: { cpu: '2' } },
      { cpu: '2' },
      { cpu: '2' },
    ],
    ['pod-level resources without a status', podSized('4'), {}, { cpu: '4' }, { cpu: '4' }],
  ];
  test.each(cases)('%s', (_name, given, seen, requests, limits) => {
    const whole: Pod = { ...given, status: seen };
    expect(formatAmounts(podRequests(whole, { useStatusResources: true }))).toEqual(requests);
    expect(formatAmounts(podLimits(whole, { useStatusResources: true }))).toEqual(limits);
    expect(formatAmounts(podRequests(whole))).toEqual(formatAmounts(podRequests(given)));
  });
});

describe('pod-level resources', () => {
  test.each(['cpu', 'memory', 'hugepages-2Mi', 'hugepages-1Gi'])('%s is supported', (name) => {
    expect(isPodLevelResource(name)).toBe(true);
  });
  test.each(['ephemeral-storage', 'storage', 'example.com/gpu', 'hugepages'])(
    '%s is not supported',
    (name) => {
      expect(isPodLevelResource(name)).toBe(false);
    },
  );
  const cases: ReadonlyArray<readonly [string, PodSpec['resources'], boolean]> = [
    ['absent', undefined, false],
    ['empty', {}, false],
    ['an unsupported resource', both({ 'ephemeral-storage': '1Mi' }).resources, false],
    ['requests', { requests: { 'ephemeral-storage': '1Mi', cpu: '1m' } }, true],
    ['limits', { limits: { memory: '1m' } }, true],
  ];
  test.each(cases)('%s', (_name, resources, want) => {
    expect(hasPodLevelResources(pod([], [], resources && { resources }))).toBe(want);
  });
});

test('limitsByContainer lists the limits per container', () => {
  const given = pod([cpu('1'), {}], [sidecar('1'), cpu('5'), sidecar('2')]);
  const seen = limitsByContainer(given).map(({ kind, amounts }) => [kind, formatAmounts(amounts)]);
  expect(seen).toEqual([
    ['container', { cpu: '1' }],
    ['container', {}],
    ['init-container', { cpu: '1' }],
    ['init-container', { cpu: '6' }],
    ['init-container', { cpu: '3' }],
  ]);
});

test('podRequests covers every moment of the pod', () => {
  const amount = fc.integer({ min: 0, max: 5000 }).map((milli) => `${milli}m`);
  const init = fc.tuple(amount, fc.boolean()).map(([text, side]) => (side ? sidecar(text) : cpu(text)));
  const milli = (amounts: ResourceAmounts): bigint => amounts.get('cpu')?.milliValue() ?? 0n;
  const of = (part: Part): bigint => BigInt((part.resources?.requests?.['cpu'] ?? '0m').slice(0, -1));
  fc.assert(
    fc.property(fc.array(amount.map(cpu)), fc.array(init), (containers, inits) => {
      // Each init container with the sidecars before it, then all long-running containers.
      let sidecars = 0n;
      let peak = 0n;
      for (const part of inits) {
        peak = peak > sidecars + of(part) ? peak : sidecars + of(part);
        if (part.restartPolicy === 'Always') sidecars += of(part);
      }
      const end = containers.reduce((sum, part) => sum + of(part), sidecars);
      expect(milli(podRequests(pod(containers, inits)))).toBe(end > peak ? end : peak);
    }),
  );
});

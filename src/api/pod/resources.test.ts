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

/** A container that requests and limits the same, so that both sums can be checked with one table. */
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
    ['nobody says anything', pod([{}, {}], [{}]), {}],
    [
      'containers add up',
      pod([both({ cpu: '1', memory: '5' }), both({ cpu: '4', memory: '12' })]),
      { cpu: '5', memory: '17' },
    ],
    ['one says nothing', pod([both({ cpu: '2', memory: '2Gi' }), {}]), { cpu: '2', memory: '2Gi' }],
    ['a larger init container', pod([cpu('1')], [cpu('4')]), { cpu: '4' }],
    ['the largest init container', pod([cpu('1'), cpu('4')], [cpu('1'), cpu('40')]), { cpu: '40' }],
    ['larger containers', pod([cpu('2'), cpu('3')], [cpu('2')]), { cpu: '5' }],
    [
      'resource by resource',
      pod([both({ cpu: '5', memory: '1' })], [both({ cpu: '1', memory: '9' })]),
      { cpu: '5', memory: '9' },
    ],
    [
      'an init container alone has it',
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
      'the same in another order',
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
    ['even a smaller one', pod([cpu('9')], [], { resources: cpu('1').resources ?? {} }), { cpu: '1' }],
    [
      'the rest still adds up',
      pod([cpu('2m')], [], { resources: { requests: { memory: '2Mi' } } }),
      { cpu: '2m', memory: '2Mi' },
      { cpu: '2m' },
    ],
    [
      'a pod-level amount of another kind does not count',
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

  test('without overhead and pod-level amounts', () => {
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

  test('an amount that is no quantity', () => {
    expect(() => podRequests(pod([cpu('two')]))).toThrow(/^quantity "two"/);
  });
});

describe('under in-place resize', () => {
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
      'infeasible while another is on its way',
      asks('6'),
      { ...infeasible, ...status(has('c0', { cpu: '2' }, { cpu: '4' })) },
      { cpu: '4' },
      { cpu: '2' },
    ],
    [
      'the most of three, resource by resource',
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
      'a status without resources',
      asks('4'),
      status(has('c0', undefined, { cpu: '9' })),
      { cpu: '4' },
      { cpu: '4' },
    ],
    [
      'nothing asked, something there',
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
      'an init container is not resized',
      pod([], [cpu('1')]),
      initStatus(has('i0', { cpu: '2' })),
      { cpu: '1' },
      { cpu: '1' },
    ],
  ];
  test.each(cases)('%s', (_name, given, seen, requests, limits) => {
    const whole: Pod = { ...given, status: seen };
    expect(formatAmounts(podRequests(whole, { useStatusResources: true }))).toEqual(requests);
    expect(formatAmounts(podLimits(whole, { useStatusResources: true }))).toEqual(limits);
    expect(formatAmounts(podRequests(whole))).toEqual(formatAmounts(podRequests(given)));
  });
});

describe('pod-level resources', () => {
  test.each(['cpu', 'memory', 'hugepages-2Mi', 'hugepages-1Gi'])('%s can be', (name) => {
    expect(isPodLevelResource(name)).toBe(true);
  });
  test.each(['ephemeral-storage', 'storage', 'example.com/gpu', 'hugepages'])('%s cannot', (name) => {
    expect(isPodLevelResource(name)).toBe(false);
  });
  const cases: ReadonlyArray<readonly [string, PodSpec['resources'], boolean]> = [
    ['absent', undefined, false],
    ['empty', {}, false],
    ['of another kind', both({ 'ephemeral-storage': '1Mi' }).resources, false],
    ['requests', { requests: { 'ephemeral-storage': '1Mi', cpu: '1m' } }, true],
    ['limits', { limits: { memory: '1m' } }, true],
  ];
  test.each(cases)('%s', (_name, resources, want) => {
    expect(hasPodLevelResources(pod([], [], resources && { resources }))).toBe(want);
  });
});

test('limits container by container', () => {
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

test('the sum is never less than any moment of the pod needs', () => {
  const amount = fc.integer({ min: 0, max: 5000 }).map((milli) => `${milli}m`);
  const init = fc.tuple(amount, fc.boolean()).map(([text, side]) => (side ? sidecar(text) : cpu(text)));
  const milli = (amounts: ResourceAmounts): bigint => amounts.get('cpu')?.milliValue() ?? 0n;
  const of = (part: Part): bigint => BigInt((part.resources?.requests?.['cpu'] ?? '0m').slice(0, -1));
  fc.assert(
    fc.property(fc.array(amount.map(cpu)), fc.array(init), (containers, inits) => {
      // Walks through the pod's life: each init container with the sidecars before it, then everyone.
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

import { describe, expect, test } from 'vitest';
import type { Pod, ResourceList, ResourceRequirements } from '../k8s/types.ts';
import { computePodQosClass, podQosClass, type QosClass } from './qos.ts';

const list = (cpu: string, memory: string): ResourceList => ({
  ...(cpu && { cpu }),
  ...(memory && { memory }),
});
const needs = (requests: ResourceList, limits: ResourceList): ResourceRequirements => ({ requests, limits });
const nothing = needs({}, {});
const fixed = needs(list('100m', '100Mi'), list('100m', '100Mi'));
const elastic = needs(list('10m', '100Mi'), list('100m', '200Mi'));

function pod(
  containers: readonly ResourceRequirements[],
  inits: readonly ResourceRequirements[] = [],
  own?: ResourceRequirements,
): Pod {
  return {
    spec: {
      containers: containers.map((resources, index) => ({ name: `c${index}`, resources })),
      initContainers: inits.map((resources, index) => ({ name: `i${index}`, resources })),
      ...(own && { resources: own }),
    },
  };
}

describe('computePodQosClass', () => {
  const cases: ReadonlyArray<readonly [string, Pod, QosClass]> = [
    ['no spec', {}, 'BestEffort'],
    ['resources absent', { spec: { containers: [{ name: 'c' }] } }, 'BestEffort'],
    ['requests equal limits', pod([fixed]), 'Guaranteed'],
    [
      'equal amounts in another spelling',
      pod([needs(list('0.1', '1Gi'), list('100m', '1024Mi'))]),
      'Guaranteed',
    ],
    ['for both containers', pod([fixed, fixed]), 'Guaranteed'],
    ['for init containers too', pod([fixed], [fixed]), 'Guaranteed'],
    ['no requests and limits', pod([nothing, nothing]), 'BestEffort'],
    ['one container with requests', pod([nothing, needs(list('1', ''), list('2', ''))]), 'Burstable'],
    ['one Guaranteed container, one without resources', pod([nothing, fixed]), 'Burstable'],
    ['a Guaranteed container, an init container without resources', pod([fixed], [nothing]), 'Burstable'],
    ['memory only', pod([needs(list('', '100Mi'), list('', '100Mi'))]), 'Burstable'],
    ['no limits', pod([needs(list('100m', '100Mi'), {})]), 'Burstable'],
    ['limits only', pod([needs({}, list('100m', '100Mi'))]), 'Burstable'],
    ['one Burstable and one Guaranteed container', pod([elastic, fixed]), 'Burstable'],
    [
      'sums that happen to be equal',
      pod([needs(list('100m', '100Mi'), list('200m', '200Mi')), needs(list('100m', '100Mi'), {})]),
      'Burstable',
    ],
    ['requests of zero', pod([needs(list('0', '0'), list('100m', '200Mi'))]), 'Burstable'],
    ['limits of zero', pod([needs(list('0', '0'), list('0', '0'))]), 'BestEffort'],
    [
      'huge pages alone',
      pod([
        needs({ ...list('0', '0'), 'hugepages-2Mi': '1Gi' }, { ...list('0', '0'), 'hugepages-2Mi': '1Gi' }),
      ]),
      'BestEffort',
    ],
    ['an init container with requests', pod([nothing], [elastic]), 'Burstable'],
    ['pod-level requests equal limits', pod([nothing], [], fixed), 'Guaranteed'],
    ['pod-level requests equal limits, Burstable containers', pod([elastic], [], fixed), 'Guaranteed'],
    ['pod-level requests below limits', pod([nothing], [], elastic), 'Burstable'],
    ['pod-level requests below limits, Guaranteed containers', pod([fixed], [], elastic), 'Burstable'],
    ['pod-level requests only', pod([elastic], [], needs(list('10m', '10Mi'), {})), 'Burstable'],
    [
      'a pod-level limit of CPU only',
      pod([fixed], [], needs(list('5m', '10Mi'), list('5m', ''))),
      'Burstable',
    ],
    ['empty pod-level resources do not count', pod([fixed], [], nothing), 'Guaranteed'],
  ];
  test.each(cases)('%s', (_name, given, want) => {
    expect(computePodQosClass(given)).toBe(want);
  });

  test('uses the containers without the gate PodLevelResources', () => {
    const skip = { skipPodLevelResources: true };
    expect(computePodQosClass(pod([nothing], [], fixed), skip)).toBe('BestEffort');
    expect(computePodQosClass(pod([fixed], [], elastic), skip)).toBe('Guaranteed');
  });
});

describe('podQosClass', () => {
  test('prefers the class in the status', () => {
    expect(podQosClass({ ...pod([nothing]), status: { qosClass: 'Guaranteed' } })).toBe('Guaranteed');
  });
  test.each([undefined, '', 'Other'])('ignores the class %j in the status', (qosClass) => {
    expect(podQosClass({ ...pod([fixed]), status: qosClass === undefined ? {} : { qosClass } })).toBe(
      'Guaranteed',
    );
  });
});

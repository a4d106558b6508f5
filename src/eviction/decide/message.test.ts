import { describe, expect, test } from 'vitest';
import { aContainer, aPod, type PodOver } from '../../../test/builders/builders.ts';
import {
  aContainerLoad,
  amount,
  aPodLoad,
  aThreshold,
  someObservations,
} from '../../../test/builders/eviction.ts';
import type { Container } from '../../api/k8s/types.ts';
import type { ContainerLoad } from '../../api/ports/node-usage.ts';
import { evictionMessage } from './message.ts';
import type { Signal, StarvedResource, Threshold } from './thresholds.ts';

type Row = readonly [name: string, text: string];

const requesting = ([name, memory]: Row): Container =>
  aContainer({ name, ...(memory === '' ? {} : { resources: { requests: { memory } } }) });
const sidecar = (row: Row): Container => ({ ...requesting(row), restartPolicy: 'Always' });
const using = ([name, memory]: Row): ContainerLoad =>
  aContainerLoad({ name, workingSetBytes: amount(memory) });
const blamed = (name: string, usage: string, request: string, resource = 'memory'): string =>
  `Container ${name} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `;
const lowMemory = 'The node was low on resource: memory. ';

interface Situation {
  readonly init?: readonly Container[];
  readonly containers: readonly Container[];
  readonly over?: PodOver;
  readonly pod?: string;
  readonly usage: readonly Row[];
}

function messageOf(situation: Situation, skipPodLevelResources = false): ReturnType<typeof evictionMessage> {
  const { containers, init = [], over, pod: used, usage } = situation;
  const pod = aPod({ name: 'pod', containers: [...containers], initContainers: [...init], ...over });
  const load = aPodLoad(pod, {
    containers: usage.map(using),
    workingSetBytes: used === undefined ? undefined : amount(used),
  });
  const input = { resource: 'memory' as const, pod, load, thresholds: [], observations: new Map() };
  return evictionMessage({ ...input, skipPodLevelResources });
}

describe('containers above their memory requests', () => {
  const cases: readonly (readonly [string, Situation, readonly (readonly [string, string, string])[]])[] = [
    [
      'none',
      {
        init: [requesting(['init1', '100Mi']), sidecar(['side1', '200Mi'])],
        containers: [requesting(['app1', '200Mi'])],
        usage: [
          ['side1', '150Mi'],
          ['app1', '100Mi'],
        ],
      },
      [],
    ],
    [
      'an init container that runs',
      {
        init: [requesting(['init1', '100Mi']), sidecar(['side1', '200Mi']), requesting(['init2', '150Mi'])],
        containers: [requesting(['app1', '200Mi'])],
        usage: [['init1', '150Mi']],
      },
      [['init1', '150Mi', '100Mi']],
    ],
    [
      'one of two sidecars',
      {
        init: [sidecar(['side1', '200Mi']), sidecar(['side2', '200Mi'])],
        containers: [requesting(['app1', '200Mi'])],
        usage: [
          ['side1', '250Mi'],
          ['side2', '150Mi'],
          ['app1', '200Mi'],
        ],
      },
      [['side1', '250Mi', '200Mi']],
    ],
    [
      'one of two regular containers',
      {
        init: [sidecar(['side1', '200Mi'])],
        containers: [requesting(['app1', '200Mi']), requesting(['app2', '300Mi'])],
        usage: [
          ['side1', '200Mi'],
          ['app1', '250Mi'],
          ['app2', '250Mi'],
        ],
      },
      [['app1', '250Mi', '200Mi']],
    ],
    [
      'an ephemeral container is never blamed',
      {
        containers: [requesting(['app1', '200Mi'])],
        over: { ephemeralContainers: [{ name: 'debug', targetContainerName: 'app1' }] },
        usage: [
          ['app1', '150Mi'],
          ['debug', '250Mi'],
        ],
      },
      [],
    ],
    [
      'containers without requests',
      {
        init: [sidecar(['side1', '']), sidecar(['side2', '300Mi'])],
        containers: [requesting(['app1', ''])],
        usage: [
          ['side1', '250Mi'],
          ['side2', '250Mi'],
          ['app1', '200Mi'],
        ],
      },
      [
        ['side1', '250Mi', '0'],
        ['app1', '200Mi', '0'],
      ],
    ],
    [
      'several, in the order of the statistics',
      {
        init: [sidecar(['side1', '100Mi']), sidecar(['side2', '200Mi']), sidecar(['side3', '300Mi'])],
        containers: [
          requesting(['app1', '300Mi']),
          requesting(['app2', '200Mi']),
          requesting(['app3', '100Mi']),
        ],
        usage: [
          ['app3', '400Mi'],
          ['side1', '150Mi'],
          ['side2', '250Mi'],
          ['side3', '250Mi'],
          ['app1', '50Mi'],
          ['app2', '250Mi'],
        ],
      },
      [
        ['app3', '400Mi', '100Mi'],
        ['side1', '150Mi', '100Mi'],
        ['side2', '250Mi', '200Mi'],
        ['app2', '250Mi', '200Mi'],
      ],
    ],
  ];
  test.each(cases)('%s', (_name, situation, want) => {
    expect(messageOf(situation)).toEqual({
      message: lowMemory + want.map(([name, usage, request]) => blamed(name, usage, request)).join(''),
      annotations: {
        offending_containers: want.map(([name]) => name).join(','),
        offending_containers_usage: want.map(([, usage]) => usage).join(','),
        starved_resource: 'memory',
      },
    });
  });
});

test('a request that cannot be parsed counts as none', () => {
  const situation: Situation = {
    containers: [requesting(['app1', '1e5000'])],
    over: { resources: { requests: { memory: '1e5000' } } },
    pod: '2Gi',
    usage: [['app1', '1Gi']],
  };
  expect(messageOf(situation).message).toBe(lowMemory + blamed('app1', '1Gi', '0'));
});

describe('pod-level resources', () => {
  const situation: Situation = {
    containers: [requesting(['app1', '']), requesting(['app2', ''])],
    over: { resources: { requests: { memory: '250Mi' }, limits: { memory: '1000Mi' } } },
    pod: '600Mi',
    usage: [
      ['app1', '250Mi'],
      ['app2', '350Mi'],
    ],
  };
  const containers = blamed('app1', '250Mi', '0') + blamed('app2', '350Mi', '0');
  const annotations = {
    offending_containers: 'app1,app2',
    offending_containers_usage: '250Mi,350Mi',
    starved_resource: 'memory',
  };

  test('the pod is blamed before its containers', () => {
    expect(messageOf(situation)).toEqual({
      message: `${lowMemory}Pod pod was using 600Mi, request is 250Mi, has larger consumption of memory. ${containers}`,
      annotations: { ...annotations, offending_pod: 'pod', offending_pod_usage: '600Mi' },
    });
  });

  test.each([
    ['without their gate', situation, true],
    ['with only a limit', { ...situation, over: { resources: { limits: { memory: '1Gi' } } } }, false],
    ['with only a CPU request', { ...situation, over: { resources: { requests: { cpu: '1' } } } }, false],
    ['without figures of the pod', { ...situation, pod: undefined }, false],
  ] as const)('%s the pod is not blamed', (_name, given, skip) => {
    const { pod, ...rest } = given;
    expect(messageOf(pod === undefined ? rest : { ...rest, pod }, skip)).toEqual({
      message: lowMemory + containers,
      annotations,
    });
  });
});

describe('thresholds', () => {
  const message = (
    resource: StarvedResource,
    thresholds: readonly Threshold[],
    rows: Partial<Record<Signal, string>>,
  ): string =>
    evictionMessage({
      resource,
      pod: aPod(),
      load: undefined,
      thresholds,
      observations: someObservations(rows),
    }).message;
  const low = (resource: string): string => `The node was low on resource: ${resource}. `;
  test.each([
    [
      'memory',
      [aThreshold('memory.available', '2Gi')],
      { 'memory.available': '1500Mi' },
      'Threshold quantity: 2Gi, available: 1500Mi. ',
    ],
    [
      'memory',
      [aThreshold('memory.available', '100Mi')],
      { 'memory.available': '1234567' },
      'Threshold quantity: 100Mi, available: 1234567. ',
    ],
    [
      'memory',
      [aThreshold('memory.available', '10%')],
      { 'memory.available': '64Mi/1Gi' },
      'Threshold quantity: 107374184, available: 64Mi. ',
    ],
    [
      'ephemeral-storage',
      [aThreshold('memory.available', '1Gi'), aThreshold('nodefs.available', '2Gi')],
      { 'memory.available': '5Mi', 'nodefs.available': '1536Mi' },
      'Threshold quantity: 2Gi, available: 1536Mi. ',
    ],
    [
      'inodes',
      [aThreshold('nodefs.inodesFree', '1Mi')],
      { 'nodefs.inodesFree': '3000/10M' },
      'Threshold quantity: 1Mi, available: 3k. ',
    ],
    [
      'inodes',
      [aThreshold('nodefs.inodesFree', '50%')],
      { 'nodefs.inodesFree': '2048/8192' },
      'Threshold quantity: 4Ki, available: 2048. ',
    ],
    [
      'pids',
      [aThreshold('pid.available', '1200')],
      { 'pid.available': '1000/32768' },
      'Threshold quantity: 1200, available: 1k. ',
    ],
    [
      'pids',
      [aThreshold('pid.available', '50%')],
      { 'pid.available': '7/32768' },
      'Threshold quantity: 16Ki, available: 7. ',
    ],
    ['memory', [aThreshold('memory.available', '1Gi')], {}, ''],
    ['memory', [], { 'memory.available': '0' }, ''],
    [
      'memory',
      [aThreshold('memory.available', '1Gi'), aThreshold('allocatableMemory.available', '2Gi')],
      { 'allocatableMemory.available': '0' },
      'Threshold quantity: 2Gi, available: 0. ',
    ],
  ] as const)('%s %#', (resource, thresholds, rows, want) => {
    expect(message(resource, thresholds, rows)).toBe(low(resource) + want);
  });
});

describe('other resources', () => {
  const pod = aPod({
    containers: [
      aContainer({ name: 'a', resources: { requests: { 'ephemeral-storage': '1Gi' } } }),
      aContainer({ name: 'b' }),
      aContainer({ name: 'c' }),
    ],
  });
  const load = aPodLoad(pod, {
    containers: [
      aContainerLoad({ name: 'a', writtenBytes: amount('800Mi'), logBytes: amount('300Mi') }),
      aContainerLoad({ name: 'b', logBytes: amount('300Mi') }),
      aContainerLoad({ name: 'c', writtenBytes: 0, writtenInodes: 5 }),
    ],
  });
  const input = { pod, load, thresholds: [], observations: new Map() };

  test('storage: writable layer and logs together, only if both are known', () => {
    expect(evictionMessage({ ...input, resource: 'ephemeral-storage' })).toEqual({
      message: `The node was low on resource: ephemeral-storage. ${blamed('a', '1100Mi', '1Gi', 'ephemeral-storage')}`,
      annotations: {
        offending_containers: 'a',
        offending_containers_usage: '1100Mi',
        starved_resource: 'ephemeral-storage',
      },
    });
  });

  test.each(['inodes', 'pids'] as const)('%s: no container is blamed', (resource) => {
    expect(evictionMessage({ ...input, resource })).toEqual({
      message: `The node was low on resource: ${resource}. `,
      annotations: { offending_containers: '', offending_containers_usage: '', starved_resource: resource },
    });
  });

  test('without statistics there are no annotations', () => {
    expect(evictionMessage({ ...input, load: undefined, resource: 'memory' })).toEqual({
      message: lowMemory,
      annotations: {},
    });
  });
});

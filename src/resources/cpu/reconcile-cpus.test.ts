import { expect, test } from 'vitest';
import { anObservedContainer, anObservedPod } from '../../../test/builders/builders.ts';
import type { ObservedContainer } from '../../api/pod/observed.ts';
import { asContainerId } from '../../api/pod/pod-ref.ts';
import { computeCpuUpdates } from './reconcile-cpus.ts';

const container = (id: string, over: Partial<ObservedContainer> = {}): ObservedContainer =>
  anObservedContainer({ id: asContainerId(id), ...over });

const cases: readonly (readonly [
  string,
  readonly ObservedContainer[],
  string,
  string | undefined,
  readonly string[],
])[] = [
  ['unknown CPUs → update', [container('1')], '0-3', undefined, ['1 0-3']],
  ['other CPUs → update', [container('1')], '0-3', '0-7', ['1 0-3']],
  ['same CPUs → nothing', [container('1')], '0-3', '0-3', []],
  ['no CPUs wanted → nothing', [container('1')], '', undefined, []],
  ['created → nothing', [container('1', { state: 'created' })], '0-3', undefined, []],
  ['exited → nothing', [container('1', { state: 'exited' })], '0-3', undefined, []],
  ['unknown state → nothing', [container('1', { state: 'unknown' })], '0-3', undefined, []],
  ['only the newest of a name', [container('2'), container('1')], '0-3', undefined, ['2 0-3']],
  [
    'an older one under an exited one → nothing',
    [container('2', { state: 'exited' }), container('1')],
    '0-3',
    undefined,
    [],
  ],
  ['every name', [container('1'), container('2', { name: 'd' })], '0-3', undefined, ['1 0-3', '2 0-3']],
];
for (const [name, containers, wanted, applied, want] of cases)
  test(`computeCpuUpdates: ${name}`, () => {
    const view = { wanted: () => wanted, applied: () => applied };
    const updates = computeCpuUpdates([anObservedPod({ containers })], view);
    expect(updates.map(({ cpus, id }) => `${id} ${cpus}`)).toEqual(want);
  });

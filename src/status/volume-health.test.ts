import { expect, test } from 'vitest';
import type { PodStatus, PodVolumeHealth, VolumeHealthCondition } from '../api/k8s/types.ts';
import { input, laterMs, laterText, pod, startText } from './fixtures/builders.ts';
import { generatePodStatus } from './generate-status.ts';
import { mergePodStatus } from './push/merge-status.ts';
import { computeVolumeHealth } from './volume-health.ts';

const slow: VolumeHealthCondition = { status: 'Degraded', reason: 'DiskSlow', message: '12 ms' };
const slower: VolumeHealthCondition = { ...slow, message: '14 ms' };
const lost: VolumeHealthCondition = { status: 'DataLoss', reason: 'BadBlocks' };
const owner = pod({ volumes: [{ name: 'data' }, { name: 'logs' }] });

const entry = (
  name: string,
  time: string,
  ...healthConditions: VolumeHealthCondition[]
): PodVolumeHealth => ({
  name,
  ...(healthConditions.length === 0 ? {} : { healthConditions }),
  lastTransitionTime: time,
});

type Known = Readonly<Record<string, readonly VolumeHealthCondition[]>>;
const cases: readonly (readonly [
  string,
  PodVolumeHealth[] | undefined,
  Known,
  PodVolumeHealth[] | undefined,
])[] = [
  ['nothing known → no entry', undefined, {}, undefined],
  ['healthy from the start → no entry', undefined, { data: [] }, undefined],
  ['first condition → an entry', undefined, { data: [slow] }, [entry('data', laterText, slow)]],
  [
    'the same condition → unchanged',
    [entry('data', startText, slow)],
    { data: [slow] },
    [entry('data', startText, slow)],
  ],
  [
    'another message → unchanged, with the message of the first report',
    [entry('data', startText, slow)],
    { data: [slower] },
    [entry('data', startText, slow)],
  ],
  [
    'another order → unchanged',
    [entry('data', startText, slow, lost)],
    { data: [lost, slow] },
    [entry('data', startText, slow, lost)],
  ],
  [
    'one more condition → all as reported, a new time',
    [entry('data', startText, slow)],
    { data: [slower, lost] },
    [entry('data', laterText, slower, lost)],
  ],
  [
    'recovered → an entry without conditions',
    [entry('data', startText, slow)],
    { data: [] },
    [entry('data', laterText)],
  ],
  ['recovered before → unchanged', [entry('data', startText)], { data: [] }, [entry('data', startText)]],
  ['nothing newer known → unchanged', [entry('data', startText, slow)], {}, [entry('data', startText, slow)]],
  [
    'a second volume → appended, the first unchanged',
    [entry('logs', startText, slow)],
    { data: [lost], logs: [slow] },
    [entry('logs', startText, slow), entry('data', laterText, lost)],
  ],
  ['a volume that the pod does not have → ignored', undefined, { other: [lost] }, undefined],
];

for (const [name, before, known, wanted] of cases)
  test(`computeVolumeHealth: ${name}`, () => {
    const old: PodStatus = before === undefined ? {} : { volumeHealth: before };
    const compute = (status: PodStatus): PodVolumeHealth[] | undefined =>
      computeVolumeHealth(owner, status, (volume) => known[volume], laterMs);
    const computed = compute(old);
    expect(computed).toEqual(wanted);
    expect(compute(computed === undefined ? {} : { volumeHealth: computed })).toEqual(wanted);
  });

test('the status of a pod has the health of its volumes, and without the gate nothing of it', () => {
  const volumeHealth = [entry('data', startText, slow)];
  const given = { ...owner, status: { volumeHealth } };
  const known = (): undefined => undefined;
  expect(generatePodStatus(input({ pod: given, volumeHealth: known }))).toMatchObject({ volumeHealth });
  expect(generatePodStatus(input({ pod: given }))).not.toHaveProperty('volumeHealth');
});

test('the health that the kubelet generates is sent, that of the API is kept otherwise', () => {
  const merge = (status: PodStatus): PodStatus =>
    mergePodStatus({
      pod: owner,
      api: { volumeHealth: [entry('data', startText, slow)] },
      status,
      couldHaveRunningContainers: true,
      nowMs: laterMs,
    });
  expect(merge({ volumeHealth: [entry('data', laterText)] }).volumeHealth).toEqual([
    entry('data', laterText),
  ]);
  expect(merge({}).volumeHealth).toEqual([entry('data', startText, slow)]);
});

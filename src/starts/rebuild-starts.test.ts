import { expect, test } from 'vitest';
import {
  aContainer,
  anObservedContainer,
  anObservedPod,
  aPod,
  aSandbox,
  exited,
} from '../../test/builders/builders.ts';
import type { PodStatus } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodStart } from '../api/ports/node-page.ts';
import { exitFailure, rebuildStarts } from './rebuild-starts.ts';

const pod = aPod({ initContainers: [aContainer({ name: 'i' })] });
const ready = (time: string): PodStatus => ({
  conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: time }],
});
const rebuild = (
  seen: ObservedPod | undefined,
  { status, most = 5 }: { readonly status?: PodStatus; readonly most?: number } = {},
): readonly PodStart[] => rebuildStarts({ pod, seen, status, seenAtMs: 1_000_000 }, most);

const i = exited(0, { name: 'i', createdAtMs: 1_100.4, startedAtMs: 1_199.9, finishedAtMs: 1_900 });

test.each<[string, ObservedPod | undefined, readonly PodStart[]]>([
  ['a pod that the runtime does not have has no start', undefined, []],
  [
    'a sandbox alone is a start in progress',
    anObservedPod({ containers: [] }),
    [{ beginMs: 1_000, from: 'status', stages: [{ stage: 'sandbox', beginMs: 1_000, endMs: 1_000 }] }],
  ],
  [
    'an init container runs until it exits, in order of time',
    anObservedPod({ containers: [anObservedContainer(), i] }),
    [
      {
        beginMs: 1_000,
        from: 'status',
        stages: [
          { stage: 'sandbox', beginMs: 1_000, endMs: 1_000 },
          { stage: 'start', container: 'i', beginMs: 1_100, endMs: 1_200 },
          { stage: 'run', container: 'i', beginMs: 1_200, endMs: 1_900 },
          { stage: 'start', container: 'c', beginMs: 2_000, endMs: 2_100 },
        ],
      },
    ],
  ],
  [
    'a container that was created but not started has no start',
    anObservedPod({ containers: [anObservedContainer({ state: 'created', startedAtMs: 0 })] }),
    [
      {
        beginMs: 1_000,
        from: 'status',
        stages: [
          { stage: 'sandbox', beginMs: 1_000, endMs: 1_000 },
          { stage: 'create', container: 'c', beginMs: 2_000, endMs: 2_000 },
        ],
      },
    ],
  ],
  [
    'times that make no sense are left out',
    anObservedPod({
      sandboxes: [aSandbox({ createdAtMs: 9e15, seenAtMs: 500 })],
      containers: [anObservedContainer({ createdAtMs: Number.NaN })],
    }),
    [{ beginMs: 500, from: 'status', stages: [] }],
  ],
])('%s', (_, seen, want) => {
  expect(rebuild(seen)).toEqual(want);
});

test('each restarted container is a start of its own, the newest first, bounded', () => {
  const restarts = [1, 2, 3, 4, 5, 6].map((restartCount) =>
    anObservedContainer({
      restartCount,
      createdAtMs: restartCount * 10_000,
      startedAtMs: restartCount * 10_000 + 5,
    }),
  );
  const starts = rebuild(anObservedPod({ containers: restarts }), { status: ready('1970-01-01T00:00:30Z') });
  expect(starts.map(({ beginMs, restartOf }) => [restartOf, beginMs])).toEqual([
    ['c', 60_000],
    ['c', 50_000],
    ['c', 40_000],
    ['c', 30_000],
    [undefined, 1_000],
  ]);
  // The condition is about the newest container.
  expect(starts.at(-1)?.readyMs).toBeUndefined();
});

test('the pod became ready at the time in its condition, unless this process reported it', () => {
  const seen = anObservedPod();
  expect(rebuild(seen, { status: ready('1970-01-01T00:00:30Z') })[0]?.readyMs).toBe(30_000);
  expect(rebuild(seen, { status: ready('1970-01-01T00:16:40Z') })[0]?.readyMs).toBeUndefined();
  expect(rebuild(seen, { status: ready('nonsense') })[0]?.readyMs).toBeUndefined();
});

test('names why a container exited, bounded', () => {
  expect(exitFailure(0, 'Completed')).toBeUndefined();
  expect(exitFailure(3, 'Error')).toBe('exit code 3');
  expect(exitFailure(137, 'OOMKilled')).toBe('OOMKilled, exit code 137');
  expect(exitFailure(1, 'x'.repeat(1_000_000))?.length).toBeLessThan(150);
});

import { describe, expect, test } from 'vitest';
import { anObservedContainer, anObservedPod, aSandbox, exited } from '../../test/builders/builders.ts';
import { asPodUid, asSandboxId } from '../api/pod/pod-ref.ts';
import { pickPods } from './pick-pods.ts';

const sandbox = (id: string, createdAtMs: number, ready = true) =>
  aSandbox({ id: asSandboxId(id), createdAtMs, ready });
const inSandbox = (id: string, name: string, createdAtMs = 1) =>
  anObservedContainer({ name, sandboxId: asSandboxId(id), createdAtMs });
const pod = (
  uid: string,
  name: string,
  sandboxes: ReturnType<typeof sandbox>[],
  containers: ReturnType<typeof inSandbox>[],
) => anObservedPod({ uid: asPodUid(uid), name, sandboxes, containers });

describe('pickPods', () => {
  test.each([
    [
      'running containers, oldest first',
      [pod('1', 'a', [sandbox('s', 1)], [inSandbox('s', 'late', 9), inSandbox('s', 'early', 2)])],
      ['1 s early,late'],
    ],
    [
      'omits exited containers',
      [pod('1', 'a', [sandbox('s', 1)], [exited(0, { sandboxId: asSandboxId('s') })])],
      [],
    ],
    [
      'includes a single sandbox that is not ready',
      [pod('1', 'a', [sandbox('s', 1, false)], [inSandbox('s', 'c')])],
      ['1 s c'],
    ],
    [
      'picks the ready one of two sandboxes',
      [
        pod(
          '1',
          'a',
          [sandbox('new', 2, true), sandbox('old', 1, false)],
          [inSandbox('new', 'c'), inSandbox('old', 'd')],
        ),
      ],
      ['1 new c'],
    ],
    [
      'picks the newest if none is ready',
      [
        pod(
          '1',
          'a',
          [sandbox('new', 2, false), sandbox('old', 1, false)],
          [inSandbox('new', 'c'), inSandbox('old', 'd')],
        ),
      ],
      ['1 new c'],
    ],
    [
      'picks the new pod over a finished one of the same name',
      [
        pod('1', 'a', [sandbox('x', 1, false)], [inSandbox('x', 'c')]),
        pod('2', 'a', [sandbox('y', 2)], [inSandbox('y', 'c')]),
      ],
      ['2 y c'],
    ],
    [
      'sorts pods by age, oldest first',
      [
        pod('2', 'b', [sandbox('y', 2)], [inSandbox('y', 'c')]),
        pod('1', 'a', [sandbox('x', 1)], [inSandbox('x', 'c')]),
      ],
      ['1 x c', '2 y c'],
    ],
  ])('%s', (_, pods, want) =>
    expect(
      pickPods(pods).map(
        (each) => `${each.pod.uid} ${each.sandbox.id} ${each.containers.map(({ name }) => name).join()}`,
      ),
    ).toEqual(want),
  );
});

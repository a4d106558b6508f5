import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod } from '../src/api/k8s/types.ts';
import { changesBetween, rowsOf, tableOf } from './run-view.ts';

const nowMs = Date.parse('2026-01-01T00:01:00Z');
const running = { running: { startedAt: '2026-01-01T00:00:30Z' } };

function pod(states: Readonly<Record<string, ContainerStatus['state']>>, name = 'hello-node'): Pod {
  const names = Object.keys(states);
  return {
    metadata: { namespace: 'default', name },
    spec: { containers: names.map((each) => ({ name: each, image: 'i' })) },
    status: {
      phase: 'Running',
      podIP: '10.0.0.2',
      containerStatuses: names.map((each) => ({
        name: each,
        image: 'i',
        imageID: 'i',
        ready: true,
        restartCount: each === 'clock' ? 2 : 0,
        ...(states[each] === undefined ? {} : { state: states[each] }),
      })),
    },
  };
}

const crashed = { terminated: { exitCode: 137, reason: 'Error', finishedAt: '2026-01-01T00:00:59Z' } };
const backOff = { waiting: { reason: 'CrashLoopBackOff' } };

describe('tableOf', () => {
  test('lists the containers of a pod and its columns once', () => {
    const rows = rowsOf([pod({ web: running, clock: crashed }), pod({ one: backOff }, 'alpha')]);
    expect(tableOf(rows, nowMs)).toEqual([
      'POD                 PHASE    IP        CONTAINER  STATE             FOR  RESTARTS',
      'default/alpha       Running  10.0.0.2  one        CrashLoopBackOff       0',
      'default/hello-node  Running  10.0.0.2  web        Running           30s  0',
      '                                       clock      Error (137)       1s   2',
    ]);
  });
  test('reports that there are no pods', () => expect(tableOf([], nowMs)).toEqual(['no pods']));
  test('shows a pod without status as pending', () => {
    const rows = rowsOf([{ metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } }]);
    expect(rows.map((row) => [row.pod, row.phase, row.state])).toEqual([['default/a', 'Pending', 'Waiting']]);
  });
});

describe('changesBetween', () => {
  const before = rowsOf([pod({ web: running, clock: running })]);
  const cases = [
    ['reports nothing for equal snapshots', before, before, []],
    [
      'reports a crash',
      before,
      rowsOf([pod({ web: running, clock: crashed })]),
      ['default/hello-node: clock Error (137), restarts 2, pod Running at 10.0.0.2'],
    ],
    [
      'reports a new pod',
      [],
      rowsOf([pod({ web: running })]),
      ['default/hello-node: web Running, restarts 0, pod Running at 10.0.0.2'],
    ],
    ['reports a removed pod', rowsOf([pod({ web: running })]), [], ['default/hello-node: web removed']],
  ] as const;
  for (const [name, from, to, expected] of cases) {
    test(name, () => expect(changesBetween(from, to)).toEqual(expected));
  }
});

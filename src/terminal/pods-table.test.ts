import { describe, expect, test } from 'vitest';
import type { ContainerStatus, Pod } from '../api/k8s/types.ts';
import { type ExplainedPod, podLines } from './pod-rows.ts';
import { changesBetween, podsJson, podsTable } from './pods-table.ts';
import { parseSafeJson, safeJson } from './safe-text.ts';
import { widthOf } from './width.ts';

const nowMs = Date.parse('2026-01-01T00:01:00Z');
const plain = { wide: false, screen: { columns: undefined, colours: false } };
const running = { running: { startedAt: '2026-01-01T00:00:30Z' } };
const crashed = { terminated: { exitCode: 137, reason: 'Error', finishedAt: '2026-01-01T00:00:59Z' } };
const backOff = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } };

function pod(states: Readonly<Record<string, ContainerStatus['state']>>, name = 'hello-node'): Pod {
  const names = Object.keys(states);
  return {
    metadata: { namespace: 'default', name, uid: `uid-${name}`, creationTimestamp: '2025-12-31T23:57:00Z' },
    spec: { containers: names.map((each) => ({ name: each, image: 'i' })) },
    status: {
      phase: 'Running',
      podIP: '10.0.0.2',
      containerStatuses: names.map((each) => ({
        name: each,
        image: 'i',
        imageID: 'i',
        ready: states[each]?.running !== undefined,
        restartCount: each === 'clock' ? 2 : 0,
        ...(states[each] === undefined ? {} : { state: states[each] }),
        ...(each === 'clock' && { lastState: crashed }),
      })),
    },
  };
}

const explained = (name: string, explanation: string): ExplainedPod => ({
  namespace: 'default',
  name,
  uid: `uid-${name}`,
  explanation,
  since: '2026-01-01T00:00:50Z',
});

describe('podsTable', () => {
  const pods = podLines(
    [pod({ web: running, clock: crashed }), pod({ one: backOff }, 'alpha')],
    [explained('hello-node', 'running'), explained('gone', 'terminating: deleted')],
  );
  test('has a line for every pod, ordered by namespace and name', () =>
    expect(podsTable(pods, nowMs, plain)).toEqual([
      'POD                  READY   STATUS             RESTARTS     AGE   IP         EXPLANATION',
      'default/alpha        0/1     CrashLoopBackOff   0            4m    10.0.0.2',
      'default/gone         0/0     Terminating        0                             terminating: deleted (for 10s)',
      'default/hello-node   1/2     Error              2 (1s ago)   4m    10.0.0.2   running (for 10s)',
    ]));
  test('wide: a line for every container', () =>
    expect(podsTable(pods, nowMs, { ...plain, wide: true }).slice(2)).toEqual([
      'default/gone         0/0     Terminating        0                                                                  terminating: deleted (for 10s)',
      'default/hello-node   1/2     Error              2 (1s ago)   4m    10.0.0.2   web         Running            30s   running (for 10s)',
      '                                                                              clock       Error (137)        1s',
    ]));
  test('reports that there are no pods', () => expect(podsTable([], nowMs, plain)).toEqual(['no pods']));
  test('shows a pod without status as pending', () => {
    const [line] = podLines(
      [{ metadata: { name: 'a' }, spec: { containers: [{ name: 'c', image: 'i' }] } }],
      [],
    );
    expect(line).toMatchObject({ pod: 'default/a', status: 'Pending', states: [{ state: 'Waiting' }] });
  });
  test('fits a narrow terminal', () => {
    for (const columns of [1, 20, 80])
      for (const line of podsTable(pods, nowMs, { wide: true, screen: { columns, colours: false } }))
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
  });
});

describe('hostile texts', () => {
  const evil = '\u001b]0;t\u0007\u202e\n';
  const hostile: Pod = {
    metadata: { namespace: evil, name: evil, uid: evil },
    spec: { containers: [{ name: evil, image: evil }] },
    status: {
      phase: evil,
      reason: evil,
      podIP: evil,
      containerStatuses: [
        {
          name: evil,
          image: evil,
          imageID: evil,
          ready: false,
          restartCount: 0,
          state: { waiting: { reason: evil, message: evil } },
          lastState: { terminated: { exitCode: 1, reason: evil } },
        },
      ],
    },
  };
  const explanation = { namespace: '', name: '', uid: evil, explanation: evil };
  const safe = parseSafeJson(JSON.stringify({ hostile, explanation })) as {
    readonly hostile: Pod;
    readonly explanation: ExplainedPod;
  };
  const lines = podLines([safe.hostile], [safe.explanation]);
  test('are shown as codes in the table', () => {
    const tables = [true, false].flatMap((wide) => podsTable(lines, nowMs, { ...plain, wide }));
    for (const text of [...tables, ...changesBetween([], lines)]) expect(text).toMatch(/^[\x20-\x7e]*$/);
    expect(lines[0]?.status).toBe('\\x1b]0;t\\x07\\u202e\\n');
  });
  test('are escaped in JSON', () => {
    const text = safeJson(podsJson(podLines([hostile], [explanation])));
    expect(text).toMatch(/^[\x20-\x7e\n]*$/);
    expect(JSON.parse(text)).toMatchObject({ items: [{ status: evil, explanation: evil }] });
  });
});

describe('changesBetween', () => {
  const before = podLines([pod({ web: running, clock: running })], []);
  const cases = [
    ['reports nothing for equal lists', before, before, []],
    [
      'reports a crash',
      before,
      podLines([pod({ web: running, clock: crashed })], []),
      [
        'default/hello-node: web Running, restarts 0, pod Error at 10.0.0.2',
        'default/hello-node: clock Error (137), restarts 2, pod Error at 10.0.0.2',
      ],
    ],
    [
      'reports a new pod',
      [],
      podLines([pod({ web: running })], []),
      ['default/hello-node: web Running, restarts 0, pod Running at 10.0.0.2'],
    ],
    ['reports a removed pod', podLines([pod({ web: running })], []), [], ['default/hello-node: web removed']],
  ] as const;
  for (const [name, from, to, expected] of cases)
    test(name, () => expect(changesBetween(from, to)).toEqual(expected));
});

test('podsJson has times and containers', () => {
  expect(podsJson(podLines([pod({ clock: running })], [explained('hello-node', 'running')]))).toMatchObject({
    items: [
      {
        namespace: 'default',
        name: 'hello-node',
        status: 'Running',
        created: '2025-12-31T23:57:00.000Z',
        since: '2026-01-01T00:00:50.000Z',
        containerStates: [
          { name: 'clock', state: 'Running', restarts: 2, since: '2026-01-01T00:00:30.000Z' },
        ],
      },
    ],
  });
});

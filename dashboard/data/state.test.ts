import { describe, expect, test } from 'vitest';
import { asPodUid } from '../../src/api/pod/pod-ref.ts';
import type { Hello, PodDetail, PodRow } from '../../src/api/ports/node-page.ts';
import { findPod, initialState, type PageState, reduce, type StreamMessage } from './state.ts';
import { UsageHistory } from './usage-history.ts';

function row(uid: string, over: Partial<PodRow> = {}): PodRow {
  return {
    uid: asPodUid(uid),
    namespace: 'default',
    name: uid,
    status: 'Running',
    tone: 'good',
    sentence: '',
    sinceMs: 0,
    ready: 1,
    containers: 1,
    restarts: 0,
    lastRestartMs: undefined,
    createdMs: 0,
    ip: '',
    source: 'api',
    ...over,
  };
}

function hello(instance: string, over: Partial<Hello> = {}): Hello {
  return {
    instance,
    nodeName: 'node-a',
    version: 'v1',
    startedAtMs: 0,
    nowMs: 5_000,
    samplePeriodMs: 1000,
    may: { logs: true, exec: false },
    ...over,
  };
}

function play(
  messages: readonly StreamMessage[],
  from: PageState = initialState,
  history = new UsageHistory(),
) {
  return messages.reduce(
    (state, message) => reduce(state, message, { history, nowMs: 1_000, pod: asPodUid('a') }),
    from,
  );
}

describe('reduce', () => {
  test('knows how far the clocks of kubelet and browser differ', () => {
    expect(play([{ name: 'hello', data: hello('p1') }])).toMatchObject({
      clockOffsetMs: 4_000,
      heardMs: 1_000,
      access: { logs: true, exec: false },
    });
  });

  test('applies changes of pods, and replaces them by a whole list', () => {
    const state = play([
      { name: 'pods', data: { all: true, rows: [row('a'), row('b')], gone: [] } },
      { name: 'pods', data: { all: false, rows: [row('c')], gone: [asPodUid('a')] } },
    ]);
    expect([...(state.pods?.keys() ?? [])]).toEqual(['b', 'c']);
    const again = play([{ name: 'pods', data: { all: true, rows: [row('d')], gone: [] } }], state);
    expect([...(again.pods?.keys() ?? [])]).toEqual(['d']);
  });

  test('a new kubelet process resets samples, a new connection to the same process does not', () => {
    const history = new UsageHistory();
    const state = play(
      [
        { name: 'hello', data: hello('p1') },
        { name: 'usage', data: { atMs: 1, node: [1, 1], pods: {} } },
        { name: 'hello', data: hello('p1') },
      ],
      initialState,
      history,
    );
    expect(history.length).toBe(1);
    play([{ name: 'hello', data: hello('p2') }], state, history);
    expect(history.length).toBe(0);
  });

  test('keeps the last detail of a pod that is gone', () => {
    const detail = { row: row('a') } as PodDetail;
    const state = play([
      { name: 'pod', data: detail },
      { name: 'pod', data: null },
    ]);
    expect(state.detail).toEqual({ uid: 'a', last: detail, gone: true });
    expect(play([{ name: 'pod', data: null }]).detail).toEqual({ uid: 'a', last: undefined, gone: true });
  });
});

test('findPod finds the newest of several pods of one name', () => {
  const rows = [
    row('old', { name: 'web', createdMs: 1 }),
    row('new', { name: 'web', createdMs: 2 }),
    row('x'),
  ];
  const pods = new Map(rows.map((each) => [each.uid, each]));
  expect(findPod(pods, { namespace: 'default', name: 'web' })?.uid).toBe('new');
  expect(findPod(pods, { namespace: 'other', name: 'web' })).toBeUndefined();
  expect(findPod(undefined, { namespace: 'default', name: 'web' })).toBeUndefined();
});

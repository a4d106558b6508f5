import { describe, expect, test } from 'vitest';
import { anObservedContainer, anObservedPod, aSandbox, exited } from '../../../test/builders/builders.ts';
import { latestContainer, type ObservedContainer, type ObservedPod } from '../../api/pod/observed.ts';
import { asContainerId, asPodUid, asSandboxId } from '../../api/pod/pod-ref.ts';
import type { GarbageScope } from '../../api/ports/garbage-scope.ts';
import {
  computeGarbage,
  findGarbage,
  type GarbagePolicy,
  type GarbageView,
  isEmpty,
} from './compute-garbage.ts';

const hourMs = 3_600_000;
const nowMs = 2 * hourMs;
const flags: GarbagePolicy = { perContainer: 1, minAgeMs: 0, total: -1 };

const replacedOnly = (pod: ObservedPod): GarbageScope => ({
  all: false,
  logDirectory: false,
  isNeeded: ({ id, name }) => latestContainer(pod, name)?.id === id,
});
const anyDead: GarbageScope = { all: false, logDirectory: false, isNeeded: () => false };
const everything: GarbageScope = { ...anyDead, all: true };
const viewOf = (over: Partial<GarbageView> = {}): GarbageView => ({
  policy: flags,
  nowMs,
  scopeOf: replacedOnly,
  isRefused: () => false,
  ...over,
});

/** As upstream's makeGCContainer: `pod/container/attempt`, created at the attempt unless `now`; exited unless a state follows. */
function node(...lines: readonly string[]): readonly ObservedPod[] {
  const pods = new Map<string, ObservedContainer[]>();
  for (const line of lines) {
    const [id = '', when, state = 'exited'] = line.split(' ');
    const [pod = '', name = '', attempt = ''] = id.split('/');
    const createdAtMs = when === 'now' ? nowMs : Number(attempt);
    const own = pods.get(pod) ?? [];
    const over = { id: asContainerId(id), name, createdAtMs };
    own.push(
      anObservedContainer({ ...over, state: (when === 'now' ? state : (when ?? 'exited')) as 'exited' }),
    );
    pods.set(pod, own);
  }
  return [...pods].map(([name, containers]) =>
    anObservedPod({ uid: asPodUid(name), name, containers, sandboxes: [] }),
  );
}

function removedFrom(pods: readonly ObservedPod[], view: GarbageView): readonly string[] {
  const removed = pods.flatMap((pod) => computeGarbage(pod, pods, view).containers.map(({ id }) => id));
  const found = findGarbage(pods, view).map(({ name }) => name);
  expect(found).toEqual(
    pods.filter(({ name }) => removed.some((id) => id.startsWith(`${name}/`))).map(({ name }) => name),
  );
  return removed;
}

describe('the situations of upstream TestContainerGC, for pods whose exits are stored', () => {
  const usual: GarbagePolicy = { minAgeMs: hourMs, perContainer: 2, total: 6 };
  const all = (pod: string, name: string, ...attempts: readonly number[]): readonly string[] =>
    attempts.map((attempt) => `${pod}/${name}/${attempt}`);
  const cases: readonly (readonly [string, readonly string[], Partial<GarbagePolicy>, readonly string[]])[] =
    [
      ['all go when the total is 0', all('foo', 'bar', 0), { perContainer: 1, total: 0 }, ['foo/bar/0']],
      [
        'the total applies without a limit per container',
        all('foo', 'bar', 4, 3, 2, 1, 0),
        { perContainer: -1, total: 4 },
        ['foo/bar/0'],
      ],
      ['none goes without limits', all('foo', 'bar', 2, 1, 0), { perContainer: -1, total: -1 }, []],
      ['recent ones stay', all('foo', 'bar', 2, 1, 0).map((line) => `${line} now`), {}, []],
      ['the oldest go beyond the limit per container', all('foo', 'bar', 2, 1, 0), {}, ['foo/bar/0']],
      ['running ones stay', [...all('foo', 'bar', 2, 1), 'foo/bar/0 running'], {}, []],
      ['none goes within the limits', all('foo', 'bar', 1, 0), {}, []],
      [
        'the limit applies per pod and name',
        [...all('foo', 'bar', 2, 1, 0), ...all('foo1', 'baz', 2, 1, 0), ...all('foo2', 'bar', 2, 1, 0)],
        {},
        ['foo/bar/0', 'foo1/baz/0', 'foo2/bar/0'],
      ],
      [
        'the total keeps an equal share of every pod',
        [0, 1, 2, 3, 4].flatMap((i) => all(`foo${i}`, `bar${i}`, 1, 0)),
        {},
        [0, 1, 2, 3, 4].map((i) => `foo${i}/bar${i}/0`),
      ],
      [
        'then the oldest of the node go',
        [
          ...all('foo', 'bar', 2, 1),
          ...all('foo1', 'bar1', 2, 1),
          'foo2/bar2/1',
          'foo3/bar3/0',
          'foo4/bar4/1',
          'foo5/bar5/0',
          'foo6/bar6/2',
          'foo7/bar7/1',
        ],
        {},
        ['foo/bar/1', 'foo1/bar1/1', 'foo3/bar3/0', 'foo5/bar5/0'],
      ],
    ];
  for (const [name, lines, policy, removed] of cases)
    test(name, () => {
      const view = viewOf({ policy: { ...usual, ...policy }, scopeOf: () => anyDead });
      expect(removedFrom(node(...lines), view)).toEqual(removed);
    });

  test('all dead containers of pods that may go are removed, and those of others stay', () => {
    const pods = node(
      ...all('foo', 'bar', 2, 1),
      ...all('foo1', 'bar1', 2, 1),
      'running/bar2/1',
      'foo3/bar3/0 running',
    );
    const scopeOf = ({ name }: ObservedPod): GarbageScope => (name === 'running' ? anyDead : everything);
    expect(removedFrom(pods, viewOf({ policy: usual, scopeOf }))).toEqual([
      ...all('foo', 'bar', 2, 1),
      ...all('foo1', 'bar1', 2, 1),
    ]);
  });

  test('the minimum age applies also to pods that may go', () => {
    const pods = node(...all('foo', 'bar', 1, 0), 'deleted/bar1/2 now', ...all('deleted', 'bar1', 1, 0));
    const scopeOf = ({ name }: ObservedPod): GarbageScope => (name === 'deleted' ? everything : anyDead);
    expect(removedFrom(pods, viewOf({ policy: usual, scopeOf }))).toEqual(all('deleted', 'bar1', 1, 0));
  });

  test('a container in an unknown state, or only created, is dead', () => {
    const policy = { minAgeMs: hourMs, perContainer: 0, total: 0 };
    const pods = node('foo/bar/0 unknown', 'foo/baz/0 created');
    expect(removedFrom(pods, viewOf({ policy, scopeOf: () => anyDead }))).toEqual(['foo/bar/0', 'foo/baz/0']);
  });
});

describe('pods that may run again', () => {
  const cases: readonly (readonly [string, readonly string[], Partial<GarbagePolicy>, readonly string[]])[] =
    [
      [
        'the newest of a name stays at limit 0',
        ['p/c/2', 'p/c/1', 'p/c/0'],
        { perContainer: 0 },
        ['p/c/1', 'p/c/0'],
      ],
      [
        'all dead ones go beside a running one',
        ['p/c/2 running', 'p/c/1', 'p/c/0'],
        { perContainer: 0 },
        ['p/c/1', 'p/c/0'],
      ],
      ['one dead stays beside a running one', ['p/c/2 running', 'p/c/1', 'p/c/0'], {}, ['p/c/0']],
      ['the newest counts if it is dead', ['p/c/2', 'p/d/2', 'p/c/1'], {}, ['p/c/1']],
      [
        'a newest one that was only created stays',
        ['p/c/2 created', 'p/c/1'],
        { perContainer: 0 },
        ['p/c/1'],
      ],
      ['an older one in an unknown state goes', ['p/c/2 running', 'p/c/1', 'p/c/0 unknown'], {}, ['p/c/0']],
      [
        'a newest one in an unknown state is left to the sync',
        ['p/c/2 unknown'],
        { perContainer: 0, total: 0 },
        [],
      ],
      ['young ones do not count', ['p/c/3 now', 'p/c/2', 'p/c/1'], { minAgeMs: hourMs }, ['p/c/1']],
      ['all stay without a limit', ['p/c/2', 'p/c/1', 'p/c/0'], { perContainer: -1 }, []],
      [
        'needed ones stay beyond the total',
        ['p/c/1', 'p/c/0', 'q/c/0'],
        { perContainer: -1, total: 0 },
        ['p/c/0'],
      ],
      [
        'the total takes from the pod with most',
        ['p/c/9 running', 'p/c/3', 'p/c/2', 'q/c/9 running', 'q/c/1'],
        { perContainer: -1, total: 2 },
        ['p/c/2'],
      ],
    ];
  for (const [name, lines, policy, removed] of cases)
    test(name, () => {
      expect(removedFrom(node(...lines), viewOf({ policy: { ...flags, ...policy } }))).toEqual(removed);
    });

  test('a container that the runtime refuses to remove is not chosen', () => {
    const view = viewOf({ isRefused: (id) => id === 'p/c/0' });
    expect(removedFrom(node('p/c/2 running', 'p/c/1', 'p/c/0'), view)).toEqual([]);
  });
});

describe('sandboxes, with the situations of upstream TestSandboxGC', () => {
  const sandbox = (id: string, ready = false) => aSandbox({ id: asSandboxId(id), ready });
  const dead = (id: string, sandboxId: string) =>
    exited(1, { id: asContainerId(id), sandboxId: asSandboxId(sandboxId) });
  const cases: readonly (readonly [
    string,
    Partial<ObservedPod>,
    GarbageScope | undefined,
    readonly string[],
  ])[] = [
    ['not ready, of a pod that may go', { sandboxes: [sandbox('s')], containers: [] }, everything, ['s']],
    ['ready, of a pod that may go', { sandboxes: [sandbox('s', true)], containers: [] }, everything, []],
    ['the newest of a desired pod', { sandboxes: [sandbox('s')], containers: [] }, undefined, []],
    ['an older one', { sandboxes: [sandbox('s1'), sandbox('s0')], containers: [] }, undefined, ['s0']],
    [
      'an older one with a container',
      { sandboxes: [sandbox('s1'), sandbox('s0')], containers: [dead('c', 's0')] },
      undefined,
      [],
    ],
    ['an older one that is ready', { sandboxes: [sandbox('s1', true), sandbox('s0', true)] }, undefined, []],
    [
      'an older one whose containers go',
      {
        sandboxes: [sandbox('s1'), sandbox('s0')],
        containers: [dead('c2', 's1'), dead('c1', 's1'), dead('c0', 's0')],
      },
      undefined,
      ['s0'],
    ],
    [
      'all, with their containers, of a pod that may go',
      { sandboxes: [sandbox('s1'), sandbox('s0')], containers: [dead('c1', 's1'), dead('c0', 's0')] },
      everything,
      ['s1', 's0'],
    ],
    [
      'all but that of a needed container',
      { sandboxes: [sandbox('s1'), sandbox('s0')], containers: [dead('c1', 's1'), dead('c0', 's0')] },
      { ...everything, isNeeded: ({ id }) => id === 'c1' },
      ['s0'],
    ],
  ];
  for (const [name, over, scope, removed] of cases)
    test(name, () => {
      const pod = anObservedPod(over);
      const garbage = computeGarbage(pod, [pod], viewOf(scope && { scopeOf: () => scope }));
      expect(garbage.sandboxes.map(({ id }) => id)).toEqual(removed);
      expect(isEmpty(garbage)).toBe(garbage.containers.length + removed.length === 0);
    });
});

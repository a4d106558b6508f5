// The log lines are from cadvisor's tests and from a Linux 6 machine.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { messageOfRecord, OomReader, podUidOfCgroup } from './oom-records.ts';

const first = 'ruby invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0';
const noise = 'Mem-Info:';

const cases: readonly (readonly [string, readonly string[], unknown])[] = [
  ['no kill', ['hello', 'Killed process 3 (x)'], undefined],
  [
    'a cgroup limit, since Linux 5.0',
    [
      first,
      noise,
      'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ef807430361e6e82b45db92e2e9b6fbec98f419b12c591e655c1a725565e73a8,mems_allowed=0,oom_memcg=/kubepods/burstable/podfbdfe8e3-1c87-4ff2-907c-b2ec8e25d012,task_memcg=/kubepods/burstable/podfbdfe8e3-1c87-4ff2-907c-b2ec8e25d012/ef807430361e6e82b45db92e2e9b6fbec98f419b12c591e655c1a725565e73a8,task=manager,pid=966,uid=0',
    ],
    {
      processName: 'manager',
      pid: 966,
      limitedCgroup: '/kubepods/burstable/podfbdfe8e3-1c87-4ff2-907c-b2ec8e25d012',
      cgroup:
        '/kubepods/burstable/podfbdfe8e3-1c87-4ff2-907c-b2ec8e25d012/ef807430361e6e82b45db92e2e9b6fbec98f419b12c591e655c1a725565e73a8',
      constraint: 'CONSTRAINT_MEMCG',
    },
  ],
  [
    'a system-wide OOM since Linux 5.0, with the cgroup on a line of its own',
    [
      first,
      'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/kubepods/podu,task=stress,pid=7,uid=0',
      'Out of memory: Killed process 7 (stress) total-vm:1kB, anon-rss:1kB',
    ],
    {
      processName: 'stress',
      pid: 7,
      limitedCgroup: '/',
      cgroup: '/kubepods/podu',
      constraint: 'CONSTRAINT_NONE',
    },
  ],
  [
    'a cgroup limit, before Linux 5.0',
    [
      first,
      'Task in /mem2/child killed as a result of limit of /mem2',
      noise,
      'Killed process 19667 (evil-program2) total-vm:1460016kB',
    ],
    {
      processName: 'evil-program2',
      pid: 19_667,
      limitedCgroup: '/mem2',
      cgroup: '/mem2/child',
      constraint: '',
    },
  ],
  [
    'a system-wide OOM, before Linux 5.0',
    [first, 'Out of memory: Kill process 1 (x)', 'Killed process 13536 (memorymonster) total-vm:1kB'],
    { processName: 'memorymonster', pid: 13_536, limitedCgroup: '/', cgroup: '/', constraint: '' },
  ],
];

describe('OomReader', () => {
  for (const [name, lines, want] of cases)
    test(`reads ${name}`, () => {
      const reader = new OomReader();
      expect(lines.map((line) => reader.read(line)).find((kill) => kill !== undefined)).toEqual(want);
    });

  test('reads several kills in sequence', () => {
    const reader = new OomReader();
    const lines = [first, 'Killed process 1 (a)', first, 'Killed process 2 (b)'];
    expect(lines.flatMap((line) => reader.read(line)?.pid ?? [])).toEqual([1, 2]);
  });
});

test('extracts the message of a record', () => {
  expect(messageOfRecord('6,1234,5678,-;some; text\n SUBSYSTEM=x\n')).toBe('some; text');
  expect(messageOfRecord('6,1,2,-;text')).toBe('text');
});

describe('podUidOfCgroup', () => {
  for (const [path, uid] of [
    ['/kubepods/burstable/pod1-2/c', '1-2'],
    ['/kubepods/pod1-2', '1-2'],
    [
      '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-c.scope',
      '1-2',
    ],
    ['/kubepods.slice/kubepods-pod1_2.slice', '1-2'],
    ['/kubepods', undefined],
    ['/podman/x', undefined],
    ['/', undefined],
  ] as const)
    test(`${path} → ${uid}`, () => expect(podUidOfCgroup(path)).toBe(uid));
});

describe('lines with names that a pod chooses', () => {
  /** cadvisor's patterns: the expected result, but too slow for long lines. */
  const readByPattern = (message: string): unknown => {
    const whole =
      /oom-kill:constraint=(.*),nodemask=(.*),cpuset=(.*),mems_allowed=(.*),oom_memcg=(.*),task_memcg=(.*),task=(.*),pid=(.*),uid=(.*)/.exec(
        message,
      );
    if (whole !== null && /^\d+$/.test(whole[8] ?? ''))
      return [whole[7], Number(whole[8]), whole[5], whole[6], whole[1]];
    const systemWide = /oom-kill:constraint=([^,]*),.*,global_oom,task_memcg=([^,]*),/.exec(message);
    if (systemWide !== null) return undefined;
    if (/Task in (.*) killed as a result of limit of (.*)/.test(message)) return undefined;
    const killed = /Killed process ([0-9]+) \((.+)\)/.exec(message);
    return killed === null ? undefined : [killed[2], Number(killed[1]), '/', '/', ''];
  };
  const readMessage = (message: string): unknown => {
    const reader = new OomReader();
    reader.read(first);
    const kill = reader.read(message);
    if (kill === undefined) return undefined;
    return [kill.processName, kill.pid, kill.limitedCgroup, kill.cgroup, kill.constraint];
  };
  const inOrder = [
    'oom-kill:constraint=A',
    ',nodemask=n',
    ',cpuset=c',
    ',mems_allowed=0',
    ',oom_memcg=/o',
    ',task_memcg=/t',
    ',task=k',
    ',pid=1',
    ',uid=0',
  ];
  const others = [
    ',global_oom',
    ',task_memcg=/g,',
    'Task in ',
    ' killed as a result of limit of ',
    'Killed process 7 (x',
    ')',
    ',',
    '(',
  ];

  test('are read as cadvisor reads them', () => {
    const piece = fc.constantFrom(...inOrder, ...others);
    // In order, with unexpected pieces between.
    const line = fc
      .array(fc.array(piece, { maxLength: 2 }), { minLength: inOrder.length, maxLength: inOrder.length })
      .map((between) => inOrder.map((part, at) => part + (between[at] ?? []).join('')).join(''));
    const any = fc.array(piece, { maxLength: 14 }).map((parts) => parts.join(''));
    fc.assert(
      fc.property(fc.oneof(line, any), (message) => {
        expect(readMessage(message)).toEqual(readByPattern(message));
      }),
      { seed: 18, numRuns: 3_000 },
    );
  });

  test.each([
    ...inOrder,
    ...others,
    inOrder.slice(0, -1).join(''),
    'Killed process 1 (',
    'oom-kill:constraint=A,',
  ])('reads a megabyte of %j in linear time', (part) => {
    const message = part.repeat(1_000_000 / part.length);
    expect(() => readMessage(message)).not.toThrow();
    expect(() => readMessage(`${inOrder.slice(0, 3).join('')}${message}`)).not.toThrow();
  });

  test('finds the pod of a cgroup as the pattern does', () => {
    const uidByPattern = (path: string): string | undefined => {
      const [, plain, sliced] =
        /kubepods.*\/(?:pod([^/]+?)|[^/]*-pod([^/]+)\.slice)(?:\/|$)/.exec(path) ?? [];
      return plain ?? sliced?.replaceAll('_', '-');
    };
    const piece = fc.constantFrom('/', 'pod', '-pod', 'kubepods', '.slice', 'a_b', 'x');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (parts) => {
        const path = parts.join('');
        expect(podUidOfCgroup(path)).toBe(uidByPattern(path));
      }),
      { seed: 18, numRuns: 5_000 },
    );
    for (const part of ['kubepods', 'kubepods/', '/pod', '-pod', '/', '.slice', '-pod.slice'])
      expect(podUidOfCgroup(part.repeat(1_000_000 / part.length))).toBeUndefined();
  });
});

// The lines are those of cadvisor's own tests and of a Linux 6 machine.
import { describe, expect, test } from 'vitest';
import { messageOfRecord, OomReader, podUidOfCgroup } from './oom-records.ts';

const first = 'ruby invoked oom-killer: gfp_mask=0x201da, order=0, oom_score_adj=0';
const noise = 'Mem-Info:';

const cases: readonly (readonly [string, readonly string[], unknown])[] = [
  ['nothing of it', ['hello', 'Killed process 3 (x)'], undefined],
  [
    'a limit of a cgroup, since Linux 5.0',
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
    'the whole machine, since Linux 5.0: whose process it was is told beside it',
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
    'before Linux 5.0',
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
    'the whole machine, before Linux 5.0',
    [first, 'Out of memory: Kill process 1 (x)', 'Killed process 13536 (memorymonster) total-vm:1kB'],
    { processName: 'memorymonster', pid: 13_536, limitedCgroup: '/', cgroup: '/', constraint: '' },
  ],
];

describe('kills', () => {
  for (const [name, lines, want] of cases)
    test(name, () => {
      const reader = new OomReader();
      expect(lines.map((line) => reader.read(line)).find((kill) => kill !== undefined)).toEqual(want);
    });

  test('one after the other', () => {
    const reader = new OomReader();
    const lines = [first, 'Killed process 1 (a)', first, 'Killed process 2 (b)'];
    expect(lines.flatMap((line) => reader.read(line)?.pid ?? [])).toEqual([1, 2]);
  });
});

test('the message of a record', () => {
  expect(messageOfRecord('6,1234,5678,-;some; text\n SUBSYSTEM=x\n')).toBe('some; text');
  expect(messageOfRecord('6,1,2,-;text')).toBe('text');
});

describe('the pod of a cgroup', () => {
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
    test(path, () => expect(podUidOfCgroup(path)).toBe(uid));
});

import { expect, test } from 'vitest';
import type { DiskFacts } from './facts.ts';
import type { Fact } from './finding.ts';
import { judgeReservations } from './reservations.ts';

const capacity = {
  cpus: 2,
  memoryBytes: 4n * 1024n ** 3n,
  hugePages: [],
  maxProcesses: undefined,
  onlineCpus: '0-1',
};
const disk = { isKnown: true, value: { totalBytes: 5n } as DiskFacts } as const satisfies Fact<DiskFacts>;

test('the rule decides, with the size of the disk', () => {
  const seen: unknown[] = [];
  const rule = (fault: string | undefined) => ({
    reservationFault: (machine: unknown): string | undefined => {
      seen.push(machine);
      return fault;
    },
  });
  expect(judgeReservations(capacity, disk, rule(undefined)).status).toBe('ok');
  expect(judgeReservations(capacity, { isKnown: false, why: 'late' }, rule('too much'))).toMatchObject({
    status: 'fail',
    finding: 'too much; the kubelet does not start',
  });
  expect(seen).toEqual([
    { ...capacity, storageBytes: 5n },
    { ...capacity, storageBytes: undefined },
  ]);
});

test('a rule that throws is a failure', () => {
  const reservationFault = (): string => {
    throw new Error('quantities must match');
  };
  expect(judgeReservations(capacity, disk, { reservationFault })).toMatchObject({
    status: 'fail',
    finding: expect.stringContaining('quantities must match') as string,
  });
});

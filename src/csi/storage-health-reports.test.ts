import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { StorageHealthCondition } from '../api/k8s/types.ts';
import { KubeletError } from '../base/errors.ts';
import { StorageHealthReports } from './storage-health-reports.ts';

const { signal } = new AbortController();
const down: StorageHealthCondition = { status: 'StorageUnreachable', reason: 'NoRoute', message: 'a' };
describe('reports of storage health', () => {
  let clock: FakeClock;
  let updates: string[];
  let failure: Error | undefined;
  let reports: StorageHealthReports;

  beforeEach(() => {
    clock = new FakeClock();
    updates = [];
    failure = undefined;
    const updateHealth = async (
      driver: string,
      conditions: readonly StorageHealthCondition[],
    ): Promise<void> => {
      updates.push(`${driver} ${conditions.length}`);
      if (failure !== undefined) throw failure;
    };
    reports = new StorageHealthReports({ nodeInfo: { updateHealth }, clock });
  });

  const report = (driver: string, ...conditions: StorageHealthCondition[]): Promise<void> =>
    reports.reportHealth(driver, conditions, signal);

  test('reads CSINode once while nothing changes, and again after ten minutes', async () => {
    for (let minute = 0; minute < 10; minute += 1) {
      await report('d', { ...down, message: `${minute}` });
      await clock.advance(60_000);
    }
    expect(updates).toEqual(['d 1']);
    await report('d', down);
    expect(updates).toEqual(['d 1', 'd 1']);
  });

  test('checks once that nothing is left of an earlier process', async () => {
    await report('d');
    await report('d');
    expect(updates).toEqual(['d 0']);
  });

  test('reports every change, for each driver', async () => {
    await report('d', down);
    await report('e', down);
    await report('d');
    await report('d', down);
    expect(updates).toEqual(['d 1', 'e 1', 'd 0', 'd 1']);
  });

  test('a failed report is repeated', async () => {
    await report('d', down);
    failure = new KubeletError('unavailable', 'Down', 'no');
    await expect(report('d')).rejects.toThrow('no');
    failure = undefined;
    await report('d', down);
    expect(updates).toEqual(['d 1', 'd 0', 'd 1']);
  });
});

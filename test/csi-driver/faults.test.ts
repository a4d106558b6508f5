import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { computeOrder, type FaultOrder, Faults } from './faults.ts';

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true });
});

const call = { method: 'NodeStageVolume', volume: 'v', used: { 2: 1 }, nowMs: 1_000 };
const cases: readonly (readonly [string, FaultOrder, boolean])[] = [
  ['another method', { id: 1, method: 'NodePublishVolume' }, false],
  ['every method', { id: 1, method: '*' }, true],
  ['another volume', { id: 1, method: '*', volume: 'w' }, false],
  ['this volume', { id: 1, method: 'NodeStageVolume', volume: 'v' }, true],
  ['used up', { id: 2, method: '*', times: 1 }, false],
  ['used once of twice', { id: 2, method: '*', times: 2 }, true],
  ['expired', { id: 1, method: '*', untilMs: 1_000 }, false],
];

for (const [name, order, applies] of cases)
  test(`an order for a call: ${name}`, () => {
    expect(computeOrder([order], call)).toBe(applies ? order : undefined);
  });

test('the uses of an order outlive the process', () => {
  const dir = mkdtempSync(join(tmpdir(), 'faults-'));
  dirs.push(dir);
  const control = join(dir, 'faults.json');
  expect(new Faults(control).take('NodeStageVolume', 'v')).toBeUndefined();
  writeFileSync(control, JSON.stringify({ orders: [{ id: 1, method: '*', times: 1, die: true }] }));
  expect(new Faults(control).take('NodeStageVolume', 'v')?.die).toBe(true);
  expect(new Faults(control).take('NodeStageVolume', 'v')).toBeUndefined();
});

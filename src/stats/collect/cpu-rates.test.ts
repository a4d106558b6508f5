import { expect, test } from 'vitest';
import { CpuRates } from './cpu-rates.ts';

const second = 1e9;

test('reports the average since the start on the first sample, then the rate between samples', () => {
  const rates = new CpuRates();
  expect(rates.observe('a', { cpuNs: 2 * second, atMs: 0, ageMs: 8_000 })).toBe(250_000_000);
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 7 * second, atMs: 10_000, ageMs: 18_000 })).toBe(500_000_000);
});

test('reports no rate on the first sample if the age is unknown', () => {
  const rates = new CpuRates();
  expect(rates.observe('a', { cpuNs: 700 * second, atMs: 0, ageMs: undefined })).toBeUndefined();
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 701 * second, atMs: 100, ageMs: undefined })).toBeUndefined();
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 701 * second, atMs: 2_000, ageMs: undefined })).toBe(500_000_000);
});

test('keeps the last rate and its window for samples that are too close', () => {
  const rates = new CpuRates();
  rates.observe('a', { cpuNs: 0, atMs: 0, ageMs: 0 });
  rates.endRound();
  rates.observe('a', { cpuNs: 4 * second, atMs: 4_000, ageMs: 4_000 });
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 4.2 * second, atMs: 4_100, ageMs: 4_100 })).toBe(second);
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 5 * second, atMs: 5_000, ageMs: 5_000 })).toBe(second);
});

test('starts over when a cgroup was recreated under the same path', () => {
  const rates = new CpuRates();
  rates.observe('a', { cpuNs: 9 * second, atMs: 0, ageMs: 9_000 });
  rates.endRound();
  expect(rates.observe('a', { cpuNs: second, atMs: 10_000, ageMs: 2_000 })).toBe(500_000_000);
});

test('drops keys that were not observed in a round', () => {
  const rates = new CpuRates();
  rates.observe('a', { cpuNs: second, atMs: 0, ageMs: 1_000 });
  rates.endRound();
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 4 * second, atMs: 10_000, ageMs: 8_000 })).toBe(500_000_000);
});

test('reports 0 if no time has passed', () => {
  expect(new CpuRates().observe('a', { cpuNs: 5, atMs: 0, ageMs: 0 })).toBe(0);
});

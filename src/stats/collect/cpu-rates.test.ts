import { expect, test } from 'vitest';
import { CpuRates } from './cpu-rates.ts';

const second = 1e9;

test('the first look tells the average since the beginning, later ones what was used in between', () => {
  const rates = new CpuRates();
  expect(rates.observe('a', { cpuNs: 2 * second, atMs: 0, ageMs: 8_000 })).toBe(250_000_000);
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 7 * second, atMs: 10_000, ageMs: 18_000 })).toBe(500_000_000);
});

test('of what may be older than anybody knows, one look tells nothing', () => {
  const rates = new CpuRates();
  expect(rates.observe('a', { cpuNs: 700 * second, atMs: 0, ageMs: undefined })).toBeUndefined();
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 701 * second, atMs: 100, ageMs: undefined })).toBeUndefined();
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 701 * second, atMs: 2_000, ageMs: undefined })).toBe(500_000_000);
});

test('looks that are too close keep the last figure, and its window', () => {
  const rates = new CpuRates();
  rates.observe('a', { cpuNs: 0, atMs: 0, ageMs: 0 });
  rates.endRound();
  rates.observe('a', { cpuNs: 4 * second, atMs: 4_000, ageMs: 4_000 });
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 4.2 * second, atMs: 4_100, ageMs: 4_100 })).toBe(second);
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 5 * second, atMs: 5_000, ageMs: 5_000 })).toBe(second);
});

test('a cgroup made anew under its path starts anew', () => {
  const rates = new CpuRates();
  rates.observe('a', { cpuNs: 9 * second, atMs: 0, ageMs: 9_000 });
  rates.endRound();
  expect(rates.observe('a', { cpuNs: second, atMs: 10_000, ageMs: 2_000 })).toBe(500_000_000);
});

test('what was not looked at is forgotten', () => {
  const rates = new CpuRates();
  rates.observe('a', { cpuNs: second, atMs: 0, ageMs: 1_000 });
  rates.endRound();
  rates.endRound();
  expect(rates.observe('a', { cpuNs: 4 * second, atMs: 10_000, ageMs: 8_000 })).toBe(500_000_000);
});

test('without any time there is no rate', () => {
  expect(new CpuRates().observe('a', { cpuNs: 5, atMs: 0, ageMs: 0 })).toBe(0);
});

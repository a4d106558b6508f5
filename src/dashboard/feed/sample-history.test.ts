import { expect, test } from 'vitest';
import type { UsageSample } from '../../api/ports/node-page.ts';
import { SampleHistory } from './sample-history.ts';

const sample = (atMs: number, pods = 0): UsageSample => ({
  atMs,
  node: [1, 2],
  pods: Object.fromEntries(
    Array.from({ length: pods }, (_, index) => [`${index}`.padStart(36, '0'), [10, 10]]),
  ),
});

function read(level: () => Iterable<Uint8Array>): readonly UsageSample[] {
  const text = Buffer.concat([...level()]).toString();
  expect(text.startsWith('event: samples\ndata: [')).toBe(true);
  expect(text.endsWith(']\n\n')).toBe(true);
  return JSON.parse(text.slice(text.indexOf('['))) as readonly UsageSample[];
}

test('the event of all samples has the same content as the single events', () => {
  const history = new SampleHistory();
  expect(read(history.level())).toEqual([]);
  const event = history.add(sample(1, 2));
  history.add(sample(2));
  expect(new TextDecoder().decode(event)).toBe(`event: usage\ndata: ${JSON.stringify(sample(1, 2))}\n\n`);
  expect(read(history.level())).toEqual([sample(1, 2), sample(2)]);
});

test('a level does not contain later samples, which follow as single events', () => {
  const history = new SampleHistory();
  history.add(sample(1));
  const level = history.level();
  history.add(sample(2));
  expect(read(level)).toEqual([sample(1)]);
});

test('keeps 300 samples', () => {
  const history = new SampleHistory();
  for (let index = 0; index < 1_000; index++) history.add(sample(index));
  const kept = read(history.level());
  expect([kept.length, kept[0]?.atMs, kept.at(-1)?.atMs]).toEqual([300, 700, 999]);
});

test('keeps 2 MiB on a node with many pods', () => {
  const history = new SampleHistory();
  for (let index = 0; index < 300; index++) history.add(sample(index, 500));
  const level = history.level();
  expect(Buffer.concat([...level()]).length).toBeLessThan(2.1 * 1024 * 1024);
  expect(read(level).length).toBeGreaterThan(50);
});

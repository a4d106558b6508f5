import { expect, test } from 'vitest';
import { renderConfigz } from '../configz.ts';
import { legacyConfiguration } from '../load/complete.ts';
import { LiveConfiguration } from './live-configuration.ts';

const base = legacyConfiguration({});
const next = {
  ...base,
  evictionHard: { 'memory.available': '1Gi' },
  maxPods: 7,
  port: 1,
};

test('puts in force what needs no restart, and returns what waits for one beside it', () => {
  const live = new LiveConfiguration(base);
  expect(live.apply(next)).toEqual([
    { path: 'port', applies: 'restart' },
    { path: 'maxPods', applies: 'now' },
    { path: 'evictionHard', applies: 'now' },
  ]);
  expect(live.current()).toEqual({ ...next, port: base.port });
});

test('a listener sees all values of the change from the first announcement on', () => {
  const live = new LiveConfiguration(base);
  const seen: unknown[] = [];
  live.changed.subscribe((path) => seen.push([path, live.view.maxPods, live.view.evictionHard]));
  live.apply(next);
  expect(seen).toEqual([
    ['maxPods', 7, next.evictionHard],
    ['evictionHard', 7, next.evictionHard],
  ]);
});

test('the same configuration again announces nothing; what waits for a restart is still named', () => {
  const live = new LiveConfiguration(base);
  live.apply(next);
  const seen: string[] = [];
  live.changed.subscribe((path) => seen.push(path));
  expect(live.apply(next)).toEqual([{ path: 'port', applies: 'restart' }]);
  expect(live.apply(base)).toEqual([
    { path: 'maxPods', applies: 'now' },
    { path: 'evictionHard', applies: 'now' },
  ]);
  expect(seen).toEqual(['maxPods', 'evictionHard']);
  expect(live.current()).toEqual(base);
});

test('preview is what apply puts in force, and changes nothing', () => {
  const live = new LiveConfiguration(base);
  const preview = live.preview(next);
  expect(live.current()).toBe(base);
  live.apply(next);
  expect(live.current()).toEqual(preview);
});

test('the view reads what is in force, has every field, and is copied by a spread', () => {
  const live = new LiveConfiguration(base);
  const { view } = live;
  const copy = { ...view };
  expect(copy).toEqual(base);
  live.apply(next);
  expect([view.maxPods, view.port, copy.maxPods]).toEqual([7, base.port, base.maxPods]);
  expect(renderConfigz(view)).toEqual(renderConfigz(live.current()));
  expect('tracing' in view).toBe(true);
});

import { expect, test } from 'vitest';
import type { PodStart } from '../api/ports/node-page.ts';
import { waterfall } from './waterfall.ts';
import { widthOf } from './width.ts';

const beginMs = Date.parse('2026-01-01T00:00:00Z');
const start: PodStart = {
  beginMs,
  from: 'recorded',
  stages: [
    { stage: 'admit', beginMs, endMs: beginMs + 2 },
    { stage: 'sandbox', beginMs: beginMs + 2, endMs: beginMs + 500 },
    { stage: 'pull', container: 'web', beginMs: beginMs + 500, detail: 'busybox:1' },
    { stage: 'pull', container: 'clock', beginMs: beginMs + 500, endMs: beginMs + 750, error: 'not found' },
  ],
};

test('draws every stage at its time', () => {
  expect(waterfall(start, beginMs + 1000, { columns: 60, colours: false })).toEqual([
    'Start at 2026-01-01T00:00:00Z, not ready after 1.00 s',
    '  admit       █···········    2 ms',
    '  sandbox     ██████······  498 ms',
    '  pull web    ······▒▒▒▒▒▒  500 ms  in progress  busybox:1',
    '  pull clock  ······███···  250 ms  failed: not found',
  ]);
});

test('names the failure and the detail where there is room', () => {
  const lines = waterfall(start, beginMs + 1000, { columns: undefined, colours: false });
  expect(lines[3]).toMatch(/500 ms {2}in progress {2}busybox:1$/);
  expect(lines[4]).toMatch(/250 ms {2}failed: not found$/);
});

test('a restart that is ready, recorded by an earlier kubelet', () => {
  const restart = {
    ...start,
    stages: [],
    readyMs: beginMs + 1250,
    restartOf: 'web',
    from: 'status' as const,
  };
  expect(waterfall(restart, beginMs + 9000, { columns: undefined, colours: false })).toEqual([
    'Restart of web at 2026-01-01T00:00:00Z, ready after 1.25 s (of an earlier kubelet)',
  ]);
});

test('no line is wider than the terminal, whatever the times are', () => {
  const odd: PodStart = {
    ...start,
    stages: [
      { stage: 'run', beginMs: 0, endMs: 5 },
      { stage: 'ready', beginMs: beginMs * 2, container: 'x'.repeat(300) },
    ],
  };
  for (const each of [start, odd])
    for (let columns = 1; columns < 100; columns += 3)
      for (const line of waterfall(each, beginMs + 1000, { columns, colours: false }))
        expect(widthOf(line)).toBeLessThanOrEqual(columns);
});

test('colours change nothing else', () => {
  const plain = waterfall(start, beginMs + 1000, { columns: 70, colours: false });
  const coloured = waterfall(start, beginMs + 1000, { columns: 70, colours: true });
  expect(coloured.map((line) => line.replaceAll(/\p{Cc}\[\d+m/gu, ''))).toEqual(plain);
  expect(coloured).not.toEqual(plain);
});

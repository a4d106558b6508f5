import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { Verbosity } from '../base/log/log.ts';
import { textLogger } from '../base/log/log-text.ts';
import { ShutdownRecord } from './shutdown-record.ts';

const path = '/state';
const startTime = '2026-11-15T12:00:00.000Z';
const endTime = '2026-11-15T12:00:30.000Z';
const unset = '0001-01-01T00:00:00Z';

interface Faults {
  readonly read?: () => Promise<string>;
  readonly write?: () => Promise<void>;
}

function rig(text?: string, faults: Faults = {}) {
  const clock = new FakeClock();
  const metrics = { startedAtMs: -1, endedAtMs: -1 };
  const lines: string[] = [];
  const written: string[] = [];
  const record = new ShutdownRecord({
    files: {
      read: faults.read ?? (async () => text),
      write: faults.write ?? (async (_path, content) => void written.push(content)),
    },
    path,
    metrics: {
      started: (atMs) => void (metrics.startedAtMs = atMs),
      ended: (atMs) => void (metrics.endedAtMs = atMs),
    },
    clock,
    log: textLogger({ write: (line) => void lines.push(line), clock, verbosity: new Verbosity(0), pid: 1 }),
  });
  return { clock, lines, metrics, record, written };
}

const files: readonly (readonly [string, string | undefined, number, number, number | undefined])[] = [
  ['no file', undefined, 0, 0, undefined],
  [
    'a finished shutdown',
    JSON.stringify({ startTime, endTime }),
    Date.parse(startTime),
    Date.parse(endTime),
    undefined,
  ],
  [
    'an unfinished shutdown',
    JSON.stringify({ startTime, endTime: unset }),
    Date.parse(startTime),
    0,
    Date.parse(startTime),
  ],
  ['other content', '[1]', 0, 0, undefined],
  ['times of another type', JSON.stringify({ startTime: 7, endTime: 'soon' }), 0, 0, undefined],
  [
    "upstream's form",
    '{"startTime":"2026-11-15T13:00:00.000000001+01:00"}',
    Date.parse(startTime),
    0,
    Date.parse(startTime),
  ],
];
test.each(files)('reads %s', async (_name, text, startedAtMs, endedAtMs, unfinishedSinceMs) => {
  const { lines, metrics, record } = rig(text);
  await record.read();
  expect(metrics).toEqual({ startedAtMs, endedAtMs });
  expect(record.unfinishedSinceMs).toBe(unfinishedSinceMs);
  expect(lines).toEqual([]);
});

test('logs a damaged file, and starts without it', async () => {
  const { lines, metrics, record } = rig('{"startTime":');
  await record.read();
  expect(metrics).toEqual({ startedAtMs: 0, endedAtMs: 0 });
  expect(lines).toHaveLength(1);
});

test('writes in order, with the zero time for what is not set', async () => {
  const { record, written } = rig();
  record.started(Date.parse(startTime));
  await record.ended(Date.parse(endTime));
  expect(written.map((text) => JSON.parse(text) as unknown)).toEqual([
    { startTime, endTime: unset },
    { startTime, endTime },
  ]);
});

test('waits for a hung disk for a second per write', async () => {
  const hung = (): Promise<never> => new Promise(() => undefined);
  const { clock, lines, metrics, record } = rig(undefined, { read: hung, write: hung });
  const read = record.read();
  await clock.advance(1_000);
  await read;
  record.started(5);
  const ended = record.ended(6);
  await clock.advance(2_000);
  await ended;
  expect(metrics).toEqual({ startedAtMs: 5, endedAtMs: 6 });
  expect(lines).toHaveLength(3);
});

import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import { memoryHistory } from '../../test/fakes/memory-history.ts';
import { HistoryReader } from './read-history.ts';
import { RecordedIds } from './recorded-ids.ts';
import { HistorySegments } from './segments.ts';

const line = (id: string, over: object = {}): string =>
  JSON.stringify({ id, namespace: 'default', pod: 'web', uid: 'u1', cause: 'c', ...over });

async function world(lines: readonly string[]) {
  const segments = new HistorySegments(memoryHistory(new Map()), 64 * 1024 * 1024);
  for (const each of lines) await segments.append(each);
  let pauses = 0;
  const clock = new FakeClock();
  const pause = async (): Promise<void> => void (pauses += 1);
  const slices = { clock, pause };
  const reader = new HistoryReader({ segments, ...slices });
  const { signal } = new AbortController();
  const ids = async (query: object): Promise<readonly string[]> => {
    const { lines: found } = await reader.read({ limit: 1000, ...query }, signal);
    return found.map((text) => (JSON.parse(text) as { id: string }).id);
  };
  return { reader, ids, segments, slices, signal };
}

test('filters by namespace and name, by UID, and skips torn lines', async () => {
  const { ids } = await world([
    line('1'),
    line('2', { pod: 'db', uid: 'u2', cause: 'mentions "web" and u1' }),
    line('3', { namespace: 'other', uid: 'u3' }),
    '{"id":"4","namespace":"default","pod":"web","uid":"u1","ca',
    '\0\0\0',
    '[]',
    line('5'),
  ]);
  expect(await ids({})).toEqual(['5', '3', '2', '1']);
  expect(await ids({ namespace: 'default', pod: 'web' })).toEqual(['5', '1']);
  expect(await ids({ uid: 'u2' })).toEqual(['2']);
  expect(await ids({ namespace: 'default', pod: 'web', uid: 'u3' })).toEqual([]);
});

test('an answer is bounded in records and bytes, and reports that more exist', async () => {
  const { reader, signal } = await world(
    Array.from({ length: 300 }, (_, index) => line(String(index), { cause: 'x'.repeat(30_000) })),
  );
  const few = await reader.read({ limit: 2 }, signal);
  expect([few.lines.length, few.more]).toEqual([2, true]);
  const most = await reader.read({ limit: 1000 }, signal);
  expect([most.lines.length, most.more]).toEqual([139, true]);
  const exact = await reader.read({ limit: 1, uid: 'none' }, signal);
  expect(exact).toEqual({ lines: [], more: false });
});

test('a client that disconnects ends its search, and the next one is served', async () => {
  const { ids, reader } = await world([line('1')]);
  const abort = new AbortController();
  abort.abort(new Error('gone'));
  await expect(reader.read({ limit: 1 }, abort.signal)).rejects.toThrow('gone');
  expect(await ids({})).toEqual(['1']);
});

test('the IDs of earlier records are read once; torn ones are not recorded', async () => {
  const { segments, slices } = await world([line('a'), '{"id":"torn","ti', line('b')]);
  const recorded = new RecordedIds({ segments, onUnreadable: () => undefined, ...slices });
  await recorded.load();
  expect(['a', 'b', 'torn', 'c'].map((id) => recorded.has(id))).toEqual([true, true, false, false]);
});

test('an unreadable history is reported once and counts as empty', async () => {
  const errors: unknown[] = [];
  const unreadable = memoryHistory(new Map());
  const segments = new HistorySegments({ ...unreadable, list: () => Promise.reject(new Error('EIO')) }, 1);
  const { slices } = await world([]);
  const recorded = new RecordedIds({ segments, onUnreadable: (err) => void errors.push(err), ...slices });
  await recorded.load();
  await recorded.load();
  expect(errors).toHaveLength(1);
  expect(recorded.has('a')).toBe(false);
});

test('at most 20,000 IDs are kept, the newest ones', async () => {
  const { segments, slices } = await world([]);
  const recorded = new RecordedIds({ segments, onUnreadable: () => undefined, ...slices });
  for (let index = 0; index <= 20_000; index++) recorded.add(String(index));
  expect([recorded.has('0'), recorded.has('1'), recorded.has('20000')]).toEqual([false, true, true]);
});

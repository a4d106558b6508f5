import { expect, test } from 'vitest';
import { memoryHistory } from '../../test/fakes/memory-history.ts';
import { HistorySegments } from './segments.ts';

const mebibyte = 1024 * 1024;

function world(initial: Readonly<Record<string, string>> = {}, maxBytes = mebibyte) {
  const files = new Map(Object.entries(initial).map(([name, text]) => [name, Buffer.from(text)]));
  const segments = new HistorySegments(memoryHistory(files), maxBytes);
  const lines = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const line of segments.newestFirst()) found.push(line.toString());
    return found;
  };
  const texts = (): Readonly<Record<string, string>> =>
    Object.fromEntries([...files].map(([name, bytes]) => [name, bytes.toString()]));
  return { files, segments, lines, texts };
}

test('appends, and reads the newest first', async () => {
  const { lines, segments, texts } = world();
  await Promise.all(['a', 'b', 'c'].map((line) => segments.append(line)));
  expect(texts()).toEqual({ '00000001.jsonl': 'a\nb\nc\n' });
  expect(await lines()).toEqual(['c', 'b', 'a']);
});

test('continues the newest segment of an earlier kubelet', async () => {
  const { lines, segments } = world({ '00000007.jsonl': 'a\n', '00000012.jsonl': 'b\n', other: 'x' });
  await segments.append('c');
  expect(await lines()).toEqual(['c', 'b', 'a']);
});

test('a line that was cut off does not join the next one', async () => {
  const { lines, segments } = world({ '00000001.jsonl': 'a\n{"id":"c/b","ti' });
  await segments.append('c');
  await segments.append('d');
  expect(await lines()).toEqual(['d', 'c', '{"id":"c/b","ti', 'a']);
});

test('never exceeds the bound, and drops the oldest first', async () => {
  const { files, lines, segments } = world();
  const size = (): number => [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0);
  for (let index = 0; index < 3000; index++) {
    await segments.append(`${index} ${'x'.repeat(1000)}`);
    expect(size()).toBeLessThanOrEqual(mebibyte);
  }
  const kept = (await lines()).map((line) => Number(line.split(' ')[0]));
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 2999 - index));
  expect(size()).toBeGreaterThan((mebibyte * 3) / 4);
});

test('a lower bound applies to the files of an earlier kubelet', async () => {
  const segment = `${'x'.repeat(1000)}\n`.repeat(500);
  const { files, segments } = world({
    '00000001.jsonl': segment,
    '00000002.jsonl': segment,
    '00000003.jsonl': segment,
    '00000004.jsonl': segment,
  });
  await segments.append('a');
  expect([...files.keys()]).toEqual(['00000004.jsonl', '00000005.jsonl']);
});

test('an append that fails does not affect the next one', async () => {
  const files = new Map<string, Buffer>();
  const memory = memoryHistory(files);
  let isFull = false;
  const segments = new HistorySegments(
    {
      ...memory,
      append: async (name, bytes) => {
        if (isFull) throw new Error('ENOSPC');
        await memory.append(name, bytes);
      },
    },
    mebibyte,
  );
  await segments.append('a');
  isFull = true;
  await expect(segments.append('b')).rejects.toThrow('ENOSPC');
  isFull = false;
  await segments.append('c');
  expect(files.get('00000001.jsonl')?.toString()).toBe('a\nc\n');
});

test('lines that span chunks, empty lines and damaged parts are read in bounded memory', async () => {
  const long = 'y'.repeat(30_000);
  const damaged = '\0'.repeat(500_000);
  const { lines } = world({ '00000001.jsonl': `${long}\n\n${long}\n${damaged}\n${long}\nz\n` });
  const found = await lines();
  expect(found.slice(0, 2)).toEqual(['z', long]);
  expect(found.slice(-2)).toEqual([long, long]);
  expect(Math.max(...found.map((line) => line.length))).toBeLessThan(100_000);
});

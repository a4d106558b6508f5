import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LogFile } from './log-files.ts';
import { LogFilter } from './log-filter.ts';
import { openLog } from './open-log.ts';
import { BackwardScan, ForwardScan, TailCount } from './tail-scan.ts';

const t = '2024-01-01T00:00:01.5Z';

interface Entry {
  readonly kind: 'F' | 'P' | 'garbage' | 'json';
  readonly text: string;
}

const entry: fc.Arbitrary<Entry> = fc.record({
  kind: fc.constantFrom('F', 'F', 'P', 'garbage', 'json'),
  text: fc.oneof(
    fc.string({ maxLength: 12, unit: 'grapheme-ascii' }),
    fc.integer({ min: 100, max: 400 }).map((n) => 'x'.repeat(n)),
  ),
});

function line({ kind, text }: Entry): string {
  if (kind === 'garbage') return `${text.replaceAll('{', '')}\n`;
  if (kind === 'json') return `${JSON.stringify({ log: `${text}\n`, stream: 'stderr', time: t })}\n`;
  return `${t} stdout ${kind} ${text}\n`;
}

const unfiltered = { timestamps: false, since: undefined, limitBytes: undefined, stdout: true, stderr: true };

function shown(raw: Buffer): string {
  const filter = new LogFilter(unfiltered);
  return Buffer.concat([filter.push(raw), filter.finish()]).toString();
}

/** The last lines, as `tail -n` shows them. */
function naiveTail(text: string, count: number): string {
  const lines = text.split(/(?<=\n)/).filter((each) => each !== '');
  return count === 0 ? '' : lines.slice(-count).join('');
}

function backwards(file: Buffer, count: TailCount, blockBytes: number): number | undefined {
  const scan = new BackwardScan(count);
  for (let right = file.length; right > 0; ) {
    const left = Math.max(0, right - blockBytes);
    const start = scan.block(Buffer.from(file.subarray(left, right)), left);
    if (start !== undefined) return start;
    right = left;
  }
  return undefined;
}

describe('the last lines', () => {
  test('are those of tail for any log and block size', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 25 }),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 700 }),
        (entries, count, blockBytes) => {
          const raw = Buffer.from(entries.map(line).join(''));
          const start = backwards(raw, new TailCount(count), blockBytes) ?? 0;
          expect(shown(raw.subarray(start))).toBe(naiveTail(shown(raw), count));
        },
      ),
      { numRuns: 500 },
    );
  });

  test('are the same for a log in several files, plain and compressed', async () => {
    const file = fc.record({ entries: fc.array(entry, { maxLength: 8 }), compressed: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 12 }),
        async (parts, count) => {
          const raws = parts.map(({ entries }) => Buffer.from(entries.map(line).join('')));
          const open = (index: number): LogFile => ({
            identity: String(index),
            // The current file is never compressed.
            name: async () => '0.log',
            compressed: index < raws.length - 1 && (parts[index]?.compressed ?? false),
            read: async (buffer, at) => raws[index]?.copy(buffer, 0, at) ?? 0,
            size: async () => raws[index]?.length ?? 0,
            close: async () => undefined,
          });
          const { files, startAt } = await openLog(
            {
              turns: { take: async () => undefined },
              clock: { monotonic: () => 0 },
              files: {
                open: async (path) => open(Number(path)),
                rotated: async () =>
                  raws.slice(0, -1).map((_, index) => ({ path: String(index), identity: String(index) })),
                identity: async () => undefined,
                watch: () => ({ close: () => undefined }),
              },
            },
            { path: String(raws.length - 1), containerId: '' },
            { since: undefined, tailLines: count },
            new AbortController().signal,
          );
          const read = Buffer.concat(files.map(({ identity }) => raws[Number(identity)] ?? Buffer.alloc(0)));
          expect(shown(read.subarray(startAt))).toBe(naiveTail(shown(Buffer.concat(raws)), count));
        },
      ),
      { numRuns: 300 },
    );
  });

  test('do not include an incomplete line', () => {
    const raw = Buffer.from(`${t} stdout F a\n${t} stdout F b\n${t} stdout F unfin`);
    const start = backwards(raw, new TailCount(1), 1024) ?? 0;
    expect(raw.subarray(start).toString()).toBe(`${t} stdout F b\n${t} stdout F unfin`);
  });

  test('begin at the beginning of a line that the runtime split', () => {
    const raw = Buffer.from(`${t} stdout F a\n${t} stdout P b\n${t} stdout P c\n${t} stdout F d\n`);
    expect(shown(raw.subarray(backwards(raw, new TailCount(1), 1024)))).toBe('bcd\n');
  });

  test('are found when reading forwards in any pieces', () => {
    const raw = Buffer.from([1, 2, 3].map((n) => `${t} stdout F line ${n}\n`).join(''));
    for (const pieceBytes of [1, 5, 30, 1024]) {
      const scan = new ForwardScan();
      let found: number | undefined;
      for (let at = 0; at < raw.length && found === undefined; at += pieceBytes) {
        found = scan.push(raw.subarray(at, at + pieceBytes), 2);
      }
      expect(raw.subarray(found).toString()).toBe(`${t} stdout F line 3\n`);
    }
  });
});

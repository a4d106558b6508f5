import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { silentLogger } from '../../base/log/log.ts';
import type { LogOptions } from './log-options.ts';
import { readLog } from './read-log.ts';

const line = (text: string): string => `2024-01-01T00:00:01Z stdout F ${text}\n`;
const options: LogOptions = {
  follow: true,
  previous: false,
  timestamps: false,
  since: undefined,
  tailLines: undefined,
  limitBytes: undefined,
  stdout: true,
  stderr: true,
};

/** A log in memory without file events, unless a test triggers them. */
function bench() {
  let text = '';
  let running = true;
  let open = 0;
  let onEnd: () => void = () => undefined;
  let onRead: () => void = () => undefined;
  let watching = 0;
  const listeners = new Set<() => void>();
  const clock = new FakeClock();
  const stop = new AbortController();
  const chunks = readLog(
    {
      files: {
        open: async () => {
          open += 1;
          return {
            identity: 'a',
            name: async () => '0.log',
            compressed: false,
            read: async (buffer, at) => {
              const length = Buffer.from(text).copy(buffer, 0, at);
              if (length === 0) onEnd();
              onRead();
              return length;
            },
            size: async () => text.length,
            close: async () => {
              open -= 1;
            },
          };
        },
        rotated: async () => [],
        identity: async () => 'a',
        watch: () => {
          watching += 1;
          return {
            close: () => {
              watching -= 1;
            },
          };
        },
      },
      turns: { take: async () => undefined },
      clock,
      log: silentLogger,
    },
    {
      path: '/log',
      containerId: 'c',
      options,
      isRunning: () => running,
      onChange: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    stop.signal,
  );
  let got = '';
  const ended = (async () => {
    for await (const chunk of chunks) got += Buffer.from(chunk).toString();
  })();
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  };
  return {
    clock,
    settle,
    ended,
    stop,
    got: () => got,
    left: () => ({ open, watching, listeners: listeners.size, timers: clock.pendingTimers() }),
    write: (more: string) => {
      text += line(more);
    },
    end: () => {
      running = false;
      for (const each of listeners) each();
    },
    atEnd: (fn: () => void) => {
      onEnd = fn;
    },
    atRead: (fn: () => void) => {
      onRead = fn;
    },
  };
}

/** An endless log, like a sparse file of terabytes: reading it never stops by itself. */
function endless(over: Partial<LogOptions>, block: string, compressed = false) {
  const stop = new AbortController();
  const bytes = Buffer.alloc(64 * 1024, block);
  let open = 0;
  let reads = 0;
  let takenBytes = 0;
  const chunks = readLog(
    {
      files: {
        open: async () => {
          open += 1;
          return {
            identity: 'a',
            name: async () => '0.log',
            compressed,
            read: async (buffer) => {
              reads += 1;
              // The client disconnects.
              if (reads === 50) stop.abort();
              if (reads > 60) throw new Error('read after the client had disconnected');
              return bytes.copy(buffer);
            },
            size: async () => 2 ** 50,
            close: async () => {
              open -= 1;
            },
          };
        },
        rotated: async () => [],
        identity: async () => 'a',
        watch: () => ({ close: () => undefined }),
      },
      turns: {
        take: async (length) => {
          takenBytes += length;
        },
      },
      clock: new FakeClock(),
      log: silentLogger,
    },
    {
      path: '/log',
      containerId: 'c',
      options: { ...options, follow: false, ...over },
      isRunning: () => true,
      onChange: () => () => undefined,
    },
    stop.signal,
  );
  const ended = (async () => {
    for await (const chunk of chunks) expect(chunk.length).toBeLessThan(1024);
  })();
  return { ended, seen: () => ({ open, reads, takenBytes }) };
}

describe('an endless log', () => {
  const since = { seconds: 2 ** 40, nanos: 0 };
  const sparse = '\0';
  test.each([
    ['the last 1000000000 lines', { tailLines: 1_000_000_000 }, line('x'), false],
    ['the last line without any newline', { tailLines: 1 }, sparse, false],
    ['the last line of empty lines', { tailLines: 1 }, '\n', false],
    ['the last lines of a compressed file', { tailLines: 1_000_000_000 }, line('x'), true],
    ['lines since a time', { since }, line('x'), false],
    ['lines since a time without any newline', { since }, sparse, false],
    ['the first bytes of a line without newline', { limitBytes: 10 }, sparse, false],
  ] as const)(
    '%s: yields to the event loop and stops when the client disconnects',
    async (_, over, block, compressed) => {
      const { ended, seen } = endless(over, block, compressed);
      await ended;
      const { open, reads, takenBytes } = seen();
      expect({ open, reads }).toEqual({ open: 0, reads: 50 });
      // Every piece except the last has waited for its turn.
      expect(takenBytes).toBeGreaterThan(40 * 16 * 1024);
    },
  );
});

const nothingLeft = { open: 0, watching: 0, listeners: 0, timers: 0 };

describe('following', () => {
  test('sends the final output that was written between the last read and the exit of the container', async () => {
    const { atEnd, end, ended, got, left, write } = bench();
    atEnd(() => {
      atEnd(() => undefined);
      write('final output');
      end();
    });
    await ended;
    expect(got()).toBe('final output\n');
    expect(left()).toEqual(nothingLeft);
  });

  test('wakes up when the container exits, without a file event', async () => {
    const { clock, end, ended, got, left, settle, write } = bench();
    write('one');
    await settle();
    // The batch before the next read.
    await clock.advance(10);
    await settle();
    expect(got()).toBe('one\n');
    expect(left()).toMatchObject({ open: 1, watching: 1, listeners: 1 });
    end();
    await ended;
    expect(left()).toEqual(nothingLeft);
  });

  test('reads changes without an event within the poll interval', async () => {
    const { clock, got, left, settle, stop, ended, write } = bench();
    await settle();
    await clock.advance(10);
    await settle();
    write('silent');
    await clock.advance(4_000);
    await settle();
    expect(got()).toBe('');
    await clock.advance(1_000);
    await settle();
    expect(got()).toBe('silent\n');
    stop.abort();
    await ended;
    expect(left()).toEqual(nothingLeft);
  });

  test('batches continuous output: a fixed number of reads per second, however much is written', async () => {
    const { atRead, clock, settle, stop, ended, write } = bench();
    let reads = 0;
    atRead(() => {
      reads += 1;
      write('more');
    });
    for (let ms = 0; ms < 1_000; ms++) {
      await clock.advance(1);
      await settle();
    }
    expect(reads).toBeGreaterThan(50);
    expect(reads).toBeLessThan(250);
    stop.abort();
    await ended;
  });
});

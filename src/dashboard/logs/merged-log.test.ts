import { afterEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { MemoryContainer, timeAt } from './fixtures/memory-containers.ts';
import { parsePositions } from './log-position.ts';
import { MergedLog } from './merged-log.ts';

interface Message {
  readonly event: string;
  readonly id: string;
  readonly data: readonly string[];
  readonly bytes: number;
}

interface Line {
  readonly c: number;
  readonly t: string;
  readonly x: string;
  readonly cut?: boolean;
}

const stops: { readonly all: Set<() => Promise<unknown>> } = { all: new Set() };
afterEach(async () => {
  for (const stop of stops.all) await stop();
  stops.all.clear();
});

function parse(bytes: Uint8Array): Message {
  const fields = Buffer.from(bytes)
    .toString()
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)] as const);
  const of = (name: string): string[] => fields.filter(([field]) => field === name).map(([, value]) => value);
  return { event: of('event')[0] ?? 'message', id: of('id')[0] ?? '', data: of('data'), bytes: bytes.length };
}

interface ViewOptions {
  readonly clock?: FakeClock;
  readonly id?: string;
  readonly follow?: boolean;
  readonly previous?: boolean;
  readonly tail?: number;
  readonly since?: string;
  readonly pause?: () => Promise<void>;
  /** How long the log of a container takes to open. */
  readonly openMs?: Readonly<Record<string, number>>;
}

/** A viewer that reads as fast as the stream sends. */
function view(containers: readonly MemoryContainer[], options: ViewOptions = {}) {
  const {
    clock = new FakeClock(),
    follow = true,
    id = '',
    openMs = {},
    pause,
    previous = false,
    since,
    tail = 1_000,
  } = options;
  const abort = new AbortController();
  const log = new MergedLog(
    {
      look: () => containers.map((each) => each.seen()),
      openLog: async (name, query, signal) => {
        const found = containers.find((each) => each.name === name);
        if (openMs[name] !== undefined) await clock.sleep(openMs[name]);
        return found?.log(query, signal) ?? { status: 404, headers: {}, body: '' };
      },
      clock,
      pause: pause ?? (() => Promise.resolve()),
    },
    {
      containers: containers.map(({ name }) => name),
      follow,
      previous,
      tail,
      since,
      saved: parsePositions(id),
    },
  );
  const iterator = log.messages(abort.signal);
  const messages: Message[] = [];
  let done = false;
  const next = async (): Promise<boolean> => {
    const { done: isDone, value } = await iterator.next();
    if (isDone === true) done = true;
    else messages.push(parse(value));
    return !done;
  };
  const pump = async (): Promise<void> => {
    while (await next()) {
      // Until the stream ends.
    }
  };
  const stop = async (): Promise<void> => {
    abort.abort();
    await iterator.return();
  };
  stops.all.add(stop);
  const lines = (): Line[] =>
    messages
      .filter(({ event }) => event === 'message')
      .flatMap(({ data }) => data.map((each) => JSON.parse(each)));
  return {
    clock,
    messages,
    next,
    pump,
    stop,
    lines,
    isDone: () => done,
    texts: () => lines().map(({ x }) => x),
    events: (event: string) =>
      messages.filter((each) => each.event === event).map(({ data }) => JSON.parse(data[0] ?? '')),
    lastId: () => messages.findLast(({ id }) => id !== '')?.id ?? '',
  };
}

const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, index) => String(from + index));

describe('what a viewer gets', () => {
  test('the state of the containers first, then their lines merged by time', async () => {
    const [a, b] = [new MemoryContainer('a'), new MemoryContainer('b')];
    for (const ms of [1, 3, 5]) a.write(ms, `a${ms}`);
    for (const ms of [2, 3, 4]) b.write(ms, `b${ms}`);
    const viewer = view([a, b]);
    void viewer.pump();
    await viewer.clock.advance(100);
    expect(viewer.messages[0]).toMatchObject({
      event: 'containers',
      data: ['[{"name":"a","state":"running"},{"name":"b","state":"running"}]'],
    });
    expect(viewer.texts()).toEqual(['a1', 'b2', 'a3', 'b3', 'b4', 'a5']);
    expect(viewer.lines()[1]).toEqual({ c: 1, t: timeAt(2), x: 'b2' });
  });

  test('lines merged by time also if a log is slow to open, but not if it takes too long', async () => {
    for (const [ms, texts] of [
      [300, ['a1', 'b2', 'a3', 'b4']],
      [900, ['a1', 'a3', 'b2', 'b4']],
    ] as const) {
      const [a, b] = [new MemoryContainer('a'), new MemoryContainer('b')];
      for (const at of [1, 3]) a.write(at, `a${at}`);
      for (const at of [2, 4]) b.write(at, `b${at}`);
      const viewer = view([a, b], { openMs: { b: ms } });
      void viewer.pump();
      await viewer.clock.advance(1_000);
      expect(viewer.texts()).toEqual(texts);
    }
  });

  test('the last lines, and everything that follows', async () => {
    const a = new MemoryContainer('a');
    a.write(1, ...numbers(0, 50));
    const viewer = view([a], { tail: 2 });
    void viewer.pump();
    await viewer.clock.advance(100);
    a.write(2, 'new');
    await viewer.clock.advance(100);
    expect(viewer.texts()).toEqual(['48', '49', 'new']);
  });

  test('lines since a time', async () => {
    const a = new MemoryContainer('a');
    a.write(1, 'old');
    a.write(2, 'new');
    const viewer = view([a], { follow: false, since: timeAt(2) });
    await viewer.clock.until(viewer.pump());
    expect(viewer.texts()).toEqual(['new']);
  });

  test('without follow, the log and its end', async () => {
    const a = new MemoryContainer('a');
    a.write(1, 'one');
    const viewer = view([a], { follow: false });
    await viewer.clock.until(viewer.pump());
    expect(viewer.texts()).toEqual(['one']);
    expect(viewer.events('end')).toEqual([{ why: 'The log is complete' }]);
  });

  test('the log of the previous instance', async () => {
    const a = new MemoryContainer('a');
    a.write(1, 'before');
    a.exit();
    a.start('a-2');
    a.write(2, 'after');
    const viewer = view([a], { previous: true });
    await viewer.clock.until(viewer.pump());
    expect(viewer.texts()).toEqual(['before']);
  });

  test('the log of the next instance after a restart', async () => {
    const a = new MemoryContainer('a');
    a.write(1, 'first');
    const viewer = view([a]);
    void viewer.pump();
    await viewer.clock.advance(100);
    a.exit();
    await viewer.clock.advance(2_000);
    a.start('a-2');
    a.write(3_000, 'second');
    await viewer.clock.advance(2_000);
    expect(viewer.texts()).toEqual(['first', 'second']);
    expect(viewer.events('containers').flat()).toContainEqual({ name: 'a', state: 'terminated' });
    expect(viewer.events('skipped')).toEqual([]);
  });

  test('the reason why a container has no log yet, and its log later', async () => {
    const a = new MemoryContainer('a');
    a.instances.length = 0;
    const viewer = view([a]);
    void viewer.pump();
    await viewer.clock.advance(100);
    expect(viewer.events('containers').at(-1)).toEqual([
      { name: 'a', state: 'terminated', problem: 'terminated' },
    ]);
    a.start('a-1');
    a.write(1, 'hello');
    await viewer.clock.advance(1_000);
    expect(viewer.texts()).toEqual(['hello']);
    expect(viewer.events('containers').at(-1)).toEqual([{ name: 'a', state: 'running' }]);
  });

  test('the end, once the pod has ended', async () => {
    const a = new MemoryContainer('a');
    a.write(1, 'bye');
    a.exit();
    a.isFinal = true;
    const viewer = view([a]);
    await viewer.clock.until(viewer.pump());
    expect(viewer.texts()).toEqual(['bye']);
    expect(viewer.events('end')).toEqual([{ why: 'The containers have ended' }]);
  });

  test('a comment every 15 seconds without output', async () => {
    const viewer = view([new MemoryContainer('a')]);
    void viewer.pump();
    await viewer.clock.advance(46_000);
    expect(viewer.messages.filter(({ bytes }) => bytes === 4)).toHaveLength(3);
  });
});

describe('a viewer that reconnects', () => {
  test('after five minutes gets every line once', async () => {
    const a = new MemoryContainer('a');
    const viewer = view([a]);
    const ended = viewer.pump();
    for (let index = 0; index < 310; index++) {
      a.write(index * 1_000, String(index));
      await viewer.clock.advance(1_000);
    }
    await ended;
    expect(viewer.events('end')).toEqual([
      { why: 'The stream has reached its longest duration', retryMs: 1_000 },
    ]);
    expect(a.open).toBe(0);
    const again = view([a], { id: viewer.lastId() });
    void again.pump();
    await again.clock.advance(100);
    expect([...viewer.texts(), ...again.texts()]).toEqual(numbers(0, 310));
  });

  test('at any line gets every line once, also of a container that was restarted meanwhile', async () => {
    const [a, b] = [new MemoryContainer('a'), new MemoryContainer('b')];
    for (let index = 0; index < 1_200; index++)
      (index % 3 === 0 ? b : a).write(Math.floor(index / 7), String(index));
    const first = view([a, b], { tail: 5_000 });
    for (let count = 0; count < 3; count++) await first.clock.until(first.next());
    const seen = first.texts();
    expect(seen.length).toBeLessThan(1_200);
    await first.stop();
    a.write(1_000, 'last of a');
    a.exit();
    a.start('a-2');
    a.write(2_000, 'first of a');
    const second = view([a, b], { id: first.lastId() });
    void second.pump();
    await second.clock.advance(5_000);
    const all = [...seen, ...second.texts()];
    expect(all.filter((text) => /^\d/.test(text)).toSorted((x, y) => Number(x) - Number(y))).toEqual(
      numbers(0, 1_200),
    );
    expect(all.filter((text) => !/^\d/.test(text))).toEqual(['last of a', 'first of a']);
    expect(second.events('skipped')).toEqual([]);
  });

  test('gets the times of what is missing if the instance it read is gone', async () => {
    const a = new MemoryContainer('a');
    a.write(1, 'seen');
    const first = view([a]);
    void first.pump();
    await first.clock.advance(100);
    await first.stop();
    a.write(2, 'lost');
    a.start('a-2');
    a.start('a-3');
    a.write(5, 'third');
    const second = view([a], { id: first.lastId() });
    void second.pump();
    await second.clock.advance(100);
    expect(second.texts()).toEqual(['third']);
    expect(second.events('skipped')).toEqual([{ container: 'a', from: timeAt(1), to: timeAt(5) }]);
  });
});

describe('bounds', () => {
  const text = 'x'.repeat(1_000);

  test('a log that grows faster than 1 MiB/s is skipped to its newest lines', async () => {
    const a = new MemoryContainer('a');
    const viewer = view([a]);
    void viewer.pump();
    for (let ms = 0; ms < 10_000; ms += 50) {
      // 10 MB/s.
      a.write(ms, ...Array.from({ length: 500 }, () => text));
      await viewer.clock.advance(50);
    }
    const sent = viewer.messages.reduce((sum, { bytes }) => sum + bytes, 0);
    expect(sent).toBeLessThan(12 * 1024 * 1024);
    expect(sent).toBeGreaterThan(8 * 1024 * 1024);
    expect(viewer.events('skipped').length).toBeGreaterThan(2);
    expect(viewer.lines().at(-1)?.t.localeCompare(timeAt(7_000))).toBe(1);
    const times = viewer.lines().map(({ t }) => t);
    expect(times).toEqual(times.toSorted());
  });

  test('messages have at most 64 KiB and 500 lines, also of control characters', async () => {
    const a = new MemoryContainer('a');
    a.write(1, ...Array.from({ length: 20 }, () => '\u0000'.repeat(20_000)), ...numbers(0, 900));
    const viewer = view([a], { follow: false });
    await viewer.clock.until(viewer.pump());
    expect(Math.max(...viewer.messages.map(({ bytes }) => bytes))).toBeLessThan(65 * 1024);
    expect(Math.max(...viewer.messages.map(({ data }) => data.length))).toBeLessThanOrEqual(500);
    expect(viewer.lines()[0]).toMatchObject({ cut: true });
    expect(viewer.texts().slice(20)).toEqual(numbers(0, 900));
  });

  test('HTML, escapes and line breaks of events are data', async () => {
    const a = new MemoryContainer('a');
    const hostile = [
      '<script>alert(1)</script>',
      '\u001b]52;c;eA==\u0007',
      'event: end',
      '\rdata: x',
      '\u2028id: y',
    ];
    a.write(1, ...hostile);
    const viewer = view([a], { follow: false });
    await viewer.clock.until(viewer.pump());
    expect(viewer.texts()).toEqual(hostile);
  });

  test('reads no further than a viewer that stops reading', async () => {
    const a = new MemoryContainer('a');
    a.write(1, ...Array.from({ length: 5_000 }, () => text));
    const viewer = view([a], { tail: 5_000 });
    await viewer.clock.until(viewer.next());
    await viewer.clock.until(viewer.next());
    expect(viewer.texts()).toHaveLength(61);
    a.write(2, ...Array.from({ length: 5_000 }, () => text));
    await viewer.clock.advance(60_000);
    expect(viewer.texts()).toHaveLength(61);
    expect(a.open).toBe(1);
    await viewer.stop();
    expect(a.open).toBe(0);
  });

  test('yields to other work while it encodes', async () => {
    const a = new MemoryContainer('a');
    a.write(1, ...numbers(0, 100));
    const clock = new FakeClock();
    let pauses = 0;
    // Every reading of the clock takes a millisecond.
    const monotonic = clock.monotonic.bind(clock);
    let readings = 0;
    clock.monotonic = () => monotonic() + readings++;
    const viewer = view([a], { clock, follow: false, pause: async () => void pauses++ });
    await clock.until(viewer.pump());
    expect(viewer.texts()).toEqual(numbers(0, 100));
    expect(pauses).toBeGreaterThan(30);
  });

  test('leaves nothing open when the client disconnects', async () => {
    const a = new MemoryContainer('a');
    a.write(1, 'x');
    const viewer = view([a]);
    void viewer.pump();
    await viewer.clock.advance(100);
    expect(a.open).toBe(1);
    await viewer.stop();
    await viewer.clock.advance(100);
    expect(a.open).toBe(0);
    expect(viewer.clock.pendingTimers()).toBe(0);
  });
});

import { validateHeaderValue } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RecordedSpans } from '../../../test/fakes/recorded-spans.ts';
import { realClock } from '../../base/clock.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import { inSpan } from '../../base/tracer.ts';

const scope = 's';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const sampled = { traceparent: `00-${traceId}-${parentId}-01` };
const unsampled = { traceparent: `00-${traceId}-${parentId}-00` };

describe('the parent of a span', () => {
  test('is the span in whose run it starts, also after awaits', async () => {
    const spans = new RecordedSpans();
    const { tracer } = spans;
    await inSpan(tracer, { scope, name: 'outer' }, async () => {
      await sleep(1);
      await inSpan(tracer, { scope, name: 'inner' }, () => sleep(1));
    });
    expect(spans.named('inner').parentId).toBe(spans.named('outer').spanId);
    expect(spans.named('inner').traceId).toBe(spans.named('outer').traceId);
    expect(spans.named('outer').parentId).toBeUndefined();
  });

  test('is not another span that runs at the same time', async () => {
    const spans = new RecordedSpans();
    const work = (name: string): Promise<void> =>
      inSpan(spans.tracer, { scope, name }, async () => {
        await sleep(1);
        await inSpan(spans.tracer, { scope, name: `child of ${name}` }, () => sleep(1));
      });
    await Promise.all([work('a'), work('b')]);
    for (const name of ['a', 'b'])
      expect(spans.named(`child of ${name}`).traceId).toBe(spans.named(name).traceId);
    expect(spans.named('a').traceId).not.toBe(spans.named('b').traceId);
  });

  test('is not a span that has ended', async () => {
    const spans = new RecordedSpans();
    const { tracer } = spans;
    const work = async (): Promise<void> => {
      await sleep(5);
      expect(tracer.headers()).toEqual({});
      tracer.start({ scope, name: 'late' }).end();
    };
    let late: Promise<void> = Promise.resolve();
    await inSpan(tracer, { scope, name: 'outer' }, async () => {
      late = work();
    });
    await late;
    expect(spans.named('late').parentId).toBeUndefined();
    expect(spans.named('late').traceId).not.toBe(spans.named('outer').traceId);
  });

  test('is no span for a run of a queue, even if its key was added in one', async () => {
    const spans = new RecordedSpans();
    const { tracer } = spans;
    const queue = new KeyedQueue<string>({
      clock: realClock,
      parallel: 1,
      backoff: { initialMs: 1, maxMs: 1 },
      run: async () => tracer.start({ scope, name: 'run' }).end(),
    });
    queue.start();
    await inSpan(tracer, { scope, name: 'adds' }, async () => {
      queue.add('key');
      while (spans.names().length === 0) await sleep(1);
    });
    await queue.stop();
    expect(spans.named('run').parentId).toBeUndefined();
  });

  test('is the captured span for work that another loop does', async () => {
    const spans = new RecordedSpans();
    const { tracer } = spans;
    const outer = tracer.start({ scope, name: 'outer' });
    const inTrace = outer.run(() => tracer.capture());
    await sleep(1);
    inTrace(() => tracer.start({ scope, name: 'inner' }).end());
    outer.end();
    expect(spans.named('inner').parentId).toBe(spans.named('outer').spanId);
  });

  test('can be excluded', async () => {
    const spans = new RecordedSpans();
    await inSpan(spans.tracer, { scope, name: 'outer' }, () =>
      inSpan(spans.tracer, { scope, name: 'inner', origin: 'new' }, () => sleep(1)),
    );
    expect(spans.named('inner').parentId).toBeUndefined();
  });
});

describe('the trace of a request', () => {
  test('is continued', () => {
    const spans = new RecordedSpans();
    spans.tracer.start({ scope, name: 'n', origin: { continues: sampled } }).end();
    expect(spans.named('n')).toMatchObject({ traceId, parentId });
  });

  test('is not recorded if its caller does not sample it, but is passed on', () => {
    const spans = new RecordedSpans();
    const span = spans.tracer.start({ scope, name: 'n', origin: { continues: unsampled } });
    const headers = span.run(() => spans.tracer.headers());
    span.end();
    expect(spans.names()).toEqual([]);
    expect(headers['traceparent']).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`));
  });

  test('is linked if it is not trusted, and does not decide about sampling', () => {
    const spans = new RecordedSpans();
    spans.tracer.start({ scope, name: 'n', origin: { follows: unsampled } }).end();
    expect(spans.named('n')).toMatchObject({ parentId: undefined, links: [traceId] });
    expect(spans.named('n').traceId).not.toBe(traceId);
  });

  const invalid = [
    '',
    'x'.repeat(20_000),
    `00-${'0'.repeat(32)}-${parentId}-01`,
    `ff-${traceId}-${parentId}-01`,
  ];
  for (const traceparent of invalid) {
    test(`is a new one for the header ${traceparent.slice(0, 40)}`, () => {
      const spans = new RecordedSpans();
      spans.tracer.start({ scope, name: 'n', origin: { continues: { traceparent } } }).end();
      expect(spans.named('n')).toMatchObject({ parentId: undefined });
    });
  }
});

test('passes tracestate and baggage on', () => {
  const { tracer } = new RecordedSpans();
  const received = { ...sampled, tracestate: 'vendor=1', baggage: 'tenant=a' };
  const span = tracer.start({ scope, name: 'n', origin: { continues: received } });
  expect(span.run(() => tracer.headers())).toEqual({
    traceparent: expect.stringContaining(traceId),
    tracestate: 'vendor=1',
    baggage: 'tenant=a',
  });
  span.end();
});

test('passes nothing on that a header cannot hold, whatever its client sends', () => {
  const { tracer } = new RecordedSpans();
  const parts = [
    '%',
    '%zz',
    '%0A',
    '%00',
    '%C3',
    '=',
    ';',
    ',',
    ';p=',
    'a',
    '9',
    ' ',
    '\t',
    '"',
    '\u0080',
    '\u00ff',
  ];
  const text = fc.array(fc.constantFrom(...parts), { maxLength: 30 }).map((each) => each.join(''));
  fc.assert(
    fc.property(text, text, fc.boolean(), (tracestate, baggage, twice) => {
      const given = twice
        ? { tracestate: [tracestate, tracestate], baggage: [baggage, baggage] }
        : { tracestate, baggage };
      const span = tracer.start({ scope, name: 'n', origin: { continues: { ...sampled, ...given } } });
      const headers = span.run(() => tracer.headers());
      span.end();
      for (const [name, value] of Object.entries(headers)) validateHeaderValue(name, value);
    }),
    { numRuns: 500, seed: 20_261_119 },
  );
});

test('has no headers outside a span', () => {
  expect(new RecordedSpans().tracer.headers()).toEqual({});
});

test('records an error as event and status', () => {
  const spans = new RecordedSpans();
  const span = spans.tracer.start({ scope, name: 'n' });
  span.fail(new Error('outer', { cause: new Error('inner') }));
  span.end();
  span.end();
  expect(spans.ended()).toMatchObject([{ error: 'outer: inner', events: ['exception'] }]);
});

test('marks a span as failed without an event', () => {
  const spans = new RecordedSpans();
  for (const message of [undefined, 'no']) {
    const span = spans.tracer.start({ scope, name: 'n' });
    span.markFailed(message);
    span.end();
  }
  expect(spans.ended()).toMatchObject([
    { error: '', events: [] },
    { error: 'no', events: [] },
  ]);
});

test('two tracers in one process do not share traces', () => {
  const one = new RecordedSpans();
  const other = new RecordedSpans();
  one.tracer.start({ scope, name: 'a' }).run(() => other.tracer.start({ scope, name: 'b' }).end());
  expect(other.named('b').parentId).toBeUndefined();
});

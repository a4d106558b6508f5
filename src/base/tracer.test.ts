import { describe, expect, test } from 'vitest';
import { Aborted } from './errors.ts';
import { endWith, inSpan, type Span, type Tracer } from './tracer.ts';

/** A tracer that notes what happens to its spans. */
function notes() {
  const noted: string[] = [];
  const span: Span = {
    set: () => undefined,
    fail: (err) => void noted.push(`failed: ${(err as Error).message}`),
    markFailed: (message) => void noted.push(`marked: ${message}`),
    run: (work) => work(),
    end: () => void noted.push('ended'),
  };
  const tracer: Tracer = {
    start: ({ name }) => {
      noted.push(`started ${name}`);
      return span;
    },
    headers: () => ({}),
    capture: () => (work) => work(),
  };
  return { noted, span, tracer };
}

const start = { scope: 's', name: 'n' };

describe('inSpan', () => {
  test('ends the span after the work', async () => {
    const { noted, tracer } = notes();
    expect(await inSpan(tracer, start, async () => noted.push('worked'))).toBe(2);
    expect(noted).toEqual(['started n', 'worked', 'ended']);
  });

  test('records a failure and passes it on', async () => {
    const { noted, tracer } = notes();
    await expect(inSpan(tracer, start, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(noted).toEqual(['started n', 'failed: no', 'ended']);
  });

  test('does not count an abort as a failure', async () => {
    const { noted, tracer } = notes();
    await expect(inSpan(tracer, start, () => Promise.reject(new Aborted('stop')))).rejects.toThrow('stop');
    expect(noted).toEqual(['started n', 'ended']);
  });

  test('works without a tracer', async () => {
    expect(await inSpan(undefined, start, async () => 7)).toBe(7);
  });
});

describe('endWith', () => {
  async function* items(fault?: Error): AsyncGenerator<number> {
    yield 1;
    yield 2;
    if (fault !== undefined) throw fault;
  }

  test('ends the span after the last item', async () => {
    const { noted, span } = notes();
    const seen: number[] = [];
    for await (const item of endWith(items(), span)) {
      expect(noted).toEqual([]);
      seen.push(item);
    }
    expect([seen, noted]).toEqual([[1, 2], ['ended']]);
  });

  test('ends the span when the reader leaves', async () => {
    const { noted, span } = notes();
    for await (const item of endWith(items(), span)) if (item === 1) break;
    expect(noted).toEqual(['ended']);
  });

  test('ends the span if nothing was read', async () => {
    const { noted, span } = notes();
    await endWith(items(), span)[Symbol.asyncIterator]().return?.();
    expect(noted).toEqual(['ended']);
  });

  test('marks the span as failed by an error of the source', async () => {
    const { noted, span } = notes();
    const read = async (): Promise<void> => {
      for await (const _ of endWith(items(new Error('torn')), span));
    };
    await expect(read()).rejects.toThrow('torn');
    expect(noted).toEqual(['marked: torn', 'ended']);
  });
});

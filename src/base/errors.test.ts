import { describe, expect, test } from 'vitest';
import { Aborted, describeError, isAbort, isAbortOf, isKind, KubeletError } from './errors.ts';

const pullFailed = new KubeletError('unavailable', 'ErrImagePull', 'image pull failed', {
  cause: new Error('connection refused'),
  details: { image: 'busybox' },
});

describe('KubeletError', () => {
  test('keeps kind, reason, details and cause', () => {
    const { kind, reason, message, details, cause } = pullFailed;
    expect({ kind, reason, message, details, cause }).toEqual({
      kind: 'unavailable',
      reason: 'ErrImagePull',
      message: 'image pull failed',
      details: { image: 'busybox' },
      cause: new Error('connection refused'),
    });
    expect(pullFailed.stack).toContain('errors.test.ts');
  });

  test('has no cause property unless one was given', () => {
    expect('cause' in new KubeletError('internal', 'X', 'x')).toBe(false);
    expect(new KubeletError('internal', 'X', 'x').details).toEqual({});
  });

  test('isKind', () => {
    expect(isKind(pullFailed, 'unavailable')).toBe(true);
    expect(isKind(pullFailed, 'timeout')).toBe(false);
    expect(isKind({ kind: 'unavailable' }, 'unavailable')).toBe(false);
  });
});

describe('isAbort', () => {
  const plainAbort = new AbortController();
  plainAbort.abort();
  const cases: [string, unknown, boolean][] = [
    ['an Aborted reason', new Aborted('stopping'), true],
    ['the default reason of abort()', plainAbort.signal.reason, true],
    ["Node's AbortError", Object.assign(new Error('x'), { name: 'AbortError', code: 'ABORT_ERR' }), true],
    ['AbortSignal.timeout is a failure', new DOMException('slow', 'TimeoutError'), false],
    ['a timeout', new KubeletError('timeout', 'DeadlineExceeded', 'slow'), false],
    ['an error caused by an abort', new Error('broken', { cause: new Aborted('x') }), false],
    ['the string', 'AbortError', false],
    ['nothing', undefined, false],
  ];
  test.each(cases)('%s', (_name, err, want) => expect(isAbort(err)).toBe(want));
});

describe('isAbortOf', () => {
  const reason = new KubeletError('timeout', 'X', 'superseded');
  const aborted = AbortSignal.abort(reason);
  const loop = new Error('a');
  loop.cause = new Error('b', { cause: loop });
  const cases: [string, unknown, AbortSignal, boolean][] = [
    ['the reason itself', reason, aborted, true],
    [
      'the reason, wrapped twice',
      new Error('a', { cause: new Error('b', { cause: reason }) }),
      aborted,
      true,
    ],
    ['any abort, wrapped', new Error('a', { cause: new Aborted('b') }), aborted, true],
    ['another error', new Error('disk full'), aborted, false],
    ['a cycle of causes', loop, aborted, false],
    ['an abort of another signal', new Aborted('b'), new AbortController().signal, false],
  ];
  test.each(cases)('%s', (_name, err, signal, want) => expect(isAbortOf(err, signal)).toBe(want));
});

describe('describeError', () => {
  const circle = new Error('outer');
  circle.cause = new Error('inner', { cause: circle });
  const unreadable = Object.defineProperty(new Error('x'), 'message', {
    get() {
      throw new Error('no');
    },
  });
  const cases: [string, unknown, string][] = [
    ['one message', new Error('disk full'), 'disk full'],
    ['the chain', pullFailed, 'image pull failed: connection refused'],
    ['three causes', new Error('a', { cause: new Error('b', { cause: new Error('c') }) }), 'a: b: c'],
    [
      'a cause already in the message',
      new Error('open x: ENOENT', { cause: new Error('ENOENT') }),
      'open x: ENOENT',
    ],
    [
      'a message already in the cause',
      new Error('no space', { cause: new Error('write f: no space') }),
      'write f: no space',
    ],
    ['a cause that is a string', new Error('a', { cause: 'b' }), 'a: b'],
    ['a cycle of causes', circle, 'outer: inner'],
    ['several lines', new Error('first\n  second\r\nthird\n'), 'first second third'],
    ['no message', new TypeError(''), 'TypeError'],
    [
      'several errors',
      new AggregateError([new Error('a'), new Error('b'), new Error('a')], 'all failed'),
      'all failed: [a, b]',
    ],
    ['several errors without a message', new AggregateError([new Error('a')]), '[a]'],
    ['a message that throws', unreadable, 'error without a readable message'],
    ['a string', 'went wrong', 'went wrong'],
    ['a number', 7, '7'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a symbol', Symbol('s'), 'Symbol(s)'],
    ['an object with a message', { code: 5, message: 'not found' }, 'not found'],
    ['an object', { code: 5 }, '{"code":5}'],
    ['an object JSON cannot hold', { n: 1n }, '[object Object]'],
  ];
  test.each(cases)('%s', (_name, err, want) => expect(describeError(err)).toBe(want));

  test('bounds the length', () => {
    const long = describeError(new Error('x'.repeat(100_000)));
    expect(long).toHaveLength(4096);
    expect(long.endsWith('…')).toBe(true);
  });

  // Without a bound: 8^16 descriptions.
  test('bounds nested AggregateErrors', () => {
    let err = new AggregateError([new Error('leaf')], 'top');
    for (let i = 0; i < 40; i++) err = new AggregateError(Array(8).fill(err), `level ${i}`);
    expect(describeError(err).length).toBeLessThanOrEqual(4096);
  });

  test('keeps blanks within a line and collapses those around a line break', () => {
    expect(describeError(new Error('a  b \t\n\n  c\u2028d\v'))).toBe('a  b c d');
  });

  // A regular expression that matches blanks before a line break takes hours for these.
  const megabyte = 1024 * 1024;
  const hostile: readonly (readonly [string, unknown, string])[] = [
    ['blanks in a message', new Error(`x${' '.repeat(megabyte)}y`), 'x'],
    ['tabs in a cause', new Error('outer', { cause: new Error(`x${'\t'.repeat(megabyte)}y`) }), 'outer: x'],
    ['vertical tabs in text', `x${'\v'.repeat(megabyte)}y`, 'x'],
    ['blanks in one of several errors', new AggregateError([`x${' '.repeat(megabyte)}y`], 'all'), 'all: [x'],
    ['blanks before a list of errors', new AggregateError(['a'], `x${' '.repeat(megabyte)}y`), 'x'],
    ['blanks in an object', { a: `x${' '.repeat(megabyte)}y` }, '{"a":"x'],
    ['line breaks', `x${'\n'.repeat(megabyte)}y`, 'x'],
  ];
  test.each(hostile)('describes a megabyte of %s in linear time', (_name, err, want) => {
    const text = describeError(err);
    expect(text.startsWith(want)).toBe(true);
    expect(text.length).toBeLessThanOrEqual(4096);
  });

  test('reads no more of a thrown object than it prints', () => {
    let read = 0;
    const member = { toJSON: () => void (read += 1) };
    describeError({ list: Array.from({ length: 100_000 }, () => member) });
    describeError(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`k${at}`, member])));
    expect(read).toBeLessThan(1_000);
    expect(describeError(Buffer.alloc(megabyte))).toBe('<1048576 bytes>');
  });
});

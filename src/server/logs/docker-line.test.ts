import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { maxDockerLineBytes, readDockerLine } from './docker-line.ts';

const read = (text: string): ReturnType<typeof readDockerLine> => {
  const bytes = Buffer.from(text);
  return readDockerLine(bytes, 0, bytes.length);
};

describe('readDockerLine', () => {
  test('reads the same as JSON.parse, with any other fields', () => {
    const line = fc.record(
      {
        log: fc.string({ unit: 'binary', maxLength: 40 }),
        stream: fc.constantFrom('stdout', 'stderr'),
        time: fc.string(),
        attrs: fc.jsonValue({ maxDepth: 2 }),
        x: fc.jsonValue({ maxDepth: 2 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(line, fc.constantFrom('', '\n', '  \r\n'), (value, end) => {
        // As Docker: lone surrogates become U+FFFD in UTF-8.
        const bytes = Buffer.from(`${JSON.stringify(value)}${end}`);
        const { log = '', stream, time } = JSON.parse(bytes.toString()) as typeof value;
        expect(readDockerLine(bytes, 0, bytes.length)).toEqual({ log, stream, time });
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ['{}', { log: '', stream: undefined, time: undefined }],
    ['{"log":null,"stream":"stdout"}', { log: '', stream: 'stdout', time: undefined }],
    ['{"log":"\\u00e4\\/\\b","stream":"x"}', { log: 'ä/\b', stream: 'x', time: undefined }],
    ['{ "log" : "a" , "n" : [1,{"b":"]"}] }', { log: 'a', stream: undefined, time: undefined }],
    ['{', undefined],
    ['{"log":"a"', undefined],
    ['{"log":"a"}}', undefined],
    ['{"log":"a",}', undefined],
    ['{"log":1}', undefined],
    ['{"log":"\\q"}', undefined],
    ['{"log":"\\u12"}', undefined],
    ['{"log":"a\u0001"}', undefined],
    ['{"log":"a\\"}', undefined],
    ['{"a":}', undefined],
    ['{"a" "b"}', undefined],
    [`{"log":"${'a'.repeat(maxDockerLineBytes)}"}`, undefined],
  ])('%j', (text, want) => expect(read(text)).toEqual(want));

  test('rejects invalid lines without calling JSON.parse', () => {
    const parse = vi.spyOn(JSON, 'parse');
    read('{"log":"\\q"}');
    read('{');
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });
});

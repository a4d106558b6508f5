import { expect, test } from 'vitest';
import { serverSentEvents } from './event-stream.ts';

async function decode(chunks: readonly string[]): Promise<readonly (readonly [string, string])[]> {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const chunk of chunks) yield Buffer.from(chunk, 'latin1');
  }
  const events: (readonly [string, string])[] = [];
  for await (const { data, name } of serverSentEvents(bytes())) events.push([name, data]);
  return events;
}

const stream =
  ': hi\nretry: 100\n\nevent: hello\ndata: {"a":1}\n\ndata:x\r\ndata: y\r\n\r\nevent: lost\n\ndata: end';
const events = [
  ['hello', '{"a":1}'],
  ['message', 'x\ny'],
];

test('decodes names and data, and skips comments, other fields and an unfinished event', async () =>
  expect(await decode([stream])).toEqual(events));

test('at any chunk boundary', async () => {
  expect(await decode(Array.from(stream))).toEqual(events);
  for (let at = 0; at < stream.length; at++)
    expect(await decode([stream.slice(0, at), stream.slice(at)])).toEqual(events);
});

test('a character that is split between chunks', async () => {
  const bytes = Buffer.from('data: ä\n\n').toString('latin1');
  expect(await decode(Array.from(bytes))).toEqual([['message', 'ä']]);
});

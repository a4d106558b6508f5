import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { HttpResponse } from '../../api/ports/http.ts';
import { MemoryContainer } from './fixtures/memory-containers.ts';
import { uiLogsHandler } from './ui-logs.ts';

const containers = [new MemoryContainer('a'), new MemoryContainer('b')];
containers[0]?.write(1, 'from a');
containers[1]?.write(2, 'from b');

function handler(clock = new FakeClock()) {
  const handle = uiLogsHandler({
    look: (namespace, pod) =>
      namespace === 'ns' && pod === 'web' ? containers.map((each) => each.seen()) : undefined,
    openLog: ({ container }, query, signal) =>
      containers.find(({ name }) => name === container)?.log(query, signal) ?? {
        status: 404,
        headers: {},
        body: '',
      },
    clock,
    pause: () => Promise.resolve(),
  });
  return (query: string, signal = new AbortController().signal, pod = 'web'): HttpResponse =>
    handle({
      params: { podNamespace: 'ns', podID: pod },
      query: new URLSearchParams(query),
      headers: {},
      signal,
    });
}

const rejected: readonly (readonly [query: string, pod: string, want: string])[] = [
  ['', 'other', '404 pod "other" does not exist\n'],
  ['containers=a,x', 'web', '404 container "x" not found\n'],
  ['tail=-1', 'web', '400 tail="-1" is not a number of lines\n'],
  ['tail=all', 'web', '400 tail="all" is not a number of lines\n'],
  ['since=yesterday', 'web', '400 since="yesterday" is not a time\n'],
];
for (const [query, pod, want] of rejected) {
  test(`rejects ${query === '' ? pod : query}`, () => {
    const { body, status } = handler()(query, undefined, pod);
    expect(`${status} ${String(body)}`).toBe(want);
  });
}

async function textOf({ body }: HttpResponse): Promise<string> {
  let text = '';
  for await (const chunk of body as AsyncIterable<Uint8Array>) text += Buffer.from(chunk).toString();
  return text;
}

const selections = [
  ['', ['from a', 'from b']],
  ['containers=b', ['from b']],
  ['containers=b,b,a&tail=5', ['from b', 'from a']],
] as const;
for (const [query, want] of selections) {
  test(`sends the containers of "${query}" as server-sent events`, async () => {
    const clock = new FakeClock();
    const answer = handler(clock)(query);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toMatch(/^text\/event-stream/);
    const text = await clock.until(textOf(answer));
    for (const each of want) expect(text).toContain(`"x":"${each}"`);
    expect(text.match(/"x":/g)).toHaveLength(want.length);
  });
}

test('at most 32 streams at once; one that ends makes room, even one that nobody has read', async () => {
  const open = handler();
  const aborts = Array.from({ length: 32 }, () => new AbortController());
  for (const { signal } of aborts) expect(open('follow=true', signal).status).toBe(200);
  expect(open('').status).toBe(429);
  aborts[0]?.abort();
  expect(open('').status).toBe(200);
  for (const abort of aborts) abort.abort();
});

import { expect, test } from 'vitest';
import { asResponse, httpRequest } from './fixtures/requests.ts';
import { type HistorySource, historyHandler } from './history-handler.ts';

async function ask(query: string, read: HistorySource['read']) {
  const request = { ...httpRequest(`GET /explain/history${query}`), params: {} };
  return asResponse(await historyHandler({ read })(request));
}

test.each([
  ['', { limit: 100 }],
  ['?limit=1000', { limit: 1000 }],
  ['?pod=default/web', { namespace: 'default', pod: 'web', limit: 100 }],
  ['?pod=default%2Fweb&limit=1', { namespace: 'default', pod: 'web', limit: 1 }],
  ['?uid=u1&limit=5', { uid: 'u1', limit: 5 }],
])('the query %j is %o', async (query, want) => {
  let got: unknown;
  const { body, status } = await ask(query, async (parsed) => {
    got = parsed;
    return { lines: ['{"id":"b"}', '{"id":"a"}'], more: true };
  });
  expect([status, body]).toEqual([200, '{"records":[{"id":"b"},{"id":"a"}],"more":true}\n']);
  expect(got).toEqual(want);
});

test.each([
  ['?limit=0', 'limit must be a whole number from 1 to 1000\n'],
  ['?limit=1001', 'limit must be a whole number from 1 to 1000\n'],
  ['?limit=1e3', 'limit must be a whole number from 1 to 1000\n'],
  ['?limit=', 'limit must be a whole number from 1 to 1000\n'],
  ['?limit=1&limit=2', 'limit is set more than once\n'],
  ['?pod=web', 'pod must be NAMESPACE/NAME\n'],
  ['?pod=/web', 'pod must be NAMESPACE/NAME\n'],
  ['?pod=a/b/c', 'pod must be NAMESPACE/NAME\n'],
  [`?pod=a/${'b'.repeat(254)}`, 'pod must be NAMESPACE/NAME\n'],
  ['?uid=', 'uid must be the UID of a pod\n'],
  ['?pods=a/b', 'unknown parameter; use pod, uid, limit\n'],
])('the query %j is refused', async (query, want) => {
  const { body, status } = await ask(query, () => Promise.reject(new Error('nothing is read')));
  expect([status, body]).toEqual([400, want]);
});

test('a history that cannot be read is reported', async () => {
  const { body, status } = await ask('', () => Promise.reject(new Error('input/output error')));
  expect([status, body]).toEqual([500, 'Failed to read the history: input/output error\n']);
});

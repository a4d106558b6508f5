import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import type { ApiClient } from '../api/ports/api-client.ts';
import { KubeletError } from '../base/errors.ts';
import { ControlPlane } from './control-plane.ts';
import { keptClient } from './kept-client.ts';
import type { KeptState } from './kept-state.ts';

const unreachable = new KubeletError('unavailable', 'Unreachable', 'no route to host');
const { signal } = new AbortController();
const secret = '/api/v1/namespaces/ns/secrets/s';

function setUp(over: Partial<ApiClient>, kept: Partial<KeptState> = {}) {
  const clock = new FakeClock();
  const plane = new ControlPlane(clock);
  const record: string[] = [];
  const client = keptClient(over as ApiClient, {
    plane,
    keepSecrets: true,
    kept: {
      noteEnd: (pod) => void record.push(`end ${pod.metadata?.name}`),
      object: async () => ({ object: { metadata: { name: 'kept' } } }),
      record: ({ key }) => void record.push(`record ${key}`),
      recordAbsent: ({ key }) => void record.push(`absent ${key}`),
      ...kept,
    },
  });
  return { clock, plane, client, record };
}

async function cutOff(clock: FakeClock, plane: ControlPlane): Promise<void> {
  await plane.start(signal);
  await clock.advance(3_000);
}

test('answers of the server are passed on and recorded', async () => {
  const { client, record } = setUp({ get: async <T>() => ({ metadata: { name: 's' } }) as T });
  expect(await client.get(secret, { signal })).toEqual({ metadata: { name: 's' } });
  await client.get('/api/v1/nodes/n', { signal });
  expect(record).toEqual(['record ns/s']);
});

test('an object that the server does not have is recorded as absent', async () => {
  const missing = new KubeletError('not-found', 'NotFound', 'no such secret', { details: { code: 404 } });
  const { client, record } = setUp({ get: () => Promise.reject(missing) });
  await expect(client.get(secret, { signal })).rejects.toBe(missing);
  expect(record).toEqual(['absent ns/s']);
});

test('a request in progress is answered from disk as soon as the server counts as unreachable', async () => {
  const { client, clock, plane } = setUp({ get: () => new Promise(() => undefined) });
  const answer = client.get(secret, { signal });
  await cutOff(clock, plane);
  expect(await answer).toEqual({ metadata: { name: 'kept' } });
});

test('without a cut-off a failed request is an error', async () => {
  const { client } = setUp({ get: () => Promise.reject(unreachable) });
  await expect(client.get(secret, { signal })).rejects.toBe(unreachable);
});

test('a disk that hangs holds no caller beyond its signal', async () => {
  const { client, clock, plane } = setUp({}, { object: () => new Promise(() => undefined) });
  await cutOff(clock, plane);
  const caller = new AbortController();
  const answer = client.get(secret, { signal: caller.signal });
  caller.abort(new Error('the pod is gone'));
  await expect(answer).rejects.toThrow('the pod is gone');
});

test("the end of a pod is noted with the server's answer, before its watch delivers it", async () => {
  const pod: Pod = { metadata: { name: 'p' }, status: { phase: 'Failed' } };
  const { client, record } = setUp({ patch: async <T>() => pod as T });
  expect(await client.patch('/api/v1/namespaces/ns/pods/p/status', 'strategic', {}, { signal })).toBe(pod);
  await client.patch('/api/v1/nodes/n/status', 'strategic', {}, { signal });
  expect(record).toEqual(['end p']);
});

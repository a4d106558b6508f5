import { expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod, PodStatus } from '../api/k8s/types.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';
import { Channel } from '../base/channel.ts';
import { silentLogger } from '../base/log/log.ts';
import { KeptState } from './kept-state.ts';
import type { KeptRecords } from './load-records.ts';

const configMap = { kind: 'configmaps', key: 'ns/conf' } as const;
const pod: Pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u', resourceVersion: '1' },
  spec: { containers: [{ name: 'c', image: 'i', envFrom: [{ configMapRef: { name: 'conf' } }] }] },
  status: { phase: 'Running' },
};

async function setUp(load: KeptRecords['load'] = async () => undefined) {
  const clock = new FakeClock();
  const texts = new Map<string, string>();
  const statuses = new Map<PodUid, PodStatus>();
  const state = new KeptState({
    keepSecrets: true,
    clock,
    log: silentLogger,
    statuses: { get: (uid) => statuses.get(uid), changed: new Channel<PodUid>() },
    records: {
      open: async () => undefined,
      load,
      read: async (kind, key) => texts.get(`${kind} ${key}`),
      write: async (kind, key, text) => void texts.set(`${kind} ${key}`, text),
      remove: async (kind, key) => void texts.delete(`${kind} ${key}`),
      forgetSecrets: async () => undefined,
      forgetAll: async () => false,
    },
  });
  await clock.until(state.start(new AbortController().signal));
  state.replaceCollection('pods', [pod]);
  await clock.advance(1_000);
  return { clock, state, texts, statuses };
}

test('a record that was lost is written again with the next answer, also of the same version', async () => {
  const { clock, state, texts } = await setUp();
  const answer = { metadata: { name: 'conf', resourceVersion: '7' }, data: { a: '1' } };
  state.record(configMap, answer);
  await clock.advance(1_000);
  texts.delete('configmaps ns/conf');
  expect(await state.object(configMap)).toBe('unkept');
  state.record(configMap, answer);
  await clock.advance(1_000);
  expect(await state.object(configMap)).toEqual({ object: answer });
});

test('the end of a pod that the API server answers is written at once; that of a pod it has deleted is not', async () => {
  const { clock, state, texts } = await setUp();
  const ended: Pod = { ...pod, status: { phase: 'Failed', reason: 'Terminated' } };
  state.noteEnd(ended);
  await clock.advance(0);
  expect(JSON.parse(texts.get('pods u') ?? '{}')).toMatchObject({ status: { phase: 'Failed' } });
  state.removeFrom('pods', pod);
  state.noteEnd(ended);
  await clock.advance(1_000);
  expect([texts.has('pods u'), state.podCount()]).toEqual([false, 0]);
});

test('a slow disk delays the start by ten seconds, and what it returns later is used unless the server has answered', async () => {
  const onDisk = (version: string): string =>
    JSON.stringify({ metadata: { name: 'conf', resourceVersion: version } });
  let release = (): void => undefined;
  const slow = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { clock, state, texts } = await setUp(async (kind, use) => {
    if (kind !== 'configmaps') return;
    await slow;
    for (const key of ['ns/conf', 'ns/other']) use(key, onDisk('1'));
  });
  expect(clock.monotonic()).toBe(11_000);
  state.record(configMap, { metadata: { name: 'conf', resourceVersion: '2' } });
  await clock.advance(1_000);
  release();
  await clock.advance(0);
  texts.set('configmaps ns/other', onDisk('1'));
  const versions = await Promise.all(
    ['ns/conf', 'ns/other'].map((key) => state.object({ kind: 'configmaps', key })),
  );
  expect(versions).toMatchObject(
    ['2', '1'].map((version) => ({ object: { metadata: { resourceVersion: version } } })),
  );
});

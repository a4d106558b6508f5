// Streaming lists against the fake runtime behind a real socket.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failureOf } from '../../../test/fake-cri/failure-of.ts';
import { FakeCri } from '../../../test/fake-cri/fake-cri.ts';
import { rpcError } from '../../../test/fake-cri/rpc-error.ts';
import { SocketRig } from '../../../test/fake-cri/socket-rig.ts';
import { Container, StreamContainersResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { realClock } from '../../base/clock.ts';
import type { CriObservation } from './caller.ts';
import type { CriClient, CriClientOptions } from './client.ts';

let rig: SocketRig;
let observed: CriObservation[];
let logged: unknown[];

beforeEach(async () => {
  rig = await SocketRig.make();
  observed = [];
  logged = [];
});

afterEach(() => rig.end());

function connect(options: Partial<CriClientOptions> = {}): CriClient {
  return rig.connect({
    observe: (observation) => observed.push(observation),
    streamLists: { log: { info: (message, values) => logged.push([message, values]) } },
    ...options,
  });
}

async function fakeWithPods(streamsLists: boolean, count = 5): Promise<FakeCri> {
  const cri = new FakeCri({ clock: realClock, streamsLists });
  rig.atEnd(() => cri.close());
  for (let index = 0; index < count; index++) {
    const metadata = { name: `p${index}`, namespace: 'ns', uid: `u${index}`, attempt: 0 };
    await cri.runPodSandbox({ config: { metadata, labels: { even: String(index % 2 === 0) } } });
  }
  await rig.serve(cri);
  return cri;
}

async function* containersUntil(count: number): AsyncGenerator<StreamContainersResponse> {
  for (let index = 0; index < count; index++)
    yield StreamContainersResponse.fromPartial({ containers: [{ id: `c${index}` }] });
}

describe('a runtime with streaming lists', () => {
  test('returns the same lists as the unary calls, with filters', async () => {
    await fakeWithPods(true);
    const [streaming, unary] = [connect(), rig.connect()];
    const filter = { labelSelector: { even: 'true' } };
    expect((await streaming.listPodSandbox({ filter })).items).toHaveLength(3);
    expect(await streaming.listPodSandbox({ filter })).toEqual(await unary.listPodSandbox({ filter }));
    expect(await streaming.listContainers({})).toEqual({ containers: [] });
    expect((await streaming.listPodSandboxStats({})).stats).toHaveLength(5);
    expect((await streaming.listContainerStats({})).stats).toEqual([]);
    expect(await streaming.listImages({})).toEqual(await unary.listImages({}));
    expect(logged).toEqual([]);
  });

  test('observes a streamed list as the operation of its unary twin', async () => {
    await fakeWithPods(true);
    await connect().listPodSandbox({});
    expect(observed.map(({ operation, error }) => [operation, error])).toEqual([
      ['list_podsandbox', undefined],
    ]);
  });

  test('returns a list that exceeds one message', async () => {
    const large = 'x'.repeat(1024 * 1024);
    await rig.serve({
      async *streamContainers() {
        for (let index = 0; index < 20; index++)
          yield StreamContainersResponse.fromPartial({
            containers: [{ id: `c${index}`, labels: { large } }],
          });
      },
    });
    const { containers } = await connect().listContainers({});
    expect(containers.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, index) => `c${index}`));
  });

  test('discards what arrived before an error, and stays with streams', async () => {
    const cri = await fakeWithPods(true);
    const broken = rpcError('UNAVAILABLE', 'store is locked');
    cri.faults.fail('streamPodSandboxes', broken, { when: 'after' });
    const client = connect();
    expect(await failureOf(client.listPodSandbox({}))).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('store is locked'),
    });
    expect(observed[0]).toMatchObject({ operation: 'list_podsandbox', error: { kind: 'unavailable' } });
    expect((await client.listPodSandbox({})).items).toHaveLength(5);
    expect(logged).toEqual([]);
  });

  test('applies one deadline to the whole stream, though messages keep arriving', async () => {
    let sent = 0;
    await rig.serve({
      async *streamContainers(_request, { signal }) {
        for (;;) {
          await realClock.sleep(20, signal);
          sent += 1;
          yield* containersUntil(1);
        }
      },
    });
    const started = realClock.monotonic();
    const err = await failureOf(connect().listContainers({}, { timeoutMs: 200 }));
    expect(err).toMatchObject({ kind: 'timeout', details: { method: 'StreamContainers' } });
    expect(realClock.monotonic() - started).toBeLessThan(2000);
    expect(sent).toBeGreaterThan(1);
  });

  test('rejects a stream without end', async () => {
    const many = Array.from({ length: 1000 }, (_, index) => Container.fromPartial({ id: `c${index}` }));
    await rig.serve({
      async *streamContainers(_request, { signal }) {
        for (;;) {
          await realClock.sleep(0, signal);
          yield { containers: many };
        }
      },
    });
    const err = await failureOf(connect().listContainers({}));
    expect(err.message).toBe('the runtime sent more than 200000 items on streamContainers');
  });

  test('ends with the reason of an abort', async () => {
    await rig.serve({
      async *streamContainers(_request, { signal }) {
        yield* containersUntil(1);
        await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      },
    });
    const abort = new AbortController();
    const listing = connect()
      .listContainers({}, { signal: abort.signal })
      .catch((err: unknown) => err);
    await realClock.sleep(50);
    const reason = new Error('stop');
    abort.abort(reason);
    expect(await listing).toBe(reason);
  });
});

describe('a runtime without streaming lists', () => {
  test('is streamed from once per service, then called unary for good', async () => {
    let asked = 0;
    const cri = await fakeWithPods(false);
    const count = <T extends (...args: never[]) => unknown>(call: T): T =>
      ((...args: never[]) => {
        asked += 1;
        return call(...args);
      }) as T;
    cri.close();
    await rig.end();
    rig = await SocketRig.make();
    await rig.serve({
      listPodSandbox: (request) => cri.listPodSandbox(request),
      listContainers: (request) => cri.listContainers(request),
      listImages: (request) => cri.listImages(request),
      streamPodSandboxes: count(cri.streamPodSandboxes),
      streamContainers: count(cri.streamContainers),
      streamImages: count(cri.streamImages),
    });
    const client = connect();
    for (let round = 0; round < 3; round++) {
      expect((await client.listPodSandbox({})).items).toHaveLength(5);
      await client.listContainers({});
      expect((await client.listImages({})).images).toHaveLength(1);
    }
    expect(asked).toBe(2);
    expect(logged).toEqual([
      ['Runtime has no streaming lists, using unary calls', { method: 'streamPodSandboxes' }],
      ['Runtime has no streaming lists, using unary calls', { method: 'streamImages' }],
    ]);
  });

  test('observes no error for the attempt', async () => {
    await fakeWithPods(false);
    await connect().listPodSandbox({});
    expect(observed.map(({ operation, error }) => [operation, error])).toEqual([
      ['list_podsandbox', undefined],
    ]);
  });

  test('serves parallel lists that all notice it', async () => {
    await fakeWithPods(false);
    const client = connect();
    const lists = await Promise.all(Array.from({ length: 10 }, () => client.listPodSandbox({})));
    expect(lists.map(({ items }) => items.length)).toEqual(Array.from({ length: 10 }, () => 5));
    expect(logged).toHaveLength(1);
  });

  test('receives unary calls with the gate off', async () => {
    await rig.serve({ listContainers: async () => ({ containers: [] }) });
    expect(await rig.connect().listContainers({})).toEqual({ containers: [] });
  });
});

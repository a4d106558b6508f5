// Streamed lists on the API server double and the fake clock: what the sink receives and which requests the server sees.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServerDouble, adminUser } from '../../../test/api-server/double.ts';
import { memoryClient } from '../../../test/api-server/memory-client.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { ConfigMap } from '../../api/k8s/types.ts';
import type { ApiClient, Follow, KubeObject, WatchEvent } from '../../api/ports/api-client.ts';
import { silentLogger } from '../../base/log/log.ts';
import { reflector } from './reflector.ts';

let clock: FakeClock;
let double: ApiServerDouble;
let notified: string[];
let stop: AbortController;
let running: Promise<void>[];

const name = (object: ConfigMap): string => `${object.metadata?.name}=${object.data?.['v'] ?? ''}`;

beforeEach(() => {
  clock = new FakeClock();
  notified = [];
  stop = new AbortController();
  running = [];
});

afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  double.close();
  expect(clock.pendingTimers()).toBe(0);
});

function serve(options: { readonly watchLists?: boolean } = {}): Follow {
  double = new ApiServerDouble({ clock, ...options });
  return memoryClient(double, clock, adminUser).follow;
}

function put(v: string, id = 'one'): void {
  const exists = double.objects.get('configmaps', 'kube-public', id) !== undefined;
  if (exists) double.objects.patch('configmaps', 'kube-public', id, { data: { v } });
  else double.objects.create('configmaps', { metadata: { name: id, namespace: 'kube-public' }, data: { v } });
}

async function start(follow: Follow): Promise<void> {
  const target = {
    path: '/api/v1/namespaces/kube-public/configmaps',
    fieldSelector: 'metadata.name!=kube-root-ca.crt',
  };
  const sink = {
    replace: (objects: readonly ConfigMap[]) => notified.push(`all ${objects.map(name).join(',')}`),
    upsert: (object: ConfigMap) => notified.push(`upsert ${name(object)}`),
    remove: (object: ConfigMap) => notified.push(`remove ${name(object)}`),
    failed: () => notified.push('failed'),
  };
  running.push(follow<ConfigMap>(target, sink, stop.signal));
  await clock.settle();
}

const requestCodes = (): readonly string[] => double.requests.map(({ verb, code }) => `${verb} ${code}`);
const lastQuery = (): URLSearchParams => new URLSearchParams(double.requests.at(-1)?.query);

describe('streamed lists', () => {
  test('one request delivers the collection as a whole, then every change', async () => {
    const follow = serve();
    put('1');
    put('1', 'two');
    await start(follow);
    expect(notified).toEqual(['all one=1,two=1']);
    put('2');
    double.objects.delete('configmaps', 'kube-public', 'two');
    await clock.settle();
    expect(notified.slice(1)).toEqual(['upsert one=2', 'remove two=1']);
    expect(requestCodes()).toEqual(['watch 200']);
    expect(Object.fromEntries(lastQuery())).toMatchObject({
      watch: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
    });
    // Without a version: the most recent state, as if read from etcd.
    expect(lastQuery().has('resourceVersion')).toBe(false);
  });

  test('an empty collection is reported at its bookmark', async () => {
    await start(serve());
    expect(notified).toEqual(['all ']);
  });

  test('a cut watch resumes from the last version without streaming the list again', async () => {
    const follow = serve();
    put('1');
    await start(follow);
    double.faults.cutWatches();
    put('2');
    await clock.advance(2_000);
    expect(notified).toEqual(['all one=1', 'upsert one=2']);
    expect(lastQuery().has('sendInitialEvents')).toBe(false);
  });

  test('an expired version streams the list again, not older than what was seen', async () => {
    const follow = serve();
    put('1');
    await start(follow);
    const version = double.store.revision;
    double.faults.expireWatches();
    put('2');
    await clock.advance(5_000);
    expect(notified).toEqual(['all one=1', 'all one=2']);
    expect([lastQuery().get('sendInitialEvents'), lastQuery().get('resourceVersion')]).toEqual([
      'true',
      String(version),
    ]);
  });

  test('a server restored from a backup streams its most recent state', async () => {
    const follow = serve();
    put('1');
    await start(follow);
    const tooLarge = { causes: [{ reason: 'ResourceVersionTooLarge' }] };
    double.faults.fail({ verb: 'watch' }, { code: 504, reason: 'Timeout', details: tooLarge, times: 2 });
    double.faults.cutWatches();
    await clock.advance(10_000);
    expect(notified).toEqual(['all one=1', 'all one=1']);
    expect(requestCodes()).not.toContain('list 200');
    expect(lastQuery().has('resourceVersion')).toBe(false);
  });

  for (const code of [429, undefined])
    test(`a server that is ${code === undefined ? 'unreachable' : 'busy'} is not sent a plain list as well`, async () => {
      const follow = serve();
      put('1');
      if (code === undefined) double.faults.goDown();
      else double.faults.fail({ verb: 'watch' }, { code, times: 3 });
      await start(follow);
      await clock.advance(10_000);
      double.faults.comeUp();
      await clock.advance(31_000);
      expect(notified.filter((each) => each !== 'failed')).toEqual(['all one=1']);
      expect(notified.length).toBeLessThan(8);
      expect(requestCodes().filter((each) => each.startsWith('list'))).toEqual([]);
    });
});

describe('the fallback to plain lists', () => {
  test('a server without streamed lists rejects one request for all reflectors, and another one later', async () => {
    const follow = serve({ watchLists: false });
    put('1');
    await start(follow);
    await start(follow);
    await start(follow);
    expect(notified).toEqual(['all one=1', 'all one=1', 'all one=1']);
    const expected = ['watch 422', ...Array.from({ length: 3 }, () => ['list 200', 'watch 200']).flat()];
    expect(requestCodes()).toEqual(expected);
    await clock.advance(11 * 60_000);
    double.faults.expireWatches();
    await clock.advance(5_000);
    expect(requestCodes().filter((each) => each === 'watch 422')).toHaveLength(2);
  });

  for (const code of [400, 403, 500])
    test(`a stream that fails with ${code} is replaced by a plain list at once`, async () => {
      const follow = serve();
      put('1');
      double.faults.fail({ verb: 'watch' }, { code });
      await start(follow);
      expect(notified).toEqual(['all one=1']);
      expect(requestCodes()).toEqual([`watch ${code}`, 'list 200', 'watch 200']);
    });

  test('one that is forbidden both ways is retried with backoff', async () => {
    const follow = serve();
    put('1');
    for (const verb of ['list', 'watch'] as const) double.faults.fail({ verb }, { code: 403, times: 2 });
    await start(follow);
    await clock.advance(150);
    expect(notified).toEqual(['failed', 'failed', 'all one=1']);
  });
});

describe('a server that breaks the protocol', () => {
  interface Script {
    readonly events: readonly WatchEvent<KubeObject>[];
    /** Whether the stream stays open, silent, after its events. */
    readonly hangs?: boolean;
  }

  /** A client whose first watch follows the script; further ones are silent. */
  function scripted(script: Script) {
    const asked: string[] = [];
    let watches = 0;
    async function* watch<T>(_path: string, query: object, signal: AbortSignal) {
      const isFirst = watches++ === 0;
      asked.push('sendInitialEvents' in query ? 'stream' : 'watch');
      if (isFirst) for (const event of script.events) yield event as WatchEvent<T>;
      if (isFirst && script.hangs !== true) return;
      await new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    }
    const list = async () => {
      asked.push('list');
      return { metadata: { resourceVersion: '7' }, items: [{ metadata: { name: 'listed' } }] };
    };
    const client = { watch, list } as unknown as Pick<ApiClient, 'list' | 'watch'>;
    return { asked, follow: reflector({ client, clock, log: silentLogger, watchLists: true }) };
  }

  const added = (id: string): WatchEvent<KubeObject> => ({
    type: 'ADDED',
    object: { metadata: { name: id, resourceVersion: '5' } },
  });
  const bookmark: WatchEvent<KubeObject> = {
    type: 'BOOKMARK',
    object: { metadata: { resourceVersion: '6' } },
  };

  test('a stream that ends before its bookmark shows nothing; a plain list follows', async () => {
    serve();
    const { asked, follow } = scripted({ events: [added('part')] });
    await start(follow);
    expect(notified).toEqual(['all listed=']);
    expect(asked).toEqual(['stream', 'list', 'watch']);
  });

  test('a stream without the final bookmark is given up after 30 s of silence', async () => {
    serve();
    const { asked, follow } = scripted({ events: [added('part'), bookmark], hangs: true });
    await start(follow);
    await clock.advance(29_000);
    expect(notified).toEqual([]);
    await clock.advance(31_000);
    expect(notified).toEqual(['all listed=']);
    expect(asked).toEqual(['stream', 'list', 'watch']);
  });

  test('an object that is deleted and added again within the stream is delivered once', async () => {
    serve();
    const end: WatchEvent<KubeObject> = {
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } },
    };
    const removed = { ...added('a'), type: 'DELETED' } as const;
    const { asked, follow } = scripted({
      events: [added('a'), added('b'), removed, added('a'), { ...added('b'), type: 'MODIFIED' }, end],
      hangs: true,
    });
    await start(follow);
    expect(notified).toEqual(['all b=,a=']);
    expect(asked).toEqual(['stream']);
  });
});

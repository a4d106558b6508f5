import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { KubeObject, WatchSink } from '../api/ports/api-client.ts';
import { untilAborted } from '../base/abort/race-abort.ts';
import { startComponent } from '../base/component.ts';
import { describeError, KubeletError } from '../base/errors.ts';
import { ControlPlane } from './control-plane.ts';
import { keptFollow } from './kept-follow.ts';

const named = (name: string): KubeObject => ({ metadata: { name, namespace: 'ns' } });
const refused = new KubeletError('unavailable', 'Unreachable', 'connect ECONNREFUSED');
const forbidden = new KubeletError('forbidden', 'Forbidden', 'no', { details: { code: 403 } });

interface Given {
  readonly path?: string;
  readonly fieldSelector?: string;
  readonly collection?: readonly KubeObject[] | undefined;
  readonly object?: { readonly object: KubeObject } | 'absent' | 'unkept';
  /** The API server has listed the pods. */
  readonly hasListed?: boolean;
}

async function scene({
  path = '/api/v1/services',
  fieldSelector,
  collection,
  object = 'unkept',
  hasListed = false,
}: Given) {
  const clock = new FakeClock();
  const plane = new ControlPlane(clock);
  const stop = new AbortController();
  const seen: string[] = [];
  const recorded: string[] = [];
  let server: WatchSink<KubeObject> | undefined;
  const names = (objects: readonly KubeObject[]): string =>
    objects.map(({ metadata }) => metadata?.name).join();
  const follow = keptFollow(
    async (_target, sink, signal) => {
      server = sink as unknown as WatchSink<KubeObject>;
      await untilAborted(signal);
    },
    {
      plane,
      keepSecrets: false,
      clock,
      kept: {
        collection: () => collection,
        hasListed: () => hasListed,
        object: async () => object,
        record: ({ key }) => void recorded.push(`record ${key}`),
        recordAbsent: ({ key }) => void recorded.push(`absent ${key}`),
        replaceCollection: (name, objects) => void recorded.push(`replace ${name} ${names(objects)}`),
        upsertInto: (name, each) => void recorded.push(`upsert ${name} ${names([each])}`),
        removeFrom: (name, each) => void recorded.push(`remove ${name} ${names([each])}`),
      },
      serving: {
        begin: (pods) => void seen.push(`begin ${pods}`),
        end: () => void seen.push('end'),
      },
    },
  );
  await startComponent(plane, stop.signal);
  const target = { path, ...(fieldSelector === undefined ? {} : { fieldSelector }) };
  const sink: WatchSink<KubeObject> = {
    replace: (objects) => void seen.push(`replace ${names(objects)}`),
    upsert: (each) => void seen.push(`upsert ${names([each])}`),
    remove: (each) => void seen.push(`remove ${names([each])}`),
    failed: (err) => void seen.push(`failed ${describeError(err)}`),
    ...(path.endsWith('/pods') && {
      provisional: (objects: readonly KubeObject[]) => void seen.push(`provisional ${names(objects)}`),
    }),
  };
  void follow(target, sink, stop.signal);
  await clock.settle();
  if (server === undefined) throw new Error('nothing was followed');
  return { clock, plane, recorded, seen, server, stop };
}

describe('a collection', () => {
  test('is delivered once if nothing answers for three seconds, and replaced by the first list', async () => {
    const { clock, recorded, seen, server } = await scene({ collection: [named('a')] });
    await clock.advance(2_999);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual(['replace a']);
    server.failed?.(refused);
    await clock.advance(60_000);
    server.replace([named('b')]);
    expect(seen).toEqual(['replace a', 'failed connect ECONNREFUSED', 'replace b']);
    expect(recorded).toEqual(['replace services b']);
  });

  test('is never delivered after a list, whatever fails later', async () => {
    const { clock, seen, server } = await scene({ collection: [named('a')] });
    server.replace([named('b')]);
    for (let i = 0; i < 5; i++) {
      await clock.advance(10_000);
      server.failed?.(refused);
    }
    expect(seen.filter((line) => line.startsWith('replace'))).toEqual(['replace b']);
  });

  test('is delivered if only its own list does not arrive', async () => {
    const { clock, plane, seen } = await scene({ collection: [named('a')] });
    plane.succeeded();
    await clock.advance(3_000);
    expect([plane.isUnreachable(), seen]).toEqual([false, ['replace a']]);
  });

  test('is not delivered to a node that is refused the list', async () => {
    const { clock, seen, server } = await scene({ collection: [named('a')] });
    server.failed?.(forbidden);
    await clock.advance(60_000);
    expect(seen).toEqual(['failed no']);
  });

  test('of which nothing was kept is not delivered as empty', async () => {
    const { clock, seen } = await scene({ collection: undefined });
    await clock.advance(60_000);
    expect(seen).toEqual([]);
  });

  test('is recorded as it changes', async () => {
    const { recorded, seen, server } = await scene({ collection: [] });
    server.replace([named('a')]);
    server.upsert(named('b'));
    server.remove(named('a'));
    expect(recorded).toEqual(['replace services a', 'upsert services b', 'remove services a']);
    expect(seen).toEqual(['replace a', 'upsert b', 'remove a']);
  });

  test('of pods is delivered as provisional, and reported', async () => {
    const { clock, seen, server } = await scene({ path: '/api/v1/pods', collection: [named('a')] });
    await clock.advance(3_000);
    server.replace([]);
    expect(seen).toEqual(['begin 1', 'provisional a', 'replace ', 'end']);
  });
});

describe('a watched object', () => {
  const path = '/api/v1/namespaces/ns/secrets';
  const fieldSelector = 'metadata.name=s';

  test('is delivered at once if the server is known to be unreachable', async () => {
    const { clock, seen } = await scene({ path, fieldSelector, object: { object: named('s') } });
    await clock.advance(3_000);
    expect(seen).toEqual(['replace s']);
  });

  test('that did not exist is delivered as absent', async () => {
    const { clock, seen } = await scene({ path, fieldSelector, object: 'absent' });
    await clock.advance(3_000);
    expect(seen).toEqual(['replace ']);
  });

  test('that a slow server has not delivered yet is awaited once the server has listed the pods', async () => {
    for (const object of ['unkept', { object: named('s') }] as const) {
      const given = { path: '/api/v1/namespaces/ns/secrets', fieldSelector: 'metadata.name=s', object };
      const { clock, plane, seen } = await scene({ ...given, hasListed: true });
      plane.succeeded();
      await clock.advance(20_000);
      expect(seen).toEqual([]);
    }
  });

  test('that is not kept fails with the reason, again after each failure', async () => {
    const { clock, seen, server } = await scene({ path, fieldSelector });
    await clock.advance(3_000);
    server.failed?.(refused);
    await clock.settle();
    const reason =
      'failed secret "ns/s" is not kept on this node (--autonomy=WithoutSecrets), and the API server cannot be reached';
    expect([...new Set(seen)]).toEqual([
      reason,
      'failed connect ECONNREFUSED',
      `${reason}: connect ECONNREFUSED`,
    ]);
  });

  test('is recorded, also when it is removed', async () => {
    const { recorded, server } = await scene({ path, fieldSelector });
    server.replace([named('s')]);
    server.upsert(named('s'));
    server.remove(named('s'));
    server.replace([]);
    expect(recorded).toEqual(['record ns/s', 'record ns/s', 'absent ns/s', 'absent ns/s']);
  });

  test('nothing is delivered once its follower has stopped', async () => {
    const { clock, seen, stop } = await scene({ path, fieldSelector, object: { object: named('s') } });
    stop.abort();
    await clock.advance(60_000);
    expect(seen).toEqual([]);
  });
});

test('other watches are passed on, and their failures count', async () => {
  const { clock, plane, seen, server } = await scene({
    path: '/apis/certificates.k8s.io/v1/podcertificaterequests',
  });
  server.failed?.(refused);
  server.replace([named('x')]);
  await clock.advance(3_000);
  expect([seen, plane.lastFailure()]).toEqual([['failed connect ECONNREFUSED', 'replace x'], refused]);
});

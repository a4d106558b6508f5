// On the API server double and the fake clock: what the sink receives and which requests the server sees, also under faults.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServerDouble, adminUser } from '../../../test/api-server/double.ts';
import { memoryClient } from '../../../test/api-server/memory-client.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import type { ConfigMap } from '../../api/k8s/types.ts';
import { Verbosity } from '../../base/log/log.ts';
import { textLogger } from '../../base/log/log-text.ts';

let clock: FakeClock;
let double: ApiServerDouble;
let notified: string[];
let warnings: string[];
let stop: AbortController;
let done: Promise<void>;

const name = (object: ConfigMap): string => `${object.metadata?.name}=${object.data?.['v'] ?? ''}`;

beforeEach(() => {
  clock = new FakeClock();
  double = new ApiServerDouble({ clock });
  notified = [];
  warnings = [];
  stop = new AbortController();
  done = Promise.resolve();
});

afterEach(async () => {
  stop.abort();
  await done;
  double.close();
  expect(clock.pendingTimers()).toBe(0);
});

function put(v: string, id = 'one'): void {
  const exists = double.objects.get('configmaps', 'kube-public', id) !== undefined;
  if (exists) double.objects.patch('configmaps', 'kube-public', id, { data: { v } });
  else {
    double.objects.create('configmaps', { metadata: { name: id, namespace: 'kube-public' }, data: { v } });
  }
}

async function start(): Promise<void> {
  const write = (line: string): void => void (line.startsWith('W') && warnings.push(line));
  const log = textLogger({ write, clock, verbosity: new Verbosity(2), pid: 1 });
  const { follow } = memoryClient(double, clock, adminUser, log, false);
  done = follow<ConfigMap>(
    {
      path: '/api/v1/namespaces/kube-public/configmaps',
      fieldSelector: 'metadata.name!=kube-root-ca.crt',
    },
    {
      replace: (objects) => notified.push(`all ${objects.map(name).join(',')}`),
      upsert: (object) => notified.push(`upsert ${name(object)}`),
      remove: (object) => notified.push(`remove ${name(object)}`),
      failed: () => notified.push('failed'),
    },
    stop.signal,
  );
  await clock.settle();
}

function requestCodes(): readonly string[] {
  return double.requests.map(({ verb, code }) => `${verb} ${code}`);
}

describe('reflector with plain lists', () => {
  test('lists, then reports every change in order', async () => {
    put('1');
    await start();
    put('2');
    put('1', 'two');
    double.objects.delete('configmaps', 'kube-public', 'one');
    await clock.settle();
    expect(notified).toEqual(['all one=1', 'upsert one=2', 'upsert two=1', 'remove one=2']);
    expect(requestCodes()).toEqual(['list 200', 'watch 200']);
  });

  test('resumes after the watch is cut, without a relist', async () => {
    await start();
    put('1');
    await clock.settle();
    double.faults.cutWatches();
    put('2');
    await clock.advance(2_000);
    expect(notified).toEqual(['all ', 'upsert one=1', 'upsert one=2']);
    expect(double.requests.filter(({ verb }) => verb === 'list')).toHaveLength(1);
  });

  test('renews a watch after five to ten minutes at once, from the last bookmark', async () => {
    await start();
    put('1');
    await clock.advance(61_000);
    double.store.compact();
    await clock.advance(240_000);
    put('2');
    await clock.settle();
    expect(notified).toEqual(['all ', 'upsert one=1', 'upsert one=2']);
    expect(double.watches.size).toBe(1);
    expect(double.requests.filter(({ verb }) => verb === 'list')).toHaveLength(1);
  });

  for (const [how, order] of [
    ['in the stream', () => double.faults.expireWatches()],
    [
      'on reconnect',
      () => {
        double.faults.cutWatches();
        put('missed', 'other');
        double.objects.delete('configmaps', 'kube-public', 'other');
        double.store.compact();
      },
    ],
  ] as const)
    test(`relists when the resource version expires ${how}`, async () => {
      put('1');
      await start();
      order();
      put('2');
      await clock.advance(5_000);
      expect(notified).toEqual(['all one=1', 'all one=2']);
      put('3');
      await clock.settle();
      expect(notified.at(-1)).toBe('upsert one=3');
    });

  test('backs off while the server is unreachable, and reports every change when it is back', async () => {
    put('1');
    await start();
    double.faults.goDown();
    put('2');
    await clock.advance(300_000);
    const failures = notified.filter((each) => each === 'failed').length;
    // 0.8, 1.6, 3.2 … 25.6, then 30 s each.
    expect(failures).toBeGreaterThan(8);
    expect(failures).toBeLessThan(18);
    double.faults.comeUp();
    await clock.advance(31_000);
    expect(notified.filter((each) => each !== 'failed')).toEqual(['all one=1', 'upsert one=2']);
  });

  test('lists once a server that was unreachable at first responds', async () => {
    put('1');
    double.faults.goDown();
    await start();
    await clock.advance(10_000);
    double.faults.comeUp();
    await clock.advance(31_000);
    expect(notified.filter((each) => each !== 'failed')).toEqual(['all one=1']);
  });

  test('retries a 403 of a lagging node authorizer at once, without a warning', async () => {
    put('1');
    double.faults.fail({ verb: 'list' }, { code: 403, times: 2 });
    await start();
    await clock.advance(150);
    expect(notified).toEqual(['failed', 'failed', 'all one=1']);
    expect(warnings).toEqual([]);
  });

  test('warns and backs off when the 403 persists', async () => {
    double.faults.fail({ verb: 'list' }, { code: 403, times: Number.POSITIVE_INFINITY });
    await start();
    await clock.advance(700);
    expect(notified).toHaveLength(4);
    expect(warnings).toEqual([]);
    await clock.advance(50);
    expect(warnings).toHaveLength(1);
    await clock.advance(120_000);
    expect(warnings.length).toBeLessThan(8);
  });

  test('relists from a server that was restored from a backup', async () => {
    put('1');
    await start();
    const tooLarge = { causes: [{ reason: 'ResourceVersionTooLarge' }] };
    double.faults.fail({ verb: 'watch' }, { code: 504, reason: 'Timeout', details: tooLarge });
    double.faults.cutWatches();
    await clock.advance(10_000);
    expect(notified).toEqual(['all one=1', 'all one=1']);
    expect(double.requests.findLast(({ verb }) => verb === 'list')?.query).not.toContain('resourceVersion');
  });

  test('lists in pages after a 410', async () => {
    double.faults.fail({ verb: 'list' }, { code: 410 });
    for (let index = 0; index < 501; index++) put('1', `cm-${index}`);
    await start();
    await clock.advance(5_000);
    const lists = double.requests.filter(({ verb, code }) => verb === 'list' && code === 200);
    expect(lists).toHaveLength(2);
    expect(notified).toHaveLength(1);
    expect(notified[0]?.split(',')).toHaveLength(501);
  });
});

import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { Pod } from '../api/k8s/types.ts';
import { podRef } from '../api/pod/pod-ref.ts';
import { KubeletError } from '../base/errors.ts';
import type { LogFields, Logger } from '../base/log/log.ts';
import { HttpSource, type ManifestRequest, type ManifestResponse } from './http-source.ts';
import { type BuiltManifest, buildManifest } from './manifest-pods.ts';

const httpCheckMs = 20_000;

interface Rig {
  readonly clock: FakeClock;
  readonly requests: ManifestRequest[];
  readonly lines: string[];
  readonly sets: (readonly Pod[])[];
  /** The response of the server; undefined: none. */
  response: string | number | Error | undefined;
  names(): string[] | undefined;
  /** The time of the next request. */
  next(): Promise<void>;
  stop(): Promise<void>;
}

function recorder(lines: string[]): Logger {
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      const { url, reason } = fields as Record<string, string | undefined>;
      lines.push(`${level} ${message} ${url ?? ''}${reason === undefined ? '' : `: ${reason}`}`);
    };
  const log: Logger = {
    info: write('I'),
    warn: write('W'),
    error: write('E'),
    v: () => ({ enabled: false, info: () => undefined }),
    with: () => log,
  };
  return log;
}

async function start(
  response: Rig['response'],
  buildPods?: (signal: AbortSignal) => Promise<BuiltManifest>,
): Promise<Rig> {
  const clock = new FakeClock();
  const lines: string[] = [];
  const requests: ManifestRequest[] = [];
  const sets: (readonly Pod[])[] = [];
  const get = async (request: ManifestRequest): Promise<ManifestResponse> => {
    requests.push(request);
    const { response: now } = rig;
    if (now === undefined)
      return await new Promise((_resolve, reject) => {
        request.signal.addEventListener('abort', () => reject(request.signal.reason as Error));
      });
    if (now instanceof Error) throw now;
    return typeof now === 'number'
      ? { status: now, body: Buffer.from('') }
      : { status: 200, body: Buffer.from(now) };
  };
  const source = new HttpSource({
    get,
    publish: (_source, pods) => sets.push(pods),
    clock,
    log: recorder(lines),
    endpoint: {
      url: 'https://user:secret@example.com/pods?token=t',
      headers: { Authorization: ['Bearer t'] },
    },
    httpCheckMs,
    buildPods: (bytes, origin, signal) =>
      buildPods?.(signal) ??
      buildManifest(bytes, {
        ...origin,
        computeHash: (pod, { source: from, isFile }) =>
          `${isFile}|${from}|${JSON.stringify([pod.metadata?.name, pod.spec])}`,
      }),
    staticPods: { nodeName: 'node-1' },
    podsOnNode: async () => ({ running: [], present: [] }),
  });
  const stopping = new AbortController();
  const rig: Rig = {
    clock,
    requests,
    lines,
    sets,
    response,
    names: () => sets.at(-1)?.map((pod) => (podRef(pod).split('/')[1] ?? '').replace(/-node-1$/, '')),
    next: () => clock.advance(httpCheckMs),
    stop: async () => {
      stopping.abort();
      await stopped;
    },
  };
  const { stopped } = await source.start(stopping.signal);
  await clock.settle();
  return rig;
}

function pod(name: string, image = 'i'): string {
  return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "${name}"}, "spec": {"containers": [{"name": "c", "image": "${image}"}]}}`;
}

function list(...pods: readonly string[]): string {
  return `{"apiVersion": "v1", "kind": "PodList", "items": [${pods.join(', ')}]}`;
}

describe('the http source publishes', () => {
  const responses: readonly (readonly [string, string, readonly string[]])[] = [
    ['one pod in JSON', pod('one'), ['one']],
    [
      'one pod in YAML',
      'apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec: {containers: [{name: c, image: i}]}',
      ['one'],
    ],
    ['a list', list(pod('one'), pod('two')), ['one', 'two']],
    ['an empty list', list(), []],
    ['several documents', `${pod('one')}\n${pod('two')}`, ['one', 'two']],
  ];
  for (const [name, response, want] of responses)
    test(name, async () => {
      const rig = await start(response);
      expect(rig.sets).toHaveLength(1);
      expect(rig.names()).toEqual(want);
      expect(rig.lines).toEqual([]);
      await rig.stop();
    });

  test('pods with the annotations of their source', async () => {
    const rig = await start(pod('one'));
    expect(rig.sets[0]?.[0]).toMatchObject({
      metadata: {
        name: 'one-node-1',
        uid: expect.stringMatching(/^false\|https:\/\/user:secret@example\.com\/pods\?token=t\|/),
        annotations: { 'kubernetes.io/config.source': 'http' },
      },
      spec: { nodeName: 'node-1' },
    });
    expect(rig.sets[0]?.[0]?.spec?.tolerations).toBeUndefined();
    await rig.stop();
  });

  test('changes, and nothing if nothing changed', async () => {
    const rig = await start(pod('one'));
    await rig.next();
    await rig.next();
    expect(rig.requests).toHaveLength(3);
    expect(rig.sets).toHaveLength(1);
    rig.response = `${pod('one')}\n`;
    await rig.next();
    expect(rig.sets).toHaveLength(1);
    rig.response = pod('one', 'other');
    await rig.next();
    expect(rig.sets).toHaveLength(2);
    rig.response = list();
    await rig.next();
    expect(rig.names()).toEqual([]);
    await rig.stop();
  });

  test('the first of two pods with one name', async () => {
    const rig = await start(list(pod('one'), pod('one', 'other')));
    expect(rig.names()).toEqual(['one']);
    expect(rig.lines).toEqual([
      'E Failed to read pods from URL https://example.com/pods: pod default/one-node-1 is already defined above',
    ]);
    await rig.stop();
  });
});

test('sends headers, limit and deadline', async () => {
  const rig = await start(pod('one'));
  expect(rig.requests[0]).toMatchObject({
    url: 'https://user:secret@example.com/pods?token=t',
    headers: { Authorization: ['Bearer t'] },
    limitBytes: 10 * 1024 * 1024,
    timeoutMs: 10_000,
  });
  await rig.stop();
});

const failing: readonly (readonly [string, Rig['response'], string])[] = [
  [
    'no connection',
    new KubeletError('unavailable', 'HttpFailed', 'connection refused'),
    'connection refused',
  ],
  ['another status', 503, 'the server responded with status 503'],
  ['nothing', '', 'the response is empty'],
  ['garbage', '<html>', 'line 1: the document is not an object'],
  ['broken JSON', '{"kind": ', 'line 1, column 10: not valid JSON'],
  [
    'another kind',
    '{"apiVersion": "v1", "kind": "Status"}',
    'line 1: kind "Status" (v1) is not supported here',
  ],
  ['an invalid pod', pod('one', ''), 'pod default/one is invalid: spec.containers[0].image: Required value'],
  ['a list whose only pod is invalid', list(pod('two', '')), 'pod default/two is invalid'],
];

describe('the last good pods are kept', () => {
  for (const [name, response, reason] of failing)
    test(`and the failure is logged once if the response is ${name}`, async () => {
      const rig = await start(pod('one'));
      rig.response = response;
      for (let round = 0; round < 4; round++) await rig.next();
      expect(rig.sets).toHaveLength(1);
      expect(rig.lines).toHaveLength(1);
      expect(rig.lines[0]).toContain(`E Failed to read pods from URL https://example.com/pods: ${reason}`);
      rig.response = pod('one');
      await rig.next();
      await rig.next();
      expect(rig.sets).toHaveLength(1);
      expect(rig.lines.slice(1)).toEqual(['I Resumed reading pods from URL https://example.com/pods']);
      await rig.stop();
    });

  test('beside a changed good pod', async () => {
    const rig = await start(list(pod('one'), pod('two')));
    rig.response = list(pod('one', ''), pod('two', 'other'));
    await rig.next();
    expect(rig.names()?.sort()).toEqual(['one', 'two']);
    expect(rig.sets[1]?.map((each) => each.spec?.containers[0]?.image).sort()).toEqual(['i', 'other']);
    await rig.stop();
  });
});

describe('before the first good response', () => {
  for (const [name, response] of failing)
    test(`${name} publishes ${name === 'nothing' ? 'an empty set' : 'nothing'}`, async () => {
      const rig = await start(response);
      await rig.next();
      expect(rig.sets).toEqual(name === 'nothing' ? [[]] : []);
      rig.response = pod('one');
      await rig.next();
      expect(rig.names()).toEqual(['one']);
      await rig.stop();
    });
});

test('bounds the log for a server that fails in ever new ways', async () => {
  const rig = await start(pod('one'));
  for (let round = 0; round < 100; round++) {
    rig.response = 500 + round;
    await rig.next();
  }
  expect(rig.lines.length).toBeLessThan(10);
  await rig.stop();
});

test('does not log secrets of the URL', async () => {
  const rig = await start(500);
  expect(rig.lines.join('\n')).not.toMatch(/secret|token/);
  await rig.stop();
});

test('aborts the request in flight on stop and leaves no timer', async () => {
  const rig = await start(undefined);
  await rig.stop();
  expect(rig.requests[0]?.signal.aborted).toBe(true);
  expect(rig.clock.pendingTimers()).toBe(0);
  expect(rig.lines).toEqual([]);
  expect(rig.sets).toEqual([]);
});

test('logs a response that takes too long to decode once and retries after ten minutes', async () => {
  let attempts = 0;
  const rig = await start('a pod', async () => {
    attempts += 1;
    throw new KubeletError('timeout', 'ManifestTooSlow', 'takes too long to read: over 20 s');
  });
  await rig.clock.advance(9 * 60_000);
  expect(attempts).toBe(1);
  await rig.clock.advance(2 * 60_000);
  expect(attempts).toBe(2);
  expect(rig.lines.filter((line) => line.includes('takes too long to read'))).toHaveLength(1);
  expect(rig.sets).toEqual([]);
  await rig.stop();
});

test('aborts the decoding of a response on stop', async () => {
  let reading: AbortSignal | undefined;
  const rig = await start(
    'a pod',
    (signal) =>
      new Promise((_resolve, reject) => {
        reading = signal;
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      }),
  );
  await rig.clock.settle();
  await rig.stop();
  expect(reading?.aborted).toBe(true);
  expect(rig.clock.pendingTimers()).toBe(0);
});

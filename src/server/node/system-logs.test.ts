import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { HttpStream } from '../../api/ports/http.ts';
import { KubeletError } from '../../base/errors.ts';
import { asResponse, bodyText, httpRequest } from '../fixtures/requests.ts';
import { type SystemLog, systemLogsHandler } from './system-logs.ts';

const changedAtMs = Date.UTC(2026, 0, 2, 3, 4, 5);

function bench(
  options: { readonly queries?: boolean; readonly units?: string; readonly unitsFail?: Error } = {},
) {
  const closed: string[] = [];
  const ran: (readonly string[])[] = [];
  const files: Readonly<Record<string, string | readonly string[]>> = {
    '': ['pods/', 'a<b.log', 'syslog'],
    pods: [],
    syslog: '0123456789',
    'etcd.log': 'from a file',
    'web/web.log': 'deeper',
  };
  async function* bytes(text: string, path: string): HttpStream & AsyncGenerator<Uint8Array> {
    try {
      yield new TextEncoder().encode(text);
    } finally {
      closed.push(path);
    }
  }
  async function* endless(): HttpStream & AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield randomBytes(64 * 1024);
    } finally {
      closed.push('journal');
    }
  }
  const open = async (path: string): Promise<SystemLog | undefined> => {
    if (path === 'outside') throw new KubeletError('forbidden', 'Forbidden', 'no');
    const found = files[path.replace(/^\//, '')];
    if (found === undefined) return undefined;
    if (typeof found !== 'string') return { kind: 'directory', changedAtMs, entries: found };
    return {
      kind: 'file',
      changedAtMs,
      bytes: found.length,
      looksLikeText: true,
      read: (from, to) => bytes(found.slice(from, to), path),
      close: async () => void closed.push(path),
    };
  };
  const handle = systemLogsHandler({
    files: { open },
    journal: {
      units: async () => {
        if (options.unitsFail !== undefined) throw options.unitsFail;
        return options.units;
      },
      read: (args) => {
        ran.push(args);
        return args.includes('--unit=endless') ? endless() : bytes('from the journal', 'journal');
      },
    },
    queries: options.queries ?? false,
  });
  const get = async (target: string, headers: Readonly<Record<string, string>> = {}) => {
    const request = httpRequest(`GET ${target}`, { headers });
    const logpath = request.path.replace(/^\/logs\//, '').replace(/\/$/, '');
    return asResponse(await handle({ ...request, params: logpath === '' ? {} : { logpath } }));
  };
  const summarize = async (target: string) => {
    const answer = await get(target);
    return [answer.status, await bodyText(answer)];
  };
  return { closed, get, ran, summarize };
}

describe('files', () => {
  test('lists a directory', async () => {
    const answer = await bench().get('/logs/');
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.body).toBe(
      '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n' +
        '<a href="pods/">pods/</a>\n<a href="a%3Cb.log">a&lt;b.log</a>\n<a href="syslog">syslog</a>\n</pre>\n',
    );
  });

  test.each([
    ['/logs/pods', 301, 'pods/'],
    ['/logs/syslog/', 301, '../syslog'],
  ])('corrects the trailing slash of %s', async (target, status, location) => {
    expect(await bench().get(target)).toMatchObject({ status, headers: { location } });
  });

  test('serves a file with its length, whole or in ranges, and closes it', async () => {
    const { closed, get } = bench();
    const whole = await get('/logs/syslog');
    expect(whole).toMatchObject({
      status: 200,
      headers: { 'content-length': '10', 'accept-ranges': 'bytes' },
    });
    expect(await bodyText(whole)).toBe('0123456789');
    const parts = [
      ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
      ['bytes=7-', 206, '789', 'bytes 7-9/10'],
      ['bytes=-3', 206, '789', 'bytes 7-9/10'],
      ['bytes=8-99', 206, '89', 'bytes 8-9/10'],
      ['bytes=0-1,4-5', 200, '0123456789', undefined],
      ['nonsense', 200, '0123456789', undefined],
    ] as const;
    for (const [range, status, text, shown] of parts) {
      const answer = await get('/logs/syslog', { range });
      expect([answer.status, await bodyText(answer), answer.headers['content-range']]).toEqual([
        status,
        text,
        shown,
      ]);
    }
    expect((await get('/logs/syslog', { range: 'bytes=10-' })).status).toBe(416);
    expect(
      (await get('/logs/syslog', { 'if-modified-since': new Date(changedAtMs).toUTCString() })).status,
    ).toBe(304);
    expect(closed).toHaveLength(9);
  });

  test('answers 404 for a missing and 403 for a forbidden path', async () => {
    expect(await bench().summarize('/logs/none')).toEqual([404, '404 page not found\n']);
    expect(await bench().summarize('/logs/outside')).toEqual([403, '403 Forbidden\n']);
  });

  test('ignores queries if they are disabled', async () => {
    expect(await bench().summarize('/logs/syslog?query=kubelet')).toEqual([200, '0123456789']);
  });
});

describe('queries', () => {
  const query = (params: string) =>
    bench({ queries: true, units: 'kubelet.service\ncontainerd.service\n' }).summarize(`/logs/?${params}`);

  test.each([
    ['query=', 400, 'query: Invalid value: [""]: may not be empty\n'],
    ['query=+', 400, 'query: Invalid value: [" "]: may not be empty\n'],
    ['query=x&sinceTime=today', 400, 'sinceTime: Invalid value: "today": invalid time format\n'],
    [
      'query=x&boot=a&tailLines=b',
      400,
      '[boot: Invalid value: "a": strconv.Atoi: parsing "a": invalid syntax, tailLines: Invalid value: "b": strconv.Atoi: parsing "b": invalid syntax]\n',
    ],
    ['tailLines=3', 406, 'query: Required value: cannot be empty with options\n'],
    [
      'query=kubelet&query=/syslog',
      406,
      'query: Invalid value: "[/syslog], [kubelet]": cannot specify a file and service\n',
    ],
    ['query=/a&query=/b', 406, 'query: Invalid value: ["/a","/b"]: cannot specify more than one file\n'],
    ['query=/syslog&boot=0', 406, 'query: Invalid value: ["/syslog"]: cannot specify file with options\n'],
    ['query=/none', 406, 'query: Invalid value: ["/none"]: statat /none: no such file or directory\n'],
    ['query=a;b', 406, 'query: Invalid value: "a;b": input contains unsupported characters\n'],
    ['query=--help%20x', 406, 'query: Invalid value: "--help x": input contains unsupported characters\n'],
    ['query=a&query=b&query=c&query=d&query=e', 406, 'query: Too many: 5: must have at most 4 items\n'],
    [
      `query=${'a'.repeat(257)}`,
      406,
      `query: Invalid value: "${'a'.repeat(257)}": length must be less than 256\n`,
    ],
    ['query=a&boot=1', 406, 'boot: Invalid value: 1: must be less than 1\n'],
    [
      'query=a&tailLines=100001',
      406,
      'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive\n',
    ],
    [
      'query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z',
      406,
      'untilTime: Invalid value: "2026-01-01T00:00:00Z": must be after `sinceTime`\n',
    ],
    ['query=a&pattern=(', 406, 'pattern: Invalid value: "(": error parsing regexp: `(`\n'],
    ['query=/syslog', 200, '0123456789'],
    ['query=kubelet', 200, 'from the journal'],
    ['query=etcd', 200, 'from a file'],
    ['query=web', 200, 'deeper'],
    ['query=none', 200, '\nlog not found for none\n'],
    ['query=kubelet&query=etcd', 200, 'from the journalfrom a file'],
    [
      'query=etcd&tailLines=2',
      200,
      '\noptions present and query resolved to log files for [etcd]\ntry without specifying options\n',
    ],
  ])('%s', async (params, status, text) => {
    expect(await query(params)).toEqual([status, text]);
  });

  test('rejects a query with a path', async () => {
    expect(await bench({ queries: true }).summarize('/logs/syslog?query=kubelet')).toEqual([
      406,
      'path not allowed in query mode\n',
    ]);
    expect(await bench({ queries: true }).summarize('/logs/syslog')).toEqual([200, '0123456789']);
  });

  test('passes the query to journalctl', async () => {
    const { get, ran } = bench({ queries: true, units: 'kubelet.service' });
    const options =
      'sinceTime=2026-01-02T03:04:05%2B01:00&untilTime=2026-01-03T00:00:00Z&tailLines=7&boot=-1';
    await bodyText(await get(`/logs/?query=kubelet&pattern=a.*b&${options}`));
    expect(ran).toEqual([
      [
        '--utc',
        '--no-pager',
        '--output=short-precise',
        '--since=2026-1-2 2:4:5',
        '--until=2026-1-3 0:0:0',
        '--pager-end',
        '--lines=7',
        '--unit=kubelet',
        '--grep=a.*b',
        '--boot',
        '-1',
      ],
    ]);
  });

  test('reports that journalctl is not available', async () => {
    const { summarize } = bench({ queries: true });
    expect(await summarize('/logs/?query=kubelet')).toEqual([
      200,
      '\nlog not found for kubelet\n\njournalctl is not available on this node: only files were searched\n',
    ]);
  });

  test('compresses for clients that accept only gzip', async () => {
    const { get } = bench({ queries: true, units: 'kubelet.service' });
    const { body, headers } = await get('/logs/?query=kubelet', { 'accept-encoding': 'gzip' });
    expect(headers['content-encoding']).toBe('gzip');
    const chunks: Uint8Array[] = [];
    for await (const chunk of body as HttpStream) chunks.push(chunk);
    expect(gunzipSync(Buffer.concat(chunks)).toString()).toBe('from the journal');
  });

  test("fails only the client's own response if a compressed source fails", async () => {
    const { get } = bench({ queries: true, unitsFail: new Error('journal') });
    const answer = await get('/logs/?query=kubelet', { 'accept-encoding': 'gzip' });
    await expect(bodyText(answer)).rejects.toThrow('journal');
  });

  test('closes the source of a compressed response that is returned', async () => {
    const { closed, get } = bench({ queries: true, units: 'endless.service' });
    const { body } = await get('/logs/?query=endless', { 'accept-encoding': 'gzip' });
    for await (const chunk of body as HttpStream) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await expect.poll(() => closed).toEqual(['journal']);
  });

  test('ignores a link that leads out of the directory', async () => {
    const { summarize } = bench({ queries: true, units: '' });
    expect(await summarize('/logs/?query=outside')).toEqual([200, '\nlog not found for outside\n']);
  });
});

test('a fifth query is rejected until one of four has ended', async () => {
  const { get } = bench({ queries: true, units: 'endless.service' });
  const streams = [];
  for (let n = 0; n < 4; n++) streams.push((await get('/logs/?query=endless')).body as HttpStream);
  expect(await get('/logs/?query=endless')).toMatchObject({ status: 429 });
  // Its client disconnects before it has read anything.
  await streams[0]?.[Symbol.asyncIterator]().return?.();
  expect(await get('/logs/?query=endless')).toMatchObject({ status: 200 });
  expect(await get('/logs/?query=endless')).toMatchObject({ status: 429 });
  for (const stream of streams) {
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    await chunks.return?.();
  }
  expect(await get('/logs/?query=endless')).toMatchObject({ status: 200 });
});

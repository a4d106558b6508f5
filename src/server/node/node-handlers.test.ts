// The small handlers: verbosity, profiles, health indicators.
import { describe, expect, test } from 'vitest';
import { asResponse, bodyText, httpRequest } from '../fixtures/requests.ts';
import type { HttpRequest, RouteHandler } from '../http-message.ts';
import { HealthSlis } from './health-slis.ts';
import { logVerbosityHandler } from './log-verbosity.ts';
import { nodeHandlers } from './node-handlers.ts';
import { type Profiler, profileHandlers } from './profiles.ts';

async function ask(
  handle: RouteHandler,
  line: string,
  more: Partial<HttpRequest> = {},
  params: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = asResponse(await handle({ ...httpRequest(line, more), params }));
  return { status: answer.status, text: await bodyText(answer) };
}

describe('PUT /debug/flags/v', () => {
  const cases = [
    ['PUT', '7', 200, 'successfully set klog.logging.verbosity to 7\n', [7]],
    ['PUT', '', 400, 'strconv.ParseUint: parsing "": invalid syntax\n', []],
    ['PUT', '-1', 400, 'strconv.ParseUint: parsing "-1": invalid syntax\n', []],
    ['PUT', '99999999999', 400, 'strconv.ParseUint: parsing "99999999999": value out of range\n', []],
    ['GET', '7', 406, 'unsupported http method\n', []],
  ] as const;
  for (const [method, body, status, text, levels] of cases) {
    test(`${method} ${body}`, async () => {
      const set: number[] = [];
      const handle = logVerbosityHandler({ set: (level) => void set.push(level) });
      const readBody = async (): Promise<Uint8Array> => new TextEncoder().encode(body);
      expect(await ask(handle, `${method} /debug/flags/v`, { readBody })).toEqual({ status, text });
      expect(set).toEqual(levels);
    });
  }
});

describe('/metrics/slis', () => {
  test('counts results of checks, and resets them on DELETE', async () => {
    const slis = new HealthSlis();
    slis.observe('ping', true);
    slis.observe('runtime', true);
    slis.observe('runtime', false);
    const { text } = await ask(slis.handle, 'GET /metrics/slis');
    expect(text).toContain('kubernetes_healthcheck{name="ping",type="healthz"} 1\n');
    expect(text).toContain('kubernetes_healthcheck{name="runtime",type="healthz"} 0\n');
    expect(text).toContain('kubernetes_healthchecks_total{name="runtime",type="healthz",status="error"} 1\n');
    expect(await ask(slis.handle, 'DELETE /metrics/slis')).toEqual({ status: 200, text: 'metrics reset\n' });
    expect((await ask(slis.handle, 'GET /metrics/slis')).text).not.toContain('runtime');
  });
});

describe('/debug/pprof/', () => {
  function bench({ heapSnapshots = true } = {}) {
    const taken: string[] = [];
    let finish = (): void => undefined;
    const profiler: Profiler = {
      cpu: async (seconds) => {
        taken.push(`cpu ${seconds}`);
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return '{"nodes":[]}';
      },
      allocations: async (seconds) => `{"seconds":${seconds}}`,
      heap: async function* () {
        yield new TextEncoder().encode('{"snapshot":{}}');
      },
      resources: () => ['TCPSocketWrap', 'Timeout', 'TCPSocketWrap'],
      commandLine: ['kubelet', '--v=2'],
    };
    const { heapSnapshot, profiles } = profileHandlers(profiler, { heapSnapshots });
    const get = (name: string, query = '', more: Partial<HttpRequest> = {}) =>
      ask(profiles, `GET /debug/pprof/${name}${query}`, more, { subpath: name });
    const heap = () => ask(heapSnapshot, 'GET /debug/pprof/heap');
    return { heapSnapshot, heap, get, taken, finish: () => finish() };
  }

  test('serves each profile in its format', async () => {
    const { get, heap } = bench();
    expect((await get('')).text).toContain("<a href='heap'>heap</a>");
    expect(await get('cmdline')).toEqual({ status: 200, text: 'kubelet\u0000--v=2' });
    expect(await get('goroutine')).toEqual({
      status: 200,
      text: 'resources: total 3\n2 TCPSocketWrap\n1 Timeout\n',
    });
    expect(await heap()).toEqual({ status: 200, text: '{"snapshot":{}}' });
    expect(await get('allocs', '?seconds=2')).toEqual({ status: 200, text: '{"seconds":2}' });
    expect(await get('allocs', '?seconds=x')).toEqual({ status: 200, text: '{"seconds":30}' });
    expect(await get('mutex')).toEqual({ status: 200, text: '' });
    expect(await get('symbol')).toEqual({ status: 404, text: 'Unknown profile\n' });
    expect((await get('profile', '?seconds=301')).status).toBe(400);
    expect((await get('allocs', '?seconds=301')).status).toBe(400);
  });

  test('takes one profile at a time', async () => {
    const { finish, get, heap, taken } = bench();
    const first = get('profile', '?seconds=5');
    expect((await get('profile')).status).toBe(500);
    expect((await heap()).status).toBe(500);
    finish();
    expect(await first).toEqual({ status: 200, text: '{"nodes":[]}' });
    expect((await heap()).status).toBe(200);
    expect(taken).toEqual(['cpu 5']);
  });

  test('counts a snapshot as in progress until it is read', async () => {
    const { heap, heapSnapshot } = bench();
    const request = { ...httpRequest('GET /debug/pprof/heap'), params: {} };
    const { body } = asResponse(await heapSnapshot(request));
    expect((await heap()).status).toBe(500);
    await bodyText({ status: 200, headers: {}, body });
    expect((await heap()).status).toBe(200);
  });

  test('serves no heap snapshot unless the flag is set', async () => {
    const { get, heap } = bench({ heapSnapshots: false });
    expect(await heap()).toEqual({
      status: 404,
      text: 'Heap snapshots contain every secret that the kubelet holds and are disabled (--enable-heap-snapshots).\n',
    });
    // The row of the other profiles must not bypass this.
    expect((await get('heap')).status).toBe(404);
  });
});

test.each([
  [true, true, 406],
  [true, false, 404],
  [false, true, 404],
])(
  'with the gate %s and enableSystemLogQuery %s, a query with a path is answered %i',
  async (NodeLogQuery, enableSystemLogQuery, status) => {
    const opened: unknown[] = [];
    const nothing = (): never => {
      throw new Error('not called');
    };
    const { logVerbosity, systemLogs } = nodeHandlers({
      desired: { all: () => [] },
      cri: {
        listContainers: nothing,
        listPodSandbox: nothing,
        checkpointContainer: nothing,
      },
      config: { enableSystemLogQuery },
      flags: { rootDir: '/var/lib/kubelet', enableHeapSnapshots: false },
      gates: { NodeLogQuery },
      host: {
        logFiles: (options) => {
          opened.push(options);
          return { open: async () => undefined };
        },
        journal: { units: async () => undefined, read: nothing },
        containerLogDirs: ['/var/log/pods', '/var/log/containers'],
      },
      process: {
        profiler: { cpu: nothing, allocations: nothing, heap: nothing, resources: nothing, commandLine: [] },
        versions: { node: 'v20', binary: 'v1', emulation: '1' },
        verbosity: undefined,
      },
      paths: () => [],
      clock: { now: () => 0 },
    });
    expect(opened).toEqual([{ root: '/var/log', others: ['/var/log/pods', '/var/log/containers'] }]);
    expect(logVerbosity).toBeUndefined();
    if (systemLogs === undefined) throw new Error('no handler');
    const { status: got } = await ask(systemLogs, 'GET /logs/a?query=kubelet', {}, { logpath: 'a' });
    expect(got).toBe(status);
  },
);

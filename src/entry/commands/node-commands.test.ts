// The commands that show a node, against a fake kubelet on a unix socket.
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeNodeServer } from '../../../test/fakes/fake-node-server.ts';
import { Aborted } from '../../base/errors.ts';
import type { SubcommandName } from '../../config/command-line/subcommands.ts';
import type { CommandOutput } from './command-call.ts';
import { ReaderGone } from './process-output.ts';
import { runWithOutput } from './run-subcommand.ts';

const evil = '\u001b]0;t\u0007\u202e';
const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const status = (name: string, containerID = `containerd://${name}-1`) => ({
  name,
  image: 'i',
  imageID: 'i',
  ready: true,
  restartCount: 0,
  containerID,
  state: running,
});

function pod(namespace: string, name: string, containers: readonly string[]) {
  return {
    metadata: { namespace, name, uid: `uid-${name}` },
    spec: {
      containers: containers.map((each) => ({ name: each, image: 'busybox' })),
      volumes: [{ name: 'data', emptyDir: {} }],
    },
    status: {
      phase: 'Running',
      podIP: '10.0.0.2',
      containerStatuses: containers.map((each) => status(each)),
    },
  };
}

const pods = { items: [pod('default', 'hello-node', ['web', 'clock']), pod('other', 'db', ['db'])] };
const explained = {
  pods: [
    {
      namespace: 'default',
      name: 'hello-node',
      uid: 'uid-hello-node',
      explanation: `running ${evil}`,
      since: '2026-01-01T00:00:00Z',
      events: [
        {
          type: 'Warning',
          reason: 'BackOff',
          message: evil,
          count: 2,
          lastTimestamp: '2026-01-01T00:00:00Z',
        },
      ],
    },
  ],
};
const records = {
  records: [
    {
      id: 'c/1',
      time: '2026-01-01T00:00:00Z',
      kind: 'exit',
      namespace: 'default',
      pod: 'gone-node',
      container: 'web',
      cause: `Container web exited ${evil}`,
      exitCode: 3,
      lastLines: ['last\tline', evil],
    },
  ],
  more: true,
};

let node: FakeNodeServer;
let stop: AbortController;
beforeEach(async () => {
  node = new FakeNodeServer();
  stop = new AbortController();
  node.answers.set('/pods', JSON.stringify(pods));
  node.answers.set('/explain', JSON.stringify(explained));
  node.answers.set('/explain/history', JSON.stringify(records));
  await node.start();
});
afterEach(() => node.remove());

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly columns?: number;
  readonly onPrint?: (text: string) => void;
}

async function run(line: string, options: RunOptions = {}): Promise<Outcome> {
  const [name = '', ...args] = line.split(' ').filter((word) => word !== '');
  let stdout = '';
  let stderr = '';
  const output: CommandOutput = {
    print: async (text) => {
      stdout += String(typeof text === 'string' ? text : Buffer.from(text));
      options.onPrint?.(stdout);
    },
    warn: (text) => (stderr += text),
    columns: () => options.columns,
    rows: () => (options.columns === undefined ? undefined : 10),
    colours: false,
  };
  const all = args.some((word) => word.startsWith('--server') || word.startsWith('--root-dir'))
    ? args
    : [...args, '--root-dir', node.rootDir];
  const code = await runWithOutput(name as SubcommandName, { args: all, signal: stop.signal }, output);
  return { code, stdout, stderr };
}

describe('ps', () => {
  test('lists pods with what they wait for', async () => {
    const { code, stderr, stdout } = await run('ps');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^POD +READY +STATUS +RESTARTS +AGE +IP +EXPLANATION\n/);
    expect(stdout).toContain('running \\x1b]0;t\\x07\\u202e');
    expect(stdout).toMatch(/\nother\/db +1\/1 +Running +0 +10\.0\.0\.2\n$/);
  });
  test('-n selects, -o json has the texts as they are', async () => {
    expect((await run('ps -n other')).stdout).not.toContain('hello');
    const { stdout } = await run('ps -o json -n default');
    expect(stdout).toMatch(/^[\x20-\x7e\n]*$/);
    expect(JSON.parse(stdout)).toMatchObject({
      items: [{ name: 'hello-node', explanation: `running ${evil}` }],
    });
  });
  test('a kubelet without /explain', async () => {
    node.answers.delete('/explain');
    expect((await run('ps')).code).toBe(0);
  });
  test('--watch prints changes until a signal', async () => {
    const { code, stdout } = await run('ps -w', { onPrint: () => stop.abort(new Aborted('SIGINT')) });
    expect(code).toBe(130);
    expect(stdout).toMatch(
      /^[\d:]{8} default\/hello-node: web Running, restarts 0, pod Running at 10\.0\.0\.2\n/,
    );
  });
  test('--watch draws within a terminal', async () => {
    const { stdout } = await run('ps -w', { columns: 40, onPrint: () => stop.abort(new Aborted('SIGTERM')) });
    const lines = stdout.replaceAll(/\p{Cc}\[[\dHJK]*/gu, '').split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(40);
  });
});

describe('explain', () => {
  const detail = {
    row: {
      uid: 'uid-hello-node',
      namespace: 'default',
      name: 'hello-node',
      status: 'Running',
      tone: 'good',
      sentence: `from the stream ${evil}`,
      ready: 2,
      containers: 2,
      restarts: 1,
      ip: '',
      source: 'file',
    },
    starts: [
      {
        beginMs: 1000,
        readyMs: 2000,
        from: 'recorded',
        stages: [{ stage: 'pull', container: evil, beginMs: 1000, endMs: 1500 }],
      },
    ],
    probes: [
      {
        container: 'web',
        kind: 'readiness',
        periodSeconds: 10,
        runs: [
          { result: 'success', count: 30, firstMs: 0, lastMs: 1, slowestMs: 5 },
          { result: 'failure', count: 2, firstMs: 2, lastMs: 3, slowestMs: 5, output: evil },
        ],
      },
    ],
    ends: [{ id: 'c/1', atMs: 0, kind: 'exit', container: 'web', cause: 'It exited.', lastLines: ['bye'] }],
    containers: [],
    volumes: [{ name: 'data', kind: 'emptyDir', mounted: false, detail: 'mounting' }],
    events: [],
    pod: {},
  };
  test('prints the start, probes, ends and volumes of the stream', async () => {
    const events = `event: hello\ndata: {}\n\nevent: pod\ndata: ${JSON.stringify(detail)}\n\n`;
    node.answers.set('/ui/api/stream', (response) => response.write(events));
    const { code, stdout } = await run('explain hello');
    expect(code).toBe(0);
    expect(node.requests).toContain('/ui/api/stream?pod=uid-hello-node');
    expect(stdout).toMatch(/^[\x20-\x7e█·×…\n]*$/);
    expect(stdout).toContain('from the stream \\x1b]0;t\\x07\\u202e');
    expect(stdout).toContain('ready after 1.00 s');
    expect(stdout).toMatch(/pull \\x1b]0;t\\x07\\u202e {2}█+·+ {2}500 ms/);
    expect(stdout).toMatch(/readiness of web, every 10s: ok ×30, failed ×2; failed .* ago: \\x1b/);
    expect(stdout).toContain('| bye');
    expect(stdout).toMatch(/data +emptyDir +not mounted +mounting/);
  });
  test('a kubelet without the stream: /explain, /pods and the history', async () => {
    const { code, stdout } = await run('explain hello');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^[\x20-\x7e\n]*$/);
    expect(stdout).toMatch(/web +regular +Running/);
    expect(stdout).toContain('exited \\x1b]0;t');
    expect(stdout).toMatch(/Warning +BackOff +2/);
  });
  test('-o json', async () => {
    expect(JSON.parse((await run('explain db -o json')).stdout)).toMatchObject({ row: { name: 'db' } });
  });
  test('--eviction', async () => {
    const thresholds = [{ quantity: '104857600', kind: 'hard', graceSeconds: 0, met: false }];
    const answer = {
      explanation: 'No eviction threshold is met.',
      signals: [{ signal: 'memory.available', available: 2 ** 30, capacity: 2 ** 31, thresholds }],
      order: [
        {
          resource: 'memory',
          signals: ['memory.available'],
          pods: [{ pod: 'a/b', evictable: true, why: evil }],
        },
      ],
    };
    node.answers.set('/explain/eviction', JSON.stringify(answer));
    const { stdout } = await run('explain --eviction');
    expect(stdout).toMatch(/memory\.available +1024Mi +2048Mi +< 100Mi +hard +not met/);
    expect(stdout).toMatch(/1 +a\/b +yes +\\x1b\]0;t/);
  });
  test('an ambiguous and an unknown pod', async () => {
    node.answers.set('/pods', JSON.stringify({ items: [...pods.items, pod('other', 'hello-2', ['a'])] }));
    expect(await run('explain hello')).toMatchObject({
      code: 1,
      stderr: 'kubelet explain: hello is ambiguous, it may be default/hello-node, other/hello-2\n',
    });
    expect((await run('explain none')).stderr).toMatch(/^kubelet explain: no pod none on this node/);
  });
});

describe('history', () => {
  test('lists ends, with the last lines on request', async () => {
    const { code, stderr, stdout } = await run('history --limit 5');
    expect([code, stderr]).toEqual([0, 'There are older ends: --limit shows up to 1000.\n']);
    expect(node.requests).toContain('/explain/history?limit=5');
    expect(stdout).toMatch(/^[\x20-\x7e\n]*$/);
    expect(stdout).toMatch(/\n2026-01-01T00:00:00Z +default\/gone-node +web +Container web exited \\x1b/);
    expect((await run('history --lines')).stdout).toContain('  | last    line\n  | \\x1b]0;t');
  });
  test('finds a pod that is gone', async () => {
    expect((await run('history gone')).stdout).toContain('  | last');
    expect(node.requests.at(-1)).toBe('/explain/history?pod=default%2Fgone-node&limit=20');
    await run('history default/older');
    expect(node.requests.at(-1)).toBe('/explain/history?pod=default%2Folder&limit=20');
  });
  test('a port without it', async () => {
    node.answers.delete('/explain/history');
    expect((await run('history')).stderr).toMatch(
      /^kubelet history: this kubelet does not serve its history here/,
    );
  });
});

describe('top', () => {
  const summary = (seconds: number) =>
    JSON.stringify({
      node: {
        nodeName: 'n1',
        cpu: { time: new Date(seconds * 1000).toISOString(), usageCoreNanoSeconds: seconds * 5e8 },
        memory: { workingSetBytes: 2 ** 30, availableBytes: 2 ** 30 },
      },
      pods: [
        {
          podRef: { namespace: 'default', name: 'web', uid: 'u' },
          memory: { workingSetBytes: 5 * 2 ** 20 },
          containers: [
            {
              name: 'app',
              startTime: 't',
              cpu: { time: new Date(seconds * 1000).toISOString(), usageCoreNanoSeconds: seconds * 2.5e8 },
            },
          ],
        },
      ],
    });
  test('of two summaries, with containers', async () => {
    let seconds = 0;
    node.answers.set('/stats/summary', (response) => response.end(summary((seconds += 1))));
    const { stdout } = await run('top --containers');
    expect(stdout).toMatch(/n1 +500m +1024Mi +50%/);
    expect(stdout).toMatch(/default\/web +\? +5Mi\n +app +250m +\?\n/);
  });
  test('of the stream', async () => {
    const events = [
      ['hello', { nodeName: 'n1' }],
      ['node', { cpu: { capacityMillis: 2000 }, memory: { capacityBytes: 4 * 2 ** 30 } }],
      [
        'pods',
        {
          all: true,
          gone: [],
          rows: [
            { uid: 'a', namespace: 'x', name: 'a' },
            { uid: 'b', namespace: 'x', name: 'b' },
          ],
        },
      ],
      ['usage', { atMs: 0, node: [null, 1], pods: {} }],
      ['usage', { atMs: 1, node: [1000, 2 ** 30], pods: { a: [5, 2 ** 20], b: [7, null] } }],
    ] as const;
    const text = events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('');
    node.answers.set('/ui/api/stream', (response) => response.write(text));
    const { stdout } = await run('top');
    expect(stdout).toMatch(/n1 +1000m +50% +1024Mi +25%/);
    expect(stdout).toMatch(/x\/b +7m +\?\nx\/a +5m +1Mi\n$/);
    expect(JSON.parse((await run('top -o json --sort name')).stdout)).toMatchObject({
      pods: [{ name: 'x/a', cpuMillis: 5 }, { name: 'x/b' }],
    });
  });
});

describe('failures are one line that says what to do', () => {
  test('no socket, and no kubelet', async () => {
    await node.stop();
    expect(await run('ps')).toEqual({
      code: 1,
      stdout: '',
      stderr: `kubelet ps: there is no socket ${node.socketPath}: is the kubelet running, and is this its --root-dir? --server connects to a port instead\n`,
    });
    writeFileSync(node.socketPath, '');
    expect((await run('ps')).stderr).toBe(
      `kubelet ps: no kubelet listens on ${node.socketPath}: is it running?\n`,
    );
  });
  test.each([
    [401, /does not know this client \(401\): set --client-certificate/],
    [403, /denies GET \/pods \(403\): rejected with 403/],
    [404, /does not serve \/pods \(404\)/],
    [500, /: rejected with 500 \(500\)/],
  ])('status %i', async (code, message) => {
    node.answers.set('/pods', code);
    const outcome = await run('ps');
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toMatch(message);
    expect(outcome.stderr.trim().split('\n')).toHaveLength(1);
  });
  test('no JSON, and a hostile message', async () => {
    node.answers.set('/pods', '<html>');
    expect((await run('ps')).stderr).toBe(
      'kubelet ps: the server did not answer with JSON: is it a kubelet?\n',
    );
    node.answers.set('/pods', (response) => response.writeHead(500).end(evil));
    expect((await run('ps')).stderr).toMatch(/^kubelet ps: [^\p{Cc}\p{Cf}]+\n$/u);
  });
  test('wrong arguments', async () => {
    const usages = [
      'ps --server x',
      'ps --token-file x',
      'logs a --tail x',
      'logs a --since x',
      'logs a -f -p',
      'explain',
      'ps -w -o json',
      'history --limit 0',
    ];
    for (const line of usages) expect([line, (await run(line)).code]).toEqual([line, 2]);
    expect((await run('ps --server http://1.2.3.4 --token-file /dev/null')).stderr).toContain(
      '--token-file needs https',
    );
    expect((await run('ps --server https://x --token-file /none')).stderr).toBe(
      'kubelet ps: failed to read --token-file /none: ENOENT\n',
    );
  });
});

describe('logs', () => {
  const webPath = '/containerLogs/default/hello-node/web';
  const clockPath = '/containerLogs/default/hello-node/clock';
  test('prints the bytes of the first container, and names the others', async () => {
    node.answers.set(webPath, `one\n${evil}\n`);
    expect(await run('logs hello --tail 5 --since 90s --timestamps')).toEqual({
      code: 0,
      stdout: `one\n${evil}\n`,
      stderr: 'Defaulted container "web" out of: web, clock\n',
    });
    expect(node.requests.at(-1)).toBe(`${webPath}?tailLines=5&sinceSeconds=90&timestamps=true`);
  });
  test('on a terminal escapes are visible, unless --raw', async () => {
    node.answers.set(webPath, `\u001b[31mred\u001b[0m ${evil}\n`);
    expect((await run('logs hello', { columns: 80 })).stdout).toBe(
      '\u001b[31mred\u001b[0m \\x1b]0;t\\x07\\u202e\n\u001b[0m',
    );
    expect((await run('logs hello --raw', { columns: 80 })).stdout).toContain(evil);
  });
  test('all containers, lines with a text, a prefix', async () => {
    node.answers.set(webPath, 'a 1\nb 2\n');
    node.answers.set(clockPath, 'b 3');
    expect(await run('logs default/hello-node --all-containers --prefix --grep b')).toMatchObject({
      stdout: '[pod/hello-node/web] b 2\n[pod/hello-node/clock] b 3',
    });
  });
  test('an unknown container, and the message of the kubelet', async () => {
    expect((await run('logs hello -c nope')).stderr).toContain(
      'no container nope in the pod; it has web, clock',
    );
    node.answers.set(webPath, (response) =>
      response.writeHead(400).end('{"message": "is waiting to start"}'),
    );
    expect((await run('logs hello -c web')).stderr).toBe('kubelet logs: is waiting to start (400)\n');
  });
  test('a reader that is gone is a clean end', async () => {
    node.answers.set(webPath, (response) => response.write('2026-01-01T00:00:00.000000001Z endless'));
    const gone = (): never => {
      throw new ReaderGone('the reader is gone');
    };
    expect(await run('logs hello -c web', { onPrint: gone })).toMatchObject({ code: 0, stderr: '' });
    expect(await run('logs hello -c web -f', { onPrint: gone })).toMatchObject({ code: 0, stderr: '' });
  });
  test('-f survives a restart of the kubelet and ends with the container', async () => {
    const line = (ns: number, text: string): string => `2026-01-01T00:00:00.00000000${ns}Z ${text}\n`;
    const all = [line(1, 'one'), line(2, 'two'), line(2, 'two'), line(3, 'three')];
    node.answers.set(webPath, (response) =>
      response.write(`${all.slice(0, 2).join('')}${all[2]?.slice(0, -3)}`),
    );
    const restart = async (): Promise<void> => {
      await node.stop();
      node.answers.set(webPath, 404);
      let rejections = 0;
      node.answers.set(webPath, (response, url) => {
        if (rejections++ === 0) {
          response.writeHead(404).end('pod "hello-node" does not exist');
          return;
        }
        const since = url.searchParams.get('sinceTime') ?? '';
        const ended = { ...pod('default', 'hello-node', ['web']), status: { containerStatuses: [] } };
        node.answers.set('/pods', JSON.stringify({ items: [ended] }));
        response.end(all.filter((each) => each.slice(0, 30) >= since).join(''));
      });
      await node.start();
    };
    let isRestarted = false;
    const { code, stderr, stdout } = await run('logs hello -c web -f --tail=3', {
      onPrint: (text) => {
        if (text.endsWith('t') && !isRestarted) {
          isRestarted = true;
          void restart();
        }
      },
    });
    expect(stdout).toBe('one\ntwo\ntwo\nthree\n');
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^kubelet logs: the connection ended \(.*\), reconnecting\nkubelet logs: reconnected\n$/,
    );
    expect(node.requests.filter((each) => each.startsWith(webPath)).at(0)).toBe(
      `${webPath}?tailLines=3&follow=true&timestamps=true`,
    );
  });
  test('-f ends with SIGINT', async () => {
    node.answers.set(webPath, (response) => response.write('2026-01-01T00:00:00.000000001Z one\n'));
    const { code, stdout } = await run('logs hello -c web -f', {
      onPrint: () => stop.abort(new Aborted('SIGINT')),
    });
    expect([code, stdout]).toEqual([130, 'one\n']);
  });
});

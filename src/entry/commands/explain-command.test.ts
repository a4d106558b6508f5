// kubelet explain and top against a fake kubelet.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CommandRig, hostileText, nodePods, runningPod } from '../../../test/builders/command-rig.ts';

let rig: CommandRig;
let node: CommandRig['node'];
const run: CommandRig['run'] = (...args) => rig.run(...args);
beforeEach(async () => {
  rig = new CommandRig();
  ({ node } = rig);
  await node.start();
});
afterEach(() => node.remove());

describe('explain', () => {
  const detail = {
    row: {
      uid: 'uid-hello-node',
      namespace: 'default',
      name: 'hello-node',
      status: 'Running',
      tone: 'good',
      sentence: `from the stream ${hostileText}`,
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
        stages: [{ stage: 'pull', container: hostileText, beginMs: 1000, endMs: 1500 }],
      },
    ],
    probes: [
      {
        container: 'web',
        kind: 'readiness',
        periodSeconds: 10,
        runs: [
          { result: 'success', count: 30, firstMs: 0, lastMs: 1, slowestMs: 5 },
          { result: 'failure', count: 2, firstMs: 2, lastMs: 3, slowestMs: 5, output: hostileText },
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
          pods: [{ pod: 'a/b', evictable: true, why: hostileText }],
        },
      ],
    };
    node.answers.set('/explain/eviction', JSON.stringify(answer));
    const { stdout } = await run('explain --eviction');
    expect(stdout).toMatch(/memory\.available +1024Mi +2048Mi +< 100Mi +hard +not met/);
    expect(stdout).toMatch(/1 +a\/b +yes +\\x1b\]0;t/);
  });
  test('an ambiguous and an unknown pod', async () => {
    node.answers.set(
      '/pods',
      JSON.stringify({ items: [...nodePods.items, runningPod('other', 'hello-2', ['a'])] }),
    );
    expect(await run('explain hello')).toMatchObject({
      code: 1,
      stderr: 'kubelet explain: hello is ambiguous, it may be default/hello-node, other/hello-2\n',
    });
    expect((await run('explain none')).stderr).toMatch(/^kubelet explain: no pod none on this node/);
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

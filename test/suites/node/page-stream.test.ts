// The stream of the node's page on a whole kubelet: what a viewer sees of pods that start, crash and go.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HttpAnswer, HttpRequest } from '../../../src/api/ports/http.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { EventStreamClient } from '../../clients/event-stream-client.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
const clients: EventStreamClient[] = [];

beforeEach(async () => {
  node = new FakeNode({ config: { maxPods: 10 } });
  await node.start();
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.disconnect();
  await node.stop();
});

function get(query: string): Promise<HttpAnswer> {
  const request: HttpRequest = {
    method: 'GET',
    path: '/ui/api/stream',
    query: new URLSearchParams(query),
    headers: {},
    signal: new AbortController().signal,
    upgrade: false,
    certificate: undefined,
    readBody: async () => new Uint8Array(),
  };
  return node.request(request);
}

async function connect(query = ''): Promise<EventStreamClient> {
  const client = new EventStreamClient(await get(query)).read();
  clients.push(client);
  await node.clock.advance(10);
  return client;
}

const script = (text: string) => aContainer({ command: ['sh', '-c', text] });
const column = (client: EventStreamClient): readonly string[] =>
  [...client.rows.values()].map(({ name, ready, containers, restarts, status, tone }) =>
    [name, `${ready}/${containers}`, status, restarts, tone].join(' '),
  );

test('a new connection gets every level, then a sample and the node each second', async () => {
  node.write('p.yaml', aPod());
  await node.clock.advance(2_000);
  const client = await connect('health=1');
  expect(client.names().slice(0, 5)).toEqual(['hello', 'usage', 'node', 'pods', 'samples']);
  expect(client.retryMs).toBe(2_000);
  expect(client.latest('hello')).toMatchObject({
    nodeName: 'n',
    samplePeriodMs: 1_000,
    may: { logs: true, exec: false },
  });
  expect(client.latest('pods').all).toBe(true);
  expect(column(client)).toEqual(['p-n 1/1 Running 0 good']);
  expect(client.latest('node')).toMatchObject({
    ready: { ok: true, why: 'all health checks of the kubelet pass' },
    cpu: { capacityMillis: 2_000 },
    pods: { running: 1, total: 1, max: 10 },
    runtime: { ok: true },
    configuration: { state: 'static', pending: [] },
  });
  await node.clock.advance(3_000);
  expect(client.all('usage').length).toBe(4);
  expect(client.latest('usage').pods).toEqual({ 'uid-p': [null, null] });
  expect(client.latest('node').disks).toMatchObject([{ name: 'nodefs', capacityBytes: 100_000 }]);
  expect(client.latest('node').runtime.version).not.toBe('');
  expect(client.latest('health').checks.map(({ name }) => name)).toContain('pleg');
  expect(client.latest('health').viewers).toBe(1);
});

test('a pod that starts, crashes and is removed is seen in each state', async () => {
  const client = await connect();
  expect(column(client)).toEqual([]);
  const stall = node.cri.faults.stall('createContainer');
  node.write('p.yaml', aPod({ containers: [script('sleep 2; exit 3')] }));
  await node.clock.advance(1_500);
  expect(column(client)).toEqual(['p-n 0/1 ContainerCreating 0 busy']);
  stall.release();
  await node.clock.advance(1_000);
  expect(column(client)).toEqual(['p-n 1/1 Running 0 good']);
  await node.clock.advance(6_000);
  expect(column(client)).toEqual(['p-n 0/1 CrashLoopBackOff 1 bad']);
  const row = client.rows.get('uid-p');
  expect(row?.sentence).toContain('container c: CrashLoopBackOff: back-off 10s');
  expect(row?.lastRestartMs).toBeGreaterThan(0);
  expect(row?.source).toBe('file');
  node.remove('p.yaml');
  await node.clock.advance(40_000);
  expect(column(client)).toEqual([]);
});

test('a terminating pod is shown with its grace period until it is gone', async () => {
  node.write('p.yaml', aPod({ containers: [script('trap "" TERM; sleep 1000')] }));
  await node.clock.advance(2_000);
  const client = await connect();
  node.remove('p.yaml');
  await node.clock.advance(5_000);
  expect(column(client)).toEqual(['p-n 1/1 Terminating 0 busy']);
  expect(client.rows.get('uid-p')?.sentence).toMatch(/, 2[4-6] of 30 s of grace left/);
  await node.clock.advance(60_000);
  expect(column(client)).toEqual([]);
});

test('the detail of a pod follows its containers, events and ends', async () => {
  node.write('p.yaml', aPod({ containers: [script('sleep 2; exit 3')] }));
  await node.clock.advance(1_500);
  const client = await connect('pod=uid-p');
  expect(client.latest('pod')).toMatchObject({
    row: { status: 'Running' },
    containers: [{ name: 'c', role: 'regular', state: 'Running', tone: 'good', hasPrevious: false }],
    ends: [],
    pod: { metadata: { name: 'p-n' }, status: { phase: 'Running' } },
  });
  const before = client.all('pod').length;
  await node.clock.advance(500);
  expect(client.all('pod').length - before).toBeLessThanOrEqual(1);
  await node.clock.advance(9_000);
  const detail = client.latest('pod');
  expect(detail?.containers).toMatchObject([
    { state: expect.stringContaining('CrashLoopBackOff: '), hasPrevious: true },
  ]);
  expect(detail?.containers[0]?.backoffUntilMs).toBeGreaterThan(node.clock.now());
  expect(detail?.events.map(({ reason }) => reason)).toContain('BackOff');
  expect(detail?.ends[0]).toMatchObject({
    kind: 'exit',
    exitCode: 3,
    cause: 'Container c exited with an error (exit code 3).',
  });
  node.remove('p.yaml');
  await node.clock.advance(60_000);
  expect(client.latest('pod')).toBeNull();
});

test('a detail is not sent again while nothing of it changes', async () => {
  node.write('p.yaml', aPod());
  await node.clock.advance(3_000);
  const client = await connect('pod=uid-p');
  await node.clock.advance(10_000);
  const count = client.all('pod').length;
  await node.clock.advance(60_000);
  expect(client.all('pod').length).toBe(count);
});

test('an unknown pod is null', async () => {
  const client = await connect('pod=nothing');
  expect(client.latest('pod')).toBeNull();
});

test('a reconnect gets the same levels as the connection before', async () => {
  node.write('p.yaml', aPod());
  node.write('q.yaml', aPod({ name: 'q', containers: [script('exit 1')] }));
  await node.clock.advance(2_000);
  const first = await connect('pod=uid-q');
  await node.clock.advance(20_000);
  const second = await connect('pod=uid-q');
  expect([...second.rows]).toEqual([...first.rows]);
  expect(second.latest('pod')).toEqual(first.latest('pod'));
  expect(second.latest('samples').map(({ atMs }) => atMs)).toEqual(
    first.all('usage').map(({ atMs }) => atMs),
  );
  const doubled = second
    .all('usage')
    .filter(({ atMs }) => second.latest('samples').some((each) => each.atMs === atMs));
  expect(doubled).toEqual([]);
});

test('a stopping kubelet notifies its viewers, and the next one shows the same pods to those that reconnect', async () => {
  node.write('p.yaml', aPod());
  await node.clock.advance(2_000);
  const client = await connect();
  const before = column(client);
  await node.stop();
  expect(client.latest('bye')).toEqual({ why: 'the kubelet is stopping', retryMs: 2_000 });
  expect(client.hasEnded).toBe(true);
  await node.start();
  await node.clock.advance(2_000);
  expect(column(await connect())).toEqual(before);
});

test('nothing runs before the first viewer, and 5 s after the last one', async () => {
  node.write('p.yaml', aPod());
  await node.clock.advance(30_000);
  const timers = node.clock.pendingTimers();
  const client = await connect('pod=uid-p&health=1');
  expect(node.clock.pendingTimers()).toBeGreaterThan(timers);
  await client.disconnect();
  await node.clock.advance(5_000);
  expect(node.clock.pendingTimers()).toBe(timers);
});

test('500 pods are shown, most of them rejected, and a change is sent alone', async () => {
  const pods = Array.from({ length: 500 }, (_, index) => aPod({ name: `p${index}` }));
  node.setApiPods(...pods);
  await node.clock.advance(500);
  const client = await connect();
  expect(client.rows.size).toBe(500);
  await node.clock.advance(1_000);
  const words = [...client.rows.values()].map(({ status, tone }) => `${status} ${tone}`);
  expect(words.filter((word) => word === 'Running good').length).toBe(10);
  expect(words.filter((word) => word === 'OutOfpods bad').length).toBe(490);
  const changes = client.all('pods').length;
  node.setApiPods(...pods.slice(0, 499));
  await node.clock.advance(2_000);
  const later = client.all('pods').slice(changes);
  expect(later.some(({ all }) => all)).toBe(false);
  expect(later.flatMap(({ gone }) => gone)).toEqual(['uid-p499']);
  expect(client.rows.size).toBe(499);
});

test.each([
  ['\n'],
  ['\r'],
  ['\r\n'],
  ['\u2028'],
  ['\n\nevent: bye\ndata: {}\n\n'],
  ['</script><img src=x onerror=alert(1)>'],
])('the text %j in every field stays a text', async (evil) => {
  const pod = aPod({
    annotations: { 'kubernetes.io/config.source': evil, [evil]: evil },
    labels: { [evil]: evil },
    volumes: [{ name: evil, hostPath: { path: evil } }],
    containers: [aContainer({ name: evil, image: evil, env: [{ name: evil, value: evil }] })],
  });
  node.setApiPods({
    ...pod,
    metadata: { ...pod.metadata, name: evil, namespace: evil, uid: `uid-p${evil}` },
  });
  await node.clock.advance(2_000);
  const client = await connect(`health=1&${String(new URLSearchParams({ pod: `uid-p${evil}` }))}`);
  await node.clock.advance(2_000);
  expect(new Set(client.names())).toEqual(
    new Set(['hello', 'usage', 'node', 'pods', 'samples', 'pod', 'health']),
  );
  expect([...client.rows.values()]).toMatchObject([{ name: evil, namespace: evil }]);
  expect(client.latest('pod')?.pod).toMatchObject({ metadata: { labels: { [evil]: evil } } });
  expect(client.latest('pod')?.containers[0]?.name).toBe(evil);
});

// The history of ends on a whole kubelet: what is recorded, once, and served after pod and kubelet are gone.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { HttpRequest } from '../../../src/api/ports/http.ts';
import type { EndRecord } from '../../../src/history/end-record.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

async function history(query = ''): Promise<readonly EndRecord[]> {
  const request: HttpRequest = {
    method: 'GET',
    path: '/explain/history',
    query: new URLSearchParams(query),
    headers: {},
    signal: new AbortController().signal,
    upgrade: false,
    certificate: undefined,
    readBody: async () => new Uint8Array(),
  };
  const answer = await node.request(request);
  if (!('body' in answer) || typeof answer.body !== 'string') throw new Error('not a text');
  expect(answer.status).toBe(200);
  return (JSON.parse(answer.body) as { readonly records: readonly EndRecord[] }).records;
}
const causes = async (query?: string): Promise<readonly string[]> =>
  (await history(query)).map(({ cause }) => cause);

const script = (text: string) => aContainer({ command: ['sh', '-c', text] });

test('each exit of a crash loop is recorded once, newest first', async () => {
  node.write('p.yaml', aPod({ containers: [script('exit 3')] }));
  await node.clock.advance(45_000);
  const records = await history('pod=default/p-n');
  expect(records.length).toBeGreaterThan(2);
  expect(records.map(({ figures }) => figures['restartCount'])).toEqual(
    records.map((_, index) => records.length - 1 - index),
  );
  expect(new Set(records.map(({ cause }) => cause))).toEqual(
    new Set(['Container c exited with an error (exit code 3).']),
  );
  expect(records[0]?.timeline.map(({ what }) => what)).toContain('container started');
});

test('a removed pod is recorded with its cause and stays in the history', async () => {
  node.write('p.yaml', aPod());
  await node.clock.advance(1_000);
  node.remove('p.yaml');
  await node.clock.advance(40_000);
  expect(node.explanation('uid-p')).toBeUndefined();
  const [record, ...others] = await history('uid=uid-p');
  expect(others).toEqual([]);
  expect(record).toMatchObject({
    kind: 'exit',
    pod: 'p-n',
    cause: expect.stringContaining('was stopped because the pod was removed from its source'),
  });
});

test('an evicted pod is recorded with the rule and the figures of that moment', async () => {
  node.write('p.yaml', aPod());
  await node.clock.advance(1_000);
  const evidence = { rule: 'memory.available<100Mi', figures: { available: '90Mi' } };
  const killed = node.killPod('uid-p', { reason: 'Evicted', message: 'low', evicted: true, evidence });
  await node.clock.advance(40_000);
  await killed;
  const [container, pod] = await history();
  expect(pod).toMatchObject({ kind: 'evicted', cause: 'The pod was evicted: low.', ...evidence });
  expect(pod?.figures).toMatchObject({ nodefsAvailableBytes: 60_000, nodeProcesses: 7 });
  expect(container).toMatchObject({ kind: 'exit', rule: evidence.rule });
  expect(container?.cause).toContain('because its pod was evicted: low');
});

test('a rejected pod and an exceeded deadline are recorded', async () => {
  const resources = { requests: { cpu: '64' } };
  node.write('big.yaml', aPod({ name: 'big', containers: [aContainer({ resources })] }));
  node.write('late.yaml', aPod({ name: 'late', activeDeadlineSeconds: 5 }));
  await node.clock.advance(60_000);
  expect(await causes('uid=uid-big')).toEqual([
    expect.stringMatching(/^The kubelet rejected the pod \(UnexpectedAdmissionError\): .*cpu/),
  ]);
  expect((await history('uid=uid-late')).map(({ kind }) => kind)).toEqual(['exit', 'deadline']);
});

test('a failed liveness probe is the cause', async () => {
  node.probes.tcp = async () => ({ result: 'failure', output: 'refused' });
  const livenessProbe = { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 1 };
  node.write(
    'p.yaml',
    aPod({ containers: [aContainer({ livenessProbe })], terminationGracePeriodSeconds: 1 }),
  );
  await node.clock.advance(8_000);
  expect((await causes()).at(-1)).toMatch(
    /^Container c was stopped by the kubelet because it failed its liveness probe/,
  );
});

test('a kubelet that is killed keeps its records, repeats none, and records what ended meanwhile', async () => {
  node.write('done.yaml', aPod({ name: 'done', restartPolicy: 'Never', containers: [script('exit 4')] }));
  node.write(
    'runs.yaml',
    aPod({ name: 'runs', restartPolicy: 'Never', containers: [script('sleep 20; exit 5')] }),
  );
  await node.clock.advance(5_000);
  expect(await causes()).toEqual(['Container c exited with an error (exit code 4).']);
  await node.kill();
  await node.clock.advance(30_000);
  await node.start();
  await node.clock.advance(5_000);
  const codes = (await history()).map(({ exitCode }) => exitCode);
  expect(codes).toEqual([5, 4]);
  await node.stop();
  await node.start();
  await node.clock.advance(5_000);
  expect(await history()).toHaveLength(2);
});

test('after 200 pods were deleted at once, each has its record', async () => {
  for (let index = 0; index < 200; index++) node.write(`p${index}.yaml`, aPod({ name: `p${index}` }));
  await node.clock.advance(30_000);
  for (let index = 0; index < 200; index++) node.remove(`p${index}.yaml`);
  await node.clock.advance(60_000);
  const records = await history('limit=1000');
  expect(new Set(records.map(({ uid }) => uid)).size).toBe(200);
  expect(records).toHaveLength(200);
});

// What a whole kubelet records for its page: the stages of starts, the runs of probe results, the load of its loops.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Container } from '../../../src/api/k8s/types.ts';
import { asPodUid } from '../../../src/api/pod/pod-ref.ts';
import type { PodStart } from '../../../src/api/ports/node-page.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

const uid = asPodUid('uid-p');
const pulled = 'docker.io/library/pulled:1';

let node: FakeNode;
let beganMs: number;
beforeEach(async () => {
  node = new FakeNode();
  node.cri.publishImage({ name: pulled });
  await node.start();
  beganMs = node.clock.now();
});
afterEach(async () => await node.stop());

const run = (name: string, script: string, over: Partial<Container> = {}): Container =>
  aContainer({ name, command: ['sh', '-c', script], ...over });
const starts = (): readonly PodStart[] => node.page.starts.of(uid);
/** `sandbox 0 200`: begin and end in milliseconds since the beginning of the test. */
const lines = (start: PodStart | undefined): readonly string[] =>
  (start?.stages ?? []).map(({ beginMs, container, detail, endMs, error, stage }) =>
    [
      container === undefined ? stage : `${stage} ${container}`,
      beginMs - beganMs,
      endMs === undefined ? '…' : endMs - beganMs,
      ...(detail === undefined ? [] : [detail]),
      ...(error === undefined ? [] : [`failed: ${error}`]),
    ].join(' '),
  );

describe('stages of starts', () => {
  test('of a pod with an init container, a volume, a pull, a hook and a probe, in order', async () => {
    node.cri.faults.latency('pullImage', 3_000);
    node.cri.faults.latency('runPodSandbox', 200);
    node.cri.faults.latency('createContainer', 30);
    node.cri.faults.latency('startContainer', 50);
    const c = run('c', 'sleep 4; touch /tmp/ok; sleep 1000', {
      image: pulled,
      readinessProbe: { exec: { command: ['cat', '/tmp/ok'] }, periodSeconds: 1 },
      lifecycle: { postStart: { exec: { command: ['true'] } } },
    });
    const volumes = [{ name: 'v', emptyDir: {} }];
    node.write('p.yaml', aPod({ volumes, initContainers: [run('i', 'sleep 2')], containers: [c] }));
    await node.clock.advance(1_000);
    expect(lines(starts()[0])).toEqual([
      'admit 0 0',
      'volumes 0 0',
      'sandbox 0 200',
      'create i 200 230',
      'start i 230 280',
      'run i 280 …',
    ]);
    await node.clock.advance(20_000);
    const [start, ...others] = starts();
    expect(others).toEqual([]);
    expect(lines(start)).toEqual([
      'admit 0 0',
      'volumes 0 0',
      'sandbox 0 200',
      'create i 200 230',
      'start i 230 280',
      'run i 280 2280',
      `pull c 2280 5280 ${pulled}`,
      'create c 5280 5310',
      'start c 5310 5360',
      'first-probe c 5360 9360',
      'postStart c 5360 5360',
      'ready 9360 9362',
    ]);
    expect(start).toMatchObject({ from: 'recorded', beginMs: beganMs, readyMs: beganMs + 9_362 });
    expect(node.page.probeRuns.of(uid)).toMatchObject([
      {
        container: 'c',
        kind: 'readiness',
        periodSeconds: 1,
        runs: [{ result: 'failure' }, { result: 'success' }],
      },
    ]);
  });

  test('a crash is a start of its container; of a crash loop the last four are kept beside the first start', async () => {
    node.write('p.yaml', aPod({ containers: [run('c', 'sleep 1; exit 3'), run('d', 'sleep 100000')] }));
    await node.clock.advance(2_000);
    const [restart, first, ...none] = starts();
    expect(none).toEqual([]);
    expect(restart).toMatchObject({ restartOf: 'c', beginMs: beganMs + 1_000, readyMs: beganMs + 1_002 });
    expect(lines(restart)).toEqual(['create c 1000 1000', 'start c 1000 1000', 'ready 1000 1002']);
    expect(lines(first)).toEqual([
      'admit 0 0',
      'sandbox 0 0',
      'create c 0 0',
      'start c 0 0',
      'create d 0 0',
      'start d 0 0',
      'ready 0 2',
    ]);
    await node.clock.advance(1_200_000);
    expect(starts().map(({ restartOf }) => restartOf)).toEqual(['c', 'c', 'c', 'c', undefined]);
    expect(starts()[4]).toEqual(first);
  });

  test('a failed pull is a failed stage, and its retry another one', async () => {
    node.write(
      'p.yaml',
      aPod({ containers: [run('c', 'sleep 1000', { image: 'docker.io/library/none:1' })] }),
    );
    await node.clock.advance(12_000);
    const stages = starts()[0]?.stages.filter(({ stage }) => stage === 'pull') ?? [];
    expect(stages.length).toBeGreaterThan(1);
    for (const each of stages) {
      expect(each).toMatchObject({
        detail: 'docker.io/library/none:1',
        error: expect.stringContaining('not found'),
      });
    }
  });

  test('a rejected pod shows why in its admission', async () => {
    node.write(
      'p.yaml',
      aPod({ containers: [run('c', 'true', { resources: { requests: { cpu: '64' } } })] }),
    );
    await node.clock.advance(2_000);
    expect(lines(starts()[0])).toEqual([
      expect.stringMatching(/^admit 0 0 failed: UnexpectedAdmissionError: .*…$/),
    ]);
  });

  test('a pod of an earlier kubelet has a start from its status; a restart after that is recorded', async () => {
    const spec = [run('c', 'sleep 30; exit 1')];
    node.write('p.yaml', aPod({ initContainers: [run('i', 'sleep 2')], containers: spec }));
    await node.clock.advance(10_000);
    await node.stop();
    await node.start();
    await node.clock.advance(5_000);
    const [start, ...none] = starts();
    expect(none).toEqual([]);
    expect(start).toMatchObject({ from: 'status', beginMs: beganMs });
    expect(lines(start)).toEqual(['sandbox 0 0', 'start i 0 0', 'run i 0 2000', 'start c 2000 2000']);
    await node.clock.advance(30_000);
    const [restart, before] = starts();
    expect(restart).toMatchObject({ from: 'recorded', restartOf: 'c', beginMs: beganMs + 32_000 });
    expect(before).toMatchObject({ from: 'status', beginMs: beganMs });
  });

  test('a start that an earlier kubelet began is completed in the record', async () => {
    const containers = [run('c', 'sleep 1000')];
    node.write('p.yaml', aPod({ initContainers: [run('i', 'sleep 8')], containers }));
    await node.clock.advance(2_000);
    await node.kill();
    await node.start();
    await node.clock.advance(20_000);
    const [start, ...none] = starts();
    expect(none).toEqual([]);
    expect(start?.restartOf).toBeUndefined();
    expect(lines(start)).toEqual([
      'sandbox 0 0',
      'start i 0 0',
      'run i 0 8000',
      'create c 8000 8000',
      'start c 8000 8000',
      'ready 8000 8002',
    ]);
  });

  test('nothing is kept of a removed pod', async () => {
    node.write('p.yaml', aPod({ terminationGracePeriodSeconds: 1 }));
    await node.clock.advance(2_000);
    const announced: string[] = [];
    node.page.starts.changed.subscribe((each) => announced.push(each));
    node.remove('p.yaml');
    await node.clock.advance(60_000);
    expect([starts(), node.page.probeRuns.of(uid), announced.at(-1)]).toEqual([[], [], uid]);
  });
});

test('every loop reports its load, and a hanging call shows as an old run of its pod', async () => {
  node.cri.faults.latency('runPodSandbox', 20_000);
  node.write('p.yaml', aPod());
  await node.clock.advance(15_000);
  const loops = node.page.loops();
  expect(loops.find(({ name }) => name === 'pod-workers')).toEqual({
    name: 'pod-workers',
    running: 1,
    queued: 0,
    backingOff: 0,
    oldestRunMs: 15_000,
    oldestKey: uid,
  });
  expect(loops.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['pleg', 'status', 'volumes', 'eviction', 'file-source', 'housekeeping']),
  );
  expect(loops.filter(({ queued }) => queued > 0)).toEqual([]);
});

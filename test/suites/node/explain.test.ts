// The explanation of a pod for everything it can wait for, on a whole kubelet.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const explanation = (): string | undefined => node.explanation('uid-p');

test('explains a running pod', async () => {
  node.write('p.yaml', aPod());
  await node.clock.advance(1_000);
  expect(explanation()).toBe('running as specified');
  expect(node.eventLines('uid-p').at(-1)).toBe('Started: Container started');
});

test('keeps since when a pod runs as specified over resyncs', async () => {
  node.write('p.yaml', aPod());
  await node.clock.advance(1_000);
  const first = node.explainedSince('uid-p');
  await node.clock.advance(200_000);
  expect(explanation()).toBe('running as specified');
  expect(node.explainedSince('uid-p')).toBe(first);
});

test('explains a pod that waits for its readiness probe', async () => {
  const readinessProbe = { exec: { command: ['sh', '-c', 'exit 1'] }, periodSeconds: 1 };
  node.write('p.yaml', aPod({ containers: [aContainer({ readinessProbe })] }));
  await node.clock.advance(5_000);
  expect(explanation()).toBe('container c: its readiness probe does not succeed');
});

test('explains the second attempt of a pull', async () => {
  node.write('p.yaml', aPod({ containers: [aContainer({ image: 'docker.io/library/absent:1' })] }));
  await node.clock.advance(2_000);
  expect(explanation()).toContain('container c: ImagePullBackOff: ');
  const stall = node.cri.faults.stall('pullImage');
  await node.clock.advance(15_000);
  expect(explanation()).toBe('image docker.io/library/absent:1 is being pulled, attempt 2');
  stall.release();
});

test('explains a back-off, with its end', async () => {
  node.write('p.yaml', aPod({ containers: [aContainer({ command: ['sh', '-c', 'exit 1'] })] }));
  await node.clock.advance(3_000);
  expect(explanation()).toMatch(
    /^container c: CrashLoopBackOff: back-off 10s restarting failed container=c pod=p-n_default\(uid-p\), until 2026-11-15T12:00:1\d\.\d{3}Z$/,
  );
});

test('explains a running hook, and the remaining grace period', async () => {
  const lifecycle = { preStop: { sleep: { seconds: 20 } } };
  node.write('p.yaml', aPod({ containers: [aContainer({ lifecycle })], terminationGracePeriodSeconds: 30 }));
  await node.clock.advance(1_000);
  node.remove('p.yaml');
  await node.clock.advance(5_000);
  expect(explanation()).toMatch(
    /^terminating: .*, 25 of 30 s of grace left; the preStop hook of container c runs$/,
  );
  await node.clock.advance(60_000);
});

test('explains a volume that cannot be mounted', async () => {
  const volumes = [{ name: 'v', hostPath: { path: '/nowhere', type: 'Directory' } }];
  const volumeMounts = [{ name: 'v', mountPath: '/v' }];
  node.write('p.yaml', aPod({ volumes, containers: [aContainer({ volumeMounts })] }));
  await node.clock.advance(3_000);
  expect(explanation()).toMatch(/^volume v could not be mounted, \d attempts: /);
});

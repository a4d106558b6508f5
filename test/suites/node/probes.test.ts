// Probes on a whole kubelet, on the fake clock: their effect on status, restarts and readiness, also over kubelet
// restarts.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Container, PodStatus, Probe } from '../../../src/api/k8s/types.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
/** Every published status of all runs of the kubelet, in short form. */
let history: string[];

function short(status: PodStatus | undefined): string {
  const [container] = status?.containerStatuses ?? [];
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const state = Object.keys(container?.state ?? {})[0] ?? '-';
  return `${state} started=${container?.started} ready=${container?.ready}/${ready} restarts=${container?.restartCount}`;
}

async function start(): Promise<void> {
  await node.start();
  const { statuses } = node.stores;
  statuses.changed.subscribe((uid) => {
    const now = short(statuses.get(uid));
    if (statuses.get(uid) !== undefined && history.at(-1) !== now) history.push(now);
  });
}

beforeEach(async () => {
  node = new FakeNode();
  history = [];
  await start();
});
afterEach(async () => await node.stop());

const exec = (over: Partial<Probe> = {}): Probe => ({
  exec: { command: ['cat', '/tmp/ok'] },
  periodSeconds: 1,
  failureThreshold: 2,
  ...over,
});
const podOf = (command: string, over: Partial<Container>): object =>
  aPod({
    terminationGracePeriodSeconds: 2,
    containers: [aContainer({ command: ['sh', '-c', command], ...over })],
  });
const run = (command: string, over: Partial<Container>): void =>
  node.write('p.yaml', JSON.stringify(podOf(command, over)));
const current = (): string => short(node.status('uid-p'));
const eventTexts = (): readonly string[] =>
  node.events('uid-p').map(({ message, reason }) => `${reason} ${message}`);

test('readiness follows the probe, as recorded of the Go kubelet', async () => {
  run('sleep 3; touch /tmp/ok; sleep 4; rm /tmp/ok; sleep 1000', { readinessProbe: exec() });
  await node.clock.advance(12_000);
  expect(history.filter((each) => each.startsWith('running'))).toEqual([
    'running started=true ready=false/False restarts=0',
    'running started=true ready=true/True restarts=0',
    'running started=true ready=false/False restarts=0',
  ]);
  expect(eventTexts()).toContain(
    "Unhealthy Readiness probe failed: cat: can't open '/tmp/ok': No such file or directory\n",
  );
});

test('a failed liveness probe restarts the container, with the Go kubelet’s messages', async () => {
  run('touch /tmp/ok; sleep 3; rm /tmp/ok; sleep 1000', { livenessProbe: exec() });
  await node.clock.advance(9_000);
  expect(current()).toBe('running started=true ready=true/True restarts=1');
  expect(eventTexts()).toContain(
    "Unhealthy Liveness probe failed: cat: can't open '/tmp/ok': No such file or directory\n",
  );
  expect(eventTexts()).toContain('Killing Container c failed liveness probe, will be restarted');
});

test('a failed liveness probe stops the container with the probe’s grace period', async () => {
  const livenessProbe = exec({ terminationGracePeriodSeconds: 7 });
  run('sleep 1000', { livenessProbe });
  await node.clock.advance(4_000);
  const stop = node.cri.calls.find(({ method }) => method === 'StopContainer');
  expect(stop?.request).toMatchObject({ timeout: 7n });
});

test('a failed startup probe restarts the container, which is neither started nor ready until it succeeds', async () => {
  run('sleep 1000', { startupProbe: exec({ failureThreshold: 3 }) });
  await node.clock.advance(3_500);
  expect(eventTexts()).toContain('Killing Container c failed startup probe, will be restarted');
  await node.clock.advance(3_000);
  expect(current()).toBe('running started=false ready=false/False restarts=1');
});

test('the startup probe holds back the other probes', async () => {
  const startupProbe = exec({ failureThreshold: 30 });
  const livenessProbe = exec({ exec: { command: ['cat', '/tmp/alive'] }, failureThreshold: 1 });
  run('sleep 5; touch /tmp/alive; touch /tmp/ok; sleep 1000', { startupProbe, livenessProbe });
  await node.clock.advance(4_500);
  expect(current()).toBe('running started=false ready=false/False restarts=0');
  await node.clock.advance(5_000);
  expect(current()).toBe('running started=true ready=true/True restarts=0');
  expect(eventTexts().filter((each) => each.includes('Liveness'))).toEqual([]);
});

test('a command that exceeds its timeout is killed and counts as a failure', async () => {
  const readinessProbe = exec({ exec: { command: ['sleep', '100'] }, failureThreshold: 1, periodSeconds: 5 });
  run('sleep 1000', { readinessProbe });
  await node.clock.advance(8_000);
  expect(eventTexts()).toContain(
    'Unhealthy Readiness probe failed: command timed out: "sleep 100" timed out after 1s',
  );
});

test('a terminating pod is not restarted by its probes, and leaves no probe results', async () => {
  run('trap "" TERM; touch /tmp/ok; sleep 1000', { livenessProbe: exec(), readinessProbe: exec() });
  await node.clock.advance(3_000);
  node.remove('p.yaml');
  await node.clock.advance(6_000);
  expect(node.stores.probeResults.size).toBe(0);
  expect(node.calls().filter((method) => method === 'StartContainer')).toHaveLength(1);
  const probeCount = node.calls().filter((method) => method === 'ExecSync').length;
  await node.clock.advance(10_000);
  expect(node.calls().filter((method) => method === 'ExecSync')).toHaveLength(probeCount);
});

test('network probes connect to the pod’s IP address', async () => {
  const targets: unknown[] = [];
  node.probes.http = async (...args: unknown[]) => {
    targets.push(args[0]);
    return { result: 'success', output: '' };
  };
  run('sleep 1000', {
    ports: [{ name: 'web', containerPort: 8080 }],
    readinessProbe: { httpGet: { port: 'web', path: '/healthz' } },
  });
  await node.clock.advance(1_000);
  expect(targets).toEqual([
    expect.objectContaining({ host: node.status('uid-p')?.podIP, port: 8080, path: '/healthz' }),
  ]);
  expect(current()).toBe('running started=true ready=true/True restarts=0');
});

describe('ten restarts of the kubelet', () => {
  const cases: readonly (readonly [string, string, Partial<Container>, string])[] = [
    [
      'a ready pod',
      'touch /tmp/ok; sleep 100000',
      { readinessProbe: exec() },
      'started=true ready=true/True',
    ],
    ['a pod that is not ready', 'sleep 100000', { readinessProbe: exec() }, 'started=true ready=false/False'],
    [
      'a pod that is starting',
      'sleep 100000',
      { startupProbe: exec({ failureThreshold: 1_000 }), readinessProbe: exec() },
      'started=false ready=false/False',
    ],
    [
      'a pod that has started and is ready',
      'touch /tmp/ok; sleep 100000',
      { startupProbe: exec(), readinessProbe: exec({ successThreshold: 3 }), livenessProbe: exec() },
      'started=true ready=true/True',
    ],
  ];
  for (const how of ['kill', 'stop'] as const) {
    for (const [name, command, container, want] of cases) {
      test(`${name} (${how}): no false transition`, async () => {
        run(command, container);
        await node.clock.advance(10_000);
        const steady = `running ${want} restarts=0`;
        expect(history.at(-1)).toBe(steady);
        history = [];
        for (let round = 0; round < 10; round++) {
          await node[how]();
          await start();
          // From the middle of the first second on: before, during and after the first probes of this run.
          await node.clock.advance(round * 310);
        }
        await node.clock.advance(5_000);
        expect([...new Set(history)]).toEqual([steady]);
      });
    }
  }

  test('a change while the kubelet is down is reported only after a probe has observed it', async () => {
    run('touch /tmp/ok; sleep 8; rm /tmp/ok; sleep 100000', { readinessProbe: exec() });
    await node.clock.advance(6_000);
    await node.kill();
    await node.clock.advance(5_000);
    history = [];
    await start();
    await node.clock.advance(4_000);
    expect(history).toEqual([
      'running started=true ready=true/True restarts=0',
      'running started=true ready=false/False restarts=0',
    ]);
  });

  test('a corrupt file of results causes no restart, and readiness returns with the first probe', async () => {
    run('touch /tmp/ok; sleep 100000', { readinessProbe: exec(), livenessProbe: exec() });
    await node.clock.advance(6_000);
    await node.kill();
    node.probeResultFile = '{"containers":';
    await start();
    await node.clock.advance(2_000);
    expect(current()).toBe('running started=true ready=true/True restarts=0');
  });
});

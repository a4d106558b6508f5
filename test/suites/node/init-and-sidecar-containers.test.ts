// Init containers, sidecars and ephemeral containers on a whole kubelet, on the fake clock, with the kubelet killed in
// each stage.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Container, Pod } from '../../../src/api/k8s/types.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const run = (name: string, script: string, over: Partial<Container> = {}): Container =>
  aContainer({ name, command: ['sh', '-c', script], ...over });
const stays = 'sleep 100000';
const side = (name: string, script = stays): Container => run(name, script, { restartPolicy: 'Always' });

/** Names of containers in the order in which they were started. */
function started(): readonly string[] {
  const names = new Map<string, string>();
  for (const { method, request, response } of node.cri.calls) {
    if (method !== 'CreateContainer') continue;
    const { config } = request as { config?: { metadata?: { name?: string } } };
    const { containerId } = (response ?? {}) as { containerId?: string };
    names.set(containerId ?? '', config?.metadata?.name ?? '');
  }
  return node.cri.calls.flatMap(({ method, request }) =>
    method === 'StartContainer'
      ? (names.get((request as { containerId?: string }).containerId ?? '') ?? [])
      : [],
  );
}

const states = (uid: string): Record<string, string> => {
  const {
    containerStatuses = [],
    ephemeralContainerStatuses = [],
    initContainerStatuses = [],
  } = node.status(uid) ?? {};
  return Object.fromEntries(
    [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].map((each) => {
      const { running, terminated, waiting } = each.state ?? {};
      const what = running === undefined ? (terminated?.reason ?? waiting?.reason ?? '?') : 'runs';
      return [each.name, `${what} ${each.restartCount}`];
    }),
  );
};

describe('start of a pod', () => {
  test('init containers run one after the other, then the regular ones', async () => {
    node.write(
      'p.yaml',
      aPod({
        initContainers: [run('i1', 'sleep 3'), run('i2', 'sleep 3')],
        containers: [aContainer(), aContainer({ name: 'd' })],
      }),
    );
    await node.clock.advance(1_500);
    expect(states('uid-p')).toEqual({
      i1: 'runs 0',
      i2: 'PodInitializing 0',
      c: 'PodInitializing 0',
      d: 'PodInitializing 0',
    });
    expect(node.status('uid-p')?.phase).toBe('Pending');
    await node.clock.advance(10_000);
    expect(started()).toEqual(['i1', 'i2', 'c', 'd']);
    expect(states('uid-p')).toEqual({ i1: 'Completed 0', i2: 'Completed 0', c: 'runs 0', d: 'runs 0' });
    expect(node.status('uid-p')?.phase).toBe('Running');
  });

  test('a failed init container restarts with back-off while the others wait', async () => {
    node.write('p.yaml', aPod({ initContainers: [run('i1', 'exit 1'), run('i2', 'exit 0')] }));
    await node.clock.advance(15_000);
    expect(started()).toEqual(['i1', 'i1', 'i1']);
    expect(states('uid-p')).toEqual({
      i1: 'CrashLoopBackOff 2',
      i2: 'PodInitializing 0',
      c: 'PodInitializing 0',
    });
    expect(node.eventLines('uid-p')).toContain(
      'BackOff: Back-off restarting failed container i1 in pod p-n_default(uid-p)',
    );
  });

  test('a failed init container under restartPolicy Never fails the pod', async () => {
    node.write('p.yaml', aPod({ restartPolicy: 'Never', initContainers: [side('s'), run('i1', 'exit 3')] }));
    await node.clock.advance(60_000);
    expect(started()).toEqual(['s', 'i1']);
    expect(node.status('uid-p')).toMatchObject({ phase: 'Failed' });
    expect((await node.cri.listContainers({ filter: { state: { state: 1 } } })).containers).toEqual([]);
  });

  test('a sidecar starts before the containers after it, restarts at any time, and ends with the pod', async () => {
    const containers = [run('c', 'sleep 20')];
    node.write(
      'p.yaml',
      aPod({ restartPolicy: 'Never', initContainers: [side('s'), run('i', 'sleep 2')], containers }),
    );
    await node.clock.advance(5_000);
    expect(started()).toEqual(['s', 'i', 'c']);
    expect(states('uid-p')).toEqual({ s: 'runs 0', i: 'Completed 0', c: 'runs 0' });
    node.cri.exitContainer('s', 0);
    await node.clock.advance(3_000);
    expect(states('uid-p')).toMatchObject({ s: 'runs 1', c: 'runs 0' });
    await node.clock.advance(60_000);
    expect(node.status('uid-p')).toMatchObject({ phase: 'Succeeded' });
    expect(states('uid-p')['c']).toBe('Completed 0');
    expect(node.eventLines('uid-p').filter((each) => each.startsWith('Killing'))).toEqual([
      'Killing: Stopping container s',
    ]);
  });

  test('a new sandbox starts with the first init container', async () => {
    const initContainers = [run('i1', 'exit 0'), run('i2', 'exit 0')];
    node.write('p.yaml', aPod({ initContainers, terminationGracePeriodSeconds: 2 }));
    await node.clock.advance(5_000);
    const [sandbox] = (await node.cri.listPodSandbox({})).items;
    node.cri.killSandbox(sandbox?.id ?? '');
    await node.clock.advance(20_000);
    expect(started()).toEqual(['i1', 'i2', 'c', 'i1', 'i2', 'c']);
    expect(states('uid-p')).toMatchObject({ c: 'runs 1' });
    expect(node.eventLines('uid-p')).toContain(
      'SandboxChanged: Pod sandbox changed, it will be killed and re-created.',
    );
  });

  test('an init container removed from outside does not run again when a regular container crashes', async () => {
    node.write(
      'p.yaml',
      aPod({ initContainers: [run('i1', 'exit 0')], containers: [run('c', 'sleep 5; exit 1')] }),
    );
    await node.clock.advance(3_000);
    const { containers } = await node.cri.listContainers({ filter: { state: { state: 2 } } });
    await node.cri.removeContainer({ containerId: containers[0]?.id ?? '' });
    await node.clock.advance(30_000);
    expect(started().slice(0, 3)).toEqual(['i1', 'c', 'c']);
  });
});

test('an ephemeral container joins a running pod, is never started twice, and does not keep the pod alive', async () => {
  const pod = aPod({
    restartPolicy: 'Never',
    terminationGracePeriodSeconds: 2,
    containers: [run('c', 'sleep 30')],
  });
  node.setApiPods(pod);
  await node.clock.advance(2_000);
  const debugged = {
    ...pod,
    spec: {
      ...pod.spec,
      containers: pod.spec?.containers ?? [],
      ephemeralContainers: [run('d', 'sleep 5'), run('e', stays)],
    },
  };
  node.setApiPods(debugged);
  await node.clock.advance(10_000);
  expect(states('uid-p')).toEqual({ c: 'runs 0', d: 'Completed 0', e: 'runs 0' });
  await node.clock.advance(60_000);
  expect(started()).toEqual(['c', 'd', 'e']);
  expect(node.status('uid-p')?.phase).toBe('Succeeded');
  expect((await node.cri.listContainers({ filter: { state: { state: 1 } } })).containers).toEqual([]);
});

describe('a kubelet killed in the middle of a stage', () => {
  const pod = (name: string): Pod =>
    aPod({
      name,
      terminationGracePeriodSeconds: 5,
      initContainers: [side('s'), run('i', 'sleep 1')],
      containers: [aContainer(), aContainer({ name: 'd' })],
    });
  const slow = (): void => {
    node.cri.faults.latency('runPodSandbox', 40);
    node.cri.faults.latency('createContainer', 20);
    node.cri.faults.latency('startContainer', 30);
    node.cri.faults.latency('stopContainer', 20);
    node.cri.faults.latency('stopPodSandbox', 20);
    node.cri.faults.latency('removeContainer', 20);
    node.cri.faults.latency('removePodSandbox', 20);
  };

  test('at any moment of a start reaches the same state, without a duplicate container', async () => {
    slow();
    for (let afterMs = 0; afterMs <= 1_600; afterMs += afterMs < 400 || afterMs > 1_100 ? 30 : 350) {
      const name = `k${afterMs}`;
      node.write(`${name}.yaml`, pod(name));
      await node.clock.advance(afterMs);
      await node.kill();
      await node.start();
      await node.clock.advance(6_000);
      expect(states(`uid-${name}`), name).toEqual({
        s: 'runs 0',
        i: 'Completed 0',
        c: 'runs 0',
        d: 'runs 0',
      });
      const labelSelector = { 'io.kubernetes.pod.uid': `uid-${name}` };
      expect((await node.cri.listContainers({ filter: { labelSelector } })).containers, name).toHaveLength(4);
      node.remove(`${name}.yaml`);
      await node.clock.advance(3_000);
    }
  });

  test('at any moment of a termination leaves nothing behind', async () => {
    slow();
    for (let afterMs = 0; afterMs <= 400; afterMs += 25) {
      node.write('p.yaml', pod(`k${afterMs}`));
      await node.clock.advance(6_000);
      node.remove('p.yaml');
      await node.clock.advance(afterMs);
      await node.kill();
      await node.start();
      await node.clock.advance(20_000);
      expect((await node.cri.listPodSandbox({})).items, String(afterMs)).toEqual([]);
      expect((await node.cri.listContainers({})).containers).toEqual([]);
      expect(node.directories).toEqual(new Set());
    }
  });

  test('during an image pull reaches the same state', async () => {
    const image = { name: 'docker.io/library/later:1', cmd: ['sleep', '100000'], sizeBytes: 1 };
    node.cri.publishImage(image);
    node.cri.faults.latency('pullImage', 3_000);
    node.write(
      'p.yaml',
      aPod({ initContainers: [run('i', 'exit 0')], containers: [aContainer({ image: image.name })] }),
    );
    await node.clock.advance(2_000);
    await node.kill();
    await node.start();
    await node.clock.advance(10_000);
    expect(states('uid-p')).toEqual({ i: 'Completed 0', c: 'runs 0' });
    expect((await node.cri.listPodSandbox({})).items).toHaveLength(1);
  });
});

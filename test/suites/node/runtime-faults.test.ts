// Faults of the container runtime on a whole kubelet, on the fake clock.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KubeletError } from '../../../src/base/errors.ts';
import { aContainer, aPod } from '../../builders/builders.ts';
import { FakeNode } from '../../simulate/fake-node.ts';

let node: FakeNode;
beforeEach(async () => {
  node = new FakeNode();
  await node.start();
});
afterEach(async () => await node.stop());

const containerState = (uid: string, name = 'c'): unknown =>
  node.status(uid)?.containerStatuses?.find((each) => each.name === name)?.state;
const restarts = (uid: string): number | undefined => node.status(uid)?.containerStatuses?.[0]?.restartCount;

describe('a faulty runtime', () => {
  const failure = new KubeletError('internal', 'UNKNOWN', 'no room');

  test('a failed RunPodSandbox is retried and logged once', async () => {
    node.cri.faults.fail('runPodSandbox', failure, { times: 4 });
    node.write('p.yaml', aPod());
    await node.clock.advance(30_000);
    expect(node.status('uid-p')?.phase).toBe('Running');
    expect(node.logged('Failed to sync pod, will retry')).toHaveLength(1);
    expect(node.logged('no room').length).toBeGreaterThan(0);
  });

  test('a lost response does not duplicate a sandbox or container', async () => {
    node.cri.faults.fail('runPodSandbox', failure, { when: 'after' });
    node.cri.faults.fail('createContainer', failure, { when: 'after' });
    node.write('p.yaml', aPod());
    await node.clock.advance(30_000);
    expect((await node.cri.listPodSandbox({})).items).toHaveLength(1);
    expect((await node.cri.listContainers({})).containers).toHaveLength(1);
    expect(restarts('uid-p')).toBe(0);
  });

  test('a new pod is inspected once during a normal start, and by the relist when its start hangs', async () => {
    const inspections: string[] = [];
    for (const method of ['podSandboxStatus', 'containerStatus'] as const) {
      const note = (): boolean => {
        inspections.push(method);
        return false;
      };
      node.cri.faults.fail(method, failure, { times: 1_000, match: note });
    }
    node.write('a.yaml', aPod({ name: 'a' }));
    await node.clock.advance(3_000);
    expect(node.status('uid-a')?.phase).toBe('Running');
    expect(inspections.splice(0)).toEqual(['podSandboxStatus', 'containerStatus']);
    const stall = node.cri.faults.stall('createContainer');
    node.write('b.yaml', aPod({ name: 'b' }));
    await node.clock.advance(900);
    expect(inspections.splice(0)).toEqual(['podSandboxStatus']);
    await node.clock.advance(2_100);
    expect(inspections.splice(0)).toEqual(['podSandboxStatus']);
    stall.release();
    await node.clock.advance(50);
    expect(node.status('uid-b')?.phase).toBe('Running');
  });

  test('a hung call delays only its pod', async () => {
    const stall = node.cri.faults.stall('createContainer', {
      match: ({ config }) => config?.labels['io.kubernetes.pod.uid'] === 'uid-a',
    });
    node.write('a.yaml', aPod({ name: 'a' }));
    await node.clock.advance(50);
    node.write('b.yaml', aPod({ name: 'b' }));
    await node.clock.advance(50);
    expect(node.status('uid-a')?.phase).toBe('Pending');
    expect(node.status('uid-b')?.phase).toBe('Running');
    stall.release();
    await node.clock.advance(50);
    expect(node.status('uid-a')?.phase).toBe('Running');
  });

  test('hung starts release their slots, so that other pods start', async () => {
    node.cri.faults.stall('runPodSandbox', {
      times: 100,
      match: ({ config }) => config?.metadata?.name.startsWith('stuck') ?? false,
    });
    for (let i = 0; i < 12; i++) node.write(`a${i}.yaml`, aPod({ name: `stuck-${i}` }));
    await node.clock.advance(50);
    node.write('b.yaml', aPod({ name: 'b' }));
    await node.clock.advance(40_000);
    expect(node.status('uid-b')?.phase).toBe('Running');
  });

  test('a hung inspection does not block the relist or other pods', async () => {
    node.write('a.yaml', aPod({ name: 'a', containers: [aContainer({ command: ['sleep', '5'] })] }));
    node.write('b.yaml', aPod({ name: 'b', containers: [aContainer({ command: ['sleep', '5'] })] }));
    await node.clock.advance(100);
    const inA = (await node.cri.listContainers({})).containers.find(
      ({ labels }) => labels['io.kubernetes.pod.uid'] === 'uid-a',
    );
    const stall = node.cri.faults.stall('containerStatus', {
      times: 100,
      match: ({ containerId }) => containerId === inA?.id,
    });
    await node.clock.advance(8_000);
    expect(restarts('uid-b')).toBe(1);
    expect(restarts('uid-a')).toBe(0);
    stall.release();
    await node.clock.advance(30_000);
    expect(restarts('uid-a')).toBeGreaterThan(0);
  });

  test('an outage of 20 s is logged once, affects no pod, and is followed by normal operation', async () => {
    node.write('a.yaml', aPod({ name: 'a' }));
    await node.clock.advance(50);
    const before = node.status('uid-a')?.containerStatuses?.[0]?.containerID;
    node.cri.faults.restart({ downMs: 20_000 });
    await node.clock.advance(5_000);
    node.write('b.yaml', aPod({ name: 'b' }));
    await node.clock.advance(25_000);
    expect(node.status('uid-a')?.containerStatuses?.[0]?.containerID).toBe(before);
    expect(node.status('uid-b')?.phase).toBe('Running');
    expect(node.logged('Container runtime is unavailable')).toHaveLength(1);
    expect(node.logged('Container runtime is available again')).toHaveLength(1);
    expect(node.logged('Failed to sync pod, will retry')).toHaveLength(0);
  });

  test.each([
    ['imageStatus', 'ImageInspectError', 'Failed to inspect image "docker.io/library/busybox:1": no room'],
    ['createContainer', 'CreateContainerError', 'no room'],
    ['startContainer', 'RunContainerError', 'no room'],
  ] as const)(
    '%s fails: the container is %s, its sibling runs, and it starts when the call succeeds',
    async (method, reason, message) => {
      const fault = node.cri.faults.fail(method, failure, { times: 1_000, match: first });
      node.write(
        'p.yaml',
        aPod({ containers: [aContainer(), aContainer({ name: 'ok', image: 'registry.example/ok:1' })] }),
      );
      node.cri.addImage({ name: 'registry.example/ok:1', cmd: ['sleep', '1000'], sizeBytes: 1 });
      await node.clock.advance(300);
      expect(containerState('uid-p')).toEqual({ waiting: { reason, message } });
      expect(containerState('uid-p', 'ok')).toMatchObject({ running: {} });
      fault.remove();
      await node.clock.advance(30_000);
      expect(containerState('uid-p')).toMatchObject({ running: {} });
    },
  );

  test('a removed pod does not wait for its image', async () => {
    node.cri.publishImage({ name: 'registry.example/slow:1', cmd: ['sleep', '1000'], sizeBytes: 1 });
    node.cri.faults.stall('pullImage');
    node.write('p.yaml', aPod({ containers: [aContainer({ image: 'registry.example/slow:1' })] }));
    await node.clock.advance(1_000);
    node.remove('p.yaml');
    await node.clock.advance(1_000);
    expect((await node.cri.listPodSandbox({})).items).toEqual([]);
  });
});

/** Whether the request is for the container `c`. */
function first(request: object): boolean {
  const text = JSON.stringify(request, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
  return text.includes('busybox:1') || text.includes(idOfC());
}

function idOfC(): string {
  try {
    return node.cri.container('c').id;
  } catch {
    return 'no container yet';
  }
}

test('a container with an exponential expansion of variables waits with the reason, and others run', async () => {
  const env = [{ name: 'V0', value: 'x'.repeat(100) }];
  for (let at = 1; at <= 9; at += 1) env.push({ name: `V${at}`, value: `$(V${at - 1})`.repeat(10) });
  node.write('bomb.yaml', aPod({ name: 'bomb', containers: [aContainer({ env })] }));
  node.write('p.yaml', aPod());
  await node.clock.advance(5_000);
  expect(containerState('uid-bomb')).toEqual({
    waiting: {
      reason: 'CreateContainerConfigError',
      message: 'environment, command and args take more than 16 MiB after expanding $(VAR) references',
    },
  });
  expect(node.status('uid-p')?.phase).toBe('Running');
});

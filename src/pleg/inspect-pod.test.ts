import { expect, test } from 'vitest';
import { FakeCri } from '../../test/fake-cri/fake-cri.ts';
import { FakeClock } from '../../test/fakes/fake-clock.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import { asPodUid } from '../api/pod/pod-ref.ts';
import { KubeletError } from '../base/errors.ts';
import { type InspectRuntime, inspectPod } from './inspect-pod.ts';

const uid = asPodUid('u');
const labels = { 'io.kubernetes.pod.uid': uid, 'io.kubernetes.container.name': 'c' };

async function scene(): Promise<{
  cri: FakeCri;
  sandboxId: string;
  asked: string[];
  runtime: InspectRuntime;
  look(known?: ObservedPod, anew?: boolean): Promise<ObservedPod | undefined>;
}> {
  const cri = new FakeCri({ clock: new FakeClock() });
  const sandboxConfig = { metadata: { name: 'p', namespace: 'ns', uid, attempt: 0 }, labels, linux: {} };
  const { podSandboxId } = await cri.runPodSandbox({ config: sandboxConfig });
  const image = { image: 'docker.io/library/busybox:1' };
  const config = { metadata: { name: 'c', attempt: 0 }, image, labels, command: ['sleep', '100'] };
  const { containerId } = await cri.createContainer({ podSandboxId, config, sandboxConfig });
  await cri.startContainer({ containerId });
  const asked: string[] = [];
  const runtime: InspectRuntime = {
    listPodSandbox: (...args) => cri.listPodSandbox(...args),
    listContainers: (...args) => cri.listContainers(...args),
    podSandboxStatus: (...args) => {
      asked.push('sandbox');
      return cri.podSandboxStatus(...args);
    },
    containerStatus: (...args) => {
      asked.push('container');
      return cri.containerStatus(...args);
    },
  };
  const look = (known?: ObservedPod, anew = false): Promise<ObservedPod | undefined> =>
    inspectPod(runtime, uid, known, 77, new AbortController().signal, { anew });
  return { cri, sandboxId: podSandboxId, asked, runtime, look };
}

test('anew: what runs is asked again, and is the same object unless something of it changed', async () => {
  const it = await scene();
  const first = await it.look();
  it.asked.splice(0);
  const second = await it.look(first, true);
  expect(it.asked.splice(0)).toEqual(['container']);
  expect(second?.containers[0]).toBe(first?.containers[0]);
  const containerId = first?.containers[0]?.id ?? '';
  await it.cri.updateContainerResources({ containerId, linux: { memoryLimitInBytes: 1n << 30n } });
  expect((await it.look(second))?.containers[0]).toBe(first?.containers[0]);
  expect((await it.look(second, true))?.containers[0]?.resources?.memoryLimitBytes).toBe(1n << 30n);
  it.cri.close();
});

test('everything is asked once; what stays as it was is carried over by identity', async () => {
  const it = await scene();
  const first = await it.look();
  expect(it.asked.splice(0).toSorted()).toEqual(['container', 'sandbox']);
  expect(first).toMatchObject({
    uid,
    name: 'p',
    observedAtMs: 77,
    sandboxes: [{ id: it.sandboxId, ready: true }],
    containers: [{ name: 'c', state: 'running' }],
  });
  const second = await it.look(first);
  expect(it.asked).toEqual([]);
  expect(second?.containers[0]).toBe(first?.containers[0]);
  expect(second?.sandboxes[0]).toBe(first?.sandboxes[0]);
  it.cri.close();
});

test('what changed is asked again, and nothing else', async () => {
  const it = await scene();
  const first = await it.look();
  it.asked.splice(0);
  it.cri.exitContainer('c', 3);
  const second = await it.look(first);
  expect(it.asked.splice(0)).toEqual(['container']);
  expect(second?.containers[0]).toMatchObject({ state: 'exited', exitCode: 3 });
  it.cri.killSandbox(it.sandboxId);
  const third = await it.look(second);
  expect(it.asked).toEqual(['sandbox']);
  expect(third?.sandboxes[0]?.ready).toBe(false);
});

test('killed by the kernel for lack of memory: told so although the runtime has not heard of it yet', async () => {
  const it = await scene();
  const look = (wasOomKilled: boolean): Promise<ObservedPod | undefined> =>
    inspectPod(it.runtime, uid, undefined, 77, new AbortController().signal, {
      wasOomKilled: (id) => wasOomKilled && id === running?.containers[0]?.id,
    });
  const running = await it.look();
  expect((await look(true))?.containers[0]).toMatchObject({ state: 'running', reason: '' });
  it.cri.exitContainer('c', 137);
  expect((await look(false))?.containers[0]).toMatchObject({ exitCode: 137, reason: 'Error' });
  expect((await look(true))?.containers[0]).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  it.cri.close();
});

test('a sandbox without an address is asked again until it has one', async () => {
  const it = await scene();
  const first = await it.look();
  it.asked.splice(0);
  const bare = first?.sandboxes.map((sandbox) => ({ ...sandbox, ips: [] })) ?? [];
  expect((await it.look(first && { ...first, sandboxes: bare }))?.sandboxes[0]?.ips).not.toEqual([]);
  expect(it.asked).toEqual(['sandbox']);
  it.cri.close();
});

test('what is gone between the list and the question is not there', async () => {
  const it = await scene();
  it.cri.faults.fail('containerStatus', new KubeletError('not-found', 'NOT_FOUND', 'gone'));
  expect(await it.look()).toMatchObject({ containers: [], sandboxes: [{ ready: true }] });
  it.cri.faults.fail('podSandboxStatus', new KubeletError('internal', 'UNKNOWN', 'no'));
  await expect(it.look()).rejects.toThrow('no');
  it.cri.close();
});

test('nothing of the pod: undefined', async () => {
  const cri = new FakeCri({ clock: new FakeClock() });
  expect(await inspectPod(cri, uid, undefined, 1, new AbortController().signal)).toBeUndefined();
});

test('a pod that was made just now is seen as by a list, without one', async () => {
  const it = await scene();
  const listed = await it.look();
  const containerIds = listed?.containers.map(({ id }) => id) ?? [];
  const { signal } = new AbortController();
  const refuse = (): never => {
    throw new Error('nothing has to be listed');
  };
  const runtime: InspectRuntime = { ...it.runtime, listPodSandbox: refuse, listContainers: refuse };
  it.asked.splice(0);
  const { status: sandbox } = await it.cri.podSandboxStatus({ podSandboxId: it.sandboxId });
  const started = { sandboxId: it.sandboxId, sandbox, containerIds };
  expect(await inspectPod(runtime, uid, undefined, 77, signal, { started })).toEqual(listed);
  expect(it.asked.splice(0)).toEqual(['container']);
  const unasked = { ...started, sandbox: undefined };
  expect(await inspectPod(runtime, uid, undefined, 77, signal, { started: unasked })).toEqual(listed);
  expect(it.asked.splice(0).toSorted()).toEqual(['container', 'sandbox']);
  const gone = { ...started, containerIds: ['gone'] };
  expect((await inspectPod(runtime, uid, undefined, 77, signal, { started: gone }))?.containers).toEqual([]);
  it.cri.close();
});

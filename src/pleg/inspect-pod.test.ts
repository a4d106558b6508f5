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
  calls: string[];
  runtime: InspectRuntime;
  inspect(known?: ObservedPod, rereadRunning?: boolean): Promise<ObservedPod | undefined>;
}> {
  const cri = new FakeCri({ clock: new FakeClock() });
  const sandboxConfig = { metadata: { name: 'p', namespace: 'ns', uid, attempt: 0 }, labels, linux: {} };
  const { podSandboxId } = await cri.runPodSandbox({ config: sandboxConfig });
  const image = { image: 'docker.io/library/busybox:1' };
  const config = { metadata: { name: 'c', attempt: 0 }, image, labels, command: ['sleep', '100'] };
  const { containerId } = await cri.createContainer({ podSandboxId, config, sandboxConfig });
  await cri.startContainer({ containerId });
  const calls: string[] = [];
  const runtime: InspectRuntime = {
    listPodSandbox: (...args) => cri.listPodSandbox(...args),
    listContainers: (...args) => cri.listContainers(...args),
    podSandboxStatus: (...args) => {
      calls.push('sandbox');
      return cri.podSandboxStatus(...args);
    },
    containerStatus: (...args) => {
      calls.push('container');
      return cri.containerStatus(...args);
    },
  };
  const inspect = (known?: ObservedPod, rereadRunning = false): Promise<ObservedPod | undefined> =>
    inspectPod(runtime, uid, known, 77, new AbortController().signal, { rereadRunning });
  return { cri, sandboxId: podSandboxId, calls, runtime, inspect };
}

test('rereadRunning reads running containers again and keeps the object of an unchanged one', async () => {
  const it = await scene();
  const first = await it.inspect();
  it.calls.splice(0);
  const second = await it.inspect(first, true);
  expect(it.calls.splice(0)).toEqual(['container']);
  expect(second?.containers[0]).toBe(first?.containers[0]);
  const containerId = first?.containers[0]?.id ?? '';
  await it.cri.updateContainerResources({ containerId, linux: { memoryLimitInBytes: 1n << 30n } });
  expect((await it.inspect(second))?.containers[0]).toBe(first?.containers[0]);
  expect((await it.inspect(second, true))?.containers[0]?.resources?.memoryLimitBytes).toBe(1n << 30n);
  it.cri.close();
});

test('reads everything once and carries unchanged objects over', async () => {
  const it = await scene();
  const first = await it.inspect();
  expect(it.calls.splice(0).toSorted()).toEqual(['container', 'sandbox']);
  expect(first).toMatchObject({
    uid,
    name: 'p',
    observedAtMs: 77,
    sandboxes: [{ id: it.sandboxId, ready: true }],
    containers: [{ name: 'c', state: 'running' }],
  });
  const second = await it.inspect(first);
  expect(it.calls).toEqual([]);
  expect(second?.containers[0]).toBe(first?.containers[0]);
  expect(second?.sandboxes[0]).toBe(first?.sandboxes[0]);
  it.cri.close();
});

test('reads again only what changed', async () => {
  const it = await scene();
  const first = await it.inspect();
  it.calls.splice(0);
  it.cri.exitContainer('c', 3);
  const second = await it.inspect(first);
  expect(it.calls.splice(0)).toEqual(['container']);
  expect(second?.containers[0]).toMatchObject({ state: 'exited', exitCode: 3 });
  it.cri.killSandbox(it.sandboxId);
  const third = await it.inspect(second);
  expect(it.calls).toEqual(['sandbox']);
  expect(third?.sandboxes[0]?.ready).toBe(false);
});

test('reports OOMKilled from the kernel log before the runtime does', async () => {
  const it = await scene();
  const inspect = (wasOomKilled: boolean): Promise<ObservedPod | undefined> =>
    inspectPod(it.runtime, uid, undefined, 77, new AbortController().signal, {
      wasOomKilled: (id) => wasOomKilled && id === running?.containers[0]?.id,
    });
  const running = await it.inspect();
  expect((await inspect(true))?.containers[0]).toMatchObject({ state: 'running', reason: '' });
  it.cri.exitContainer('c', 137);
  expect((await inspect(false))?.containers[0]).toMatchObject({ exitCode: 137, reason: 'Error' });
  expect((await inspect(true))?.containers[0]).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  it.cri.close();
});

test('reads a sandbox without an address again until it has one', async () => {
  const it = await scene();
  const first = await it.inspect();
  it.calls.splice(0);
  const bare = first?.sandboxes.map((sandbox) => ({ ...sandbox, ips: [] })) ?? [];
  expect((await it.inspect(first && { ...first, sandboxes: bare }))?.sandboxes[0]?.ips).not.toEqual([]);
  expect(it.calls).toEqual(['sandbox']);
  it.cri.close();
});

test('leaves out a container that was removed between the list and the read', async () => {
  const it = await scene();
  it.cri.faults.fail('containerStatus', new KubeletError('not-found', 'NOT_FOUND', 'gone'));
  expect(await it.inspect()).toMatchObject({ containers: [], sandboxes: [{ ready: true }] });
  it.cri.faults.fail('podSandboxStatus', new KubeletError('internal', 'UNKNOWN', 'no'));
  await expect(it.inspect()).rejects.toThrow('no');
  it.cri.close();
});

test('returns undefined for a pod that the runtime does not have', async () => {
  const cri = new FakeCri({ clock: new FakeClock() });
  expect(await inspectPod(cri, uid, undefined, 1, new AbortController().signal)).toBeUndefined();
});

test('inspects a pod that was just started without listing it', async () => {
  const it = await scene();
  const listed = await it.inspect();
  const containerIds = listed?.containers.map(({ id }) => id) ?? [];
  const { signal } = new AbortController();
  const refuse = (): never => {
    throw new Error('nothing must be listed');
  };
  const runtime: InspectRuntime = { ...it.runtime, listPodSandbox: refuse, listContainers: refuse };
  it.calls.splice(0);
  const { status: sandbox } = await it.cri.podSandboxStatus({ podSandboxId: it.sandboxId });
  const started = { sandboxId: it.sandboxId, sandbox, containerIds };
  expect(await inspectPod(runtime, uid, undefined, 77, signal, { started })).toEqual(listed);
  expect(it.calls.splice(0)).toEqual(['container']);
  const withoutStatus = { ...started, sandbox: undefined };
  expect(await inspectPod(runtime, uid, undefined, 77, signal, { started: withoutStatus })).toEqual(listed);
  expect(it.calls.splice(0).toSorted()).toEqual(['container', 'sandbox']);
  const gone = { ...started, containerIds: ['gone'] };
  expect((await inspectPod(runtime, uid, undefined, 77, signal, { started: gone }))?.containers).toEqual([]);
  it.cri.close();
});

// The CRI contract of the rest: version and status, missing objects, images, events.
import { expect } from 'vitest';
import {
  type ContainerEventResponse,
  ContainerEventType,
} from '../../../src/api/cri/generated/runtime/v1/api.ts';
import { isUnimplemented } from '../../../src/api/cri/runtime.ts';
import { Aborted } from '../../../src/base/errors.ts';
import { failureOf } from '../failure-of.ts';
import { absentId, type CriSubject, type DefineCase, type Kit } from './contract-kit.ts';

export function generalCases(define: DefineCase): void {
  define('the runtime reports its name, serves v1 and is ready', async ({ runtime }) => {
    const version = await runtime.version({});
    expect(version).toMatchObject({ version: '0.1.0', runtimeApiVersion: 'v1' });
    expect([version.runtimeName, version.runtimeVersion]).not.toContain('');
    const { status } = await runtime.status({});
    const ready = status?.conditions.filter((condition) => condition.status).map(({ type }) => type);
    expect(ready).toEqual(expect.arrayContaining(['RuntimeReady', 'NetworkReady']));
    await runtime.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr: '' } } });
  });

  const absent: readonly (readonly [
    string,
    (runtime: CriSubject['runtime'], id: string) => Promise<unknown>,
    'always' | 'from-1.7' | 'never',
  ])[] = [
    ['PodSandboxStatus', (runtime, podSandboxId) => runtime.podSandboxStatus({ podSandboxId }), 'never'],
    ['StopPodSandbox', (runtime, podSandboxId) => runtime.stopPodSandbox({ podSandboxId }), 'from-1.7'],
    ['RemovePodSandbox', (runtime, podSandboxId) => runtime.removePodSandbox({ podSandboxId }), 'always'],
    ['PodSandboxStats', (runtime, podSandboxId) => runtime.podSandboxStats({ podSandboxId }), 'never'],
    ['PortForward', (runtime, podSandboxId) => runtime.portForward({ podSandboxId, port: [1] }), 'never'],
    ['ContainerStatus', (runtime, containerId) => runtime.containerStatus({ containerId }), 'never'],
    ['StartContainer', (runtime, containerId) => runtime.startContainer({ containerId }), 'never'],
    [
      'StopContainer',
      (runtime, containerId) => runtime.stopContainer({ containerId, timeout: 1 }),
      'from-1.7',
    ],
    ['RemoveContainer', (runtime, containerId) => runtime.removeContainer({ containerId }), 'always'],
    ['ReopenContainerLog', (runtime, containerId) => runtime.reopenContainerLog({ containerId }), 'never'],
    ['ContainerStats', (runtime, containerId) => runtime.containerStats({ containerId }), 'never'],
    ['ExecSync', (runtime, containerId) => runtime.execSync({ containerId, cmd: ['true'] }), 'never'],
    ['Exec', (runtime, containerId) => runtime.exec({ containerId, cmd: ['true'], stdout: true }), 'never'],
    ['Attach', (runtime, containerId) => runtime.attach({ containerId, stdout: true }), 'never'],
    [
      'UpdateContainerResources',
      (runtime, containerId) => runtime.updateContainerResources({ containerId, linux: { cpuShares: 2 } }),
      'never',
    ],
  ];
  define(
    'a missing object is not found, its removal succeeds, and an empty ID is an error',
    async ({ runtime, stopsAbsent }) => {
      for (const [method, call, succeeds] of absent) {
        if (succeeds === 'always' || (succeeds === 'from-1.7' && stopsAbsent)) await call(runtime, absentId);
        else {
          const { kind, reason, details, message } = await failureOf(call(runtime, absentId));
          expect([method, kind, reason, details['method']]).toEqual([
            method,
            'not-found',
            'NOT_FOUND',
            method,
          ]);
          expect(message).toMatch(/not found$/);
        }
        expect([method, (await failureOf(call(runtime, ''))).kind]).toEqual([method, 'internal']);
      }
    },
  );

  define('CreateContainer rejects a missing sandbox', async ({ runtime }, kit) => {
    const config = { metadata: { name: 'c' }, image: { image: 'x' } };
    const call = runtime.createContainer({ podSandboxId: absentId, config, sandboxConfig: kit.podConfig() });
    const err = await failureOf(call);
    expect([err.kind, err.message]).toEqual([
      'not-found',
      `failed to find sandbox id "${absentId}": not found`,
    ]);
  });

  define('an image is found by name, ID and ID prefix', async ({ images, image }) => {
    const stored = (await images.imageStatus({ image: { image } })).image;
    expect(stored?.id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(stored?.size).toBeGreaterThan(0n);
    expect(stored?.repoTags.length).toBeGreaterThan(0);
    for (const name of [stored?.id, stored?.id.slice(7), stored?.id.slice(7, 27), stored?.repoTags[0]]) {
      expect((await images.imageStatus({ image: { image: name } })).image).toEqual(stored);
    }
    const { images: all } = await images.listImages({});
    expect(all.filter(({ id }) => id === stored?.id)).toEqual([stored]);
  });

  define('a missing image has no status, and its removal succeeds', async ({ images }) => {
    for (const image of ['registry.example.com/absent:1', absentId, 'Not A Name']) {
      expect((await images.imageStatus({ image: { image } })).image).toBeUndefined();
      await images.removeImage({ image: { image } });
    }
    await failureOf(images.imageStatus({}));
  });

  define('a failed pull reports the cause', async ({ images, major }) => {
    const name = 'registry.example.com/absent:1';
    const absentImage = await failureOf(images.pullImage({ image: { image: name } }));
    expect(absentImage.message).toContain(
      major < 2
        ? `failed to pull and unpack image "${name}": failed to resolve reference "${name}"`
        : `failed to pull and unpack image "${name}": failed to resolve image: ${name}: not found`,
    );
    const invalid = await failureOf(images.pullImage({ image: { image: 'UPPER:::' } }));
    expect(invalid.message).toContain('failed to parse image reference "UPPER:::": invalid reference format');
  });

  define('ImageFsInfo reports the image file system', async ({ images }) => {
    const { imageFilesystems } = await images.imageFsInfo({});
    expect(imageFilesystems[0]?.fsId?.mountpoint).toMatch(/^\//);
    expect(imageFilesystems[0]?.usedBytes).toBeDefined();
  });

  define('streaming lists equal the unary ones, or are not implemented', async (subject, kit) => {
    const pod = await kit.runPod();
    await pod.start('c', { command: ['sleep', '60'] });
    const { images, runtime } = subject;
    const filter = { podSandboxId: pod.id };
    const lists = [
      () =>
        [collect(runtime.streamPodSandboxes({}, {}), 'podSandboxes'), runtime.listPodSandbox({})] as const,
      () =>
        [
          collect(runtime.streamContainers({ filter }, {}), 'containers'),
          runtime.listContainers({ filter }),
        ] as const,
      () => [collect(images.streamImages({}, {}), 'images'), images.listImages({})] as const,
    ];
    for (const calls of lists) {
      const [streamed, listed] = calls();
      if (subject.streamsLists) expect(await streamed).toEqual(Object.values(await listed)[0]);
      else expect(isUnimplemented(await failureOf(streamed))).toBe(true);
    }
  });

  define('events follow the lifecycle of a container, or are not implemented', async (subject, kit) => {
    if (subject.hasEvents) await expectEvents(subject, kit);
    else expect(isUnimplemented(await failureOf(firstEvent(subject.runtime)))).toBe(true);
  });
}

async function collect<K extends string, T>(
  messages: AsyncIterable<{ readonly [key in K]: readonly T[] }>,
  key: K,
): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const message of messages) items.push(...message[key]);
  return items;
}

async function firstEvent(runtime: CriSubject['runtime']): Promise<ContainerEventResponse | undefined> {
  for await (const event of runtime.getContainerEvents({}, { timeoutMs: 5000 })) return event;
  return undefined;
}

async function expectEvents(subject: CriSubject, kit: Kit): Promise<void> {
  const { runtime } = subject;
  const abort = new AbortController();
  const reason = new Aborted('seen enough');
  const seen: ContainerEventResponse[] = [];
  const reading = (async () => {
    for await (const event of runtime.getContainerEvents({}, { signal: abort.signal })) seen.push(event);
  })().catch((err: unknown) => err);
  await subject.advance(100);
  const pod = await kit.runPod();
  const id = await pod.start('c', { command: ['sh', '-c', 'exit 3'] });
  await pod.exited(kit, id);
  await runtime.removeContainer({ containerId: id });
  const typesOf = (containerId: string): readonly ContainerEventType[] =>
    seen.filter((event) => event.containerId === containerId).map((event) => event.containerEventType);
  await kit.until('four events', async () => typesOf(id).length >= 4);
  const {
    CONTAINER_CREATED_EVENT,
    CONTAINER_STARTED_EVENT,
    CONTAINER_STOPPED_EVENT,
    CONTAINER_DELETED_EVENT,
  } = ContainerEventType;
  expect(typesOf(id)).toEqual([
    CONTAINER_CREATED_EVENT,
    CONTAINER_STARTED_EVENT,
    CONTAINER_STOPPED_EVENT,
    CONTAINER_DELETED_EVENT,
  ]);
  expect(typesOf(pod.id)).toEqual([CONTAINER_CREATED_EVENT, CONTAINER_STARTED_EVENT]);
  expect(seen.at(-1)?.podSandboxStatus?.id).toBe(pod.id);
  abort.abort(reason);
  expect(await reading).toBe(reason);
}

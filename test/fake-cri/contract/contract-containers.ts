// The CRI contract of containers: create, start, exit, list, remove.
import { expect } from 'vitest';
import { ContainerState } from '../../../src/api/cri/generated/runtime/v1/api.ts';
import { failureOf } from '../failure-of.ts';
import { absentId, type DefineCase } from './contract-kit.ts';

const notStarted =
  'failed to create containerd task: failed to create shim task: OCI runtime create failed: ';

export function containerCases(define: DefineCase): void {
  define(
    'a created container has not run, and reports its configuration',
    async ({ runtime, images, image }, kit) => {
      const pod = await kit.runPod();
      const id = await pod.create('c', { attempt: 3 });
      const stored = (await images.imageStatus({ image: { image } })).image;
      const status = await pod.status(id);
      expect(id).toMatch(/^[0-9a-f]{64}$/);
      expect(status).toMatchObject({
        id,
        metadata: { name: 'c', attempt: 3 },
        state: ContainerState.CONTAINER_CREATED,
        startedAt: 0n,
        finishedAt: 0n,
        exitCode: 0,
        reason: '',
        message: '',
        image: { image: stored?.repoTags[0] },
        labels: { container: 'c' },
        annotations: { 'example.com/hash': '1' },
      });
      expect([stored?.id, ...(stored?.repoDigests ?? [])]).toContain(status.imageRef);
      expect(status.createdAt).toBeGreaterThan(1_700_000_000_000_000_000n);
      const directory = pod.config.logDirectory ?? '';
      if (directory !== '') expect(status.logPath).toBe(`${directory}/c.log`);
      const { containers } = await runtime.listContainers({ filter: { id } });
      expect(containers).toMatchObject([
        {
          id,
          podSandboxId: pod.id,
          imageRef: stored?.id,
          createdAt: status.createdAt,
          labels: { container: 'c' },
        },
      ]);
    },
  );

  define(
    'a container created from an image ID lists the ID and reports the image name in its status',
    async ({ runtime, images, image }, kit) => {
      const pod = await kit.runPod();
      const stored = (await images.imageStatus({ image: { image } })).image;
      const id = await pod.create('c', { image: stored?.id ?? '' });
      const { containers } = await runtime.listContainers({ filter: { id } });
      expect(containers[0]?.image?.image).toBe(stored?.id);
      expect((await pod.status(id)).image?.image).toBe(stored?.repoTags[0]);
    },
  );

  define(
    'a name is reserved until the container is removed; another attempt is another name',
    async ({ runtime }, kit) => {
      const pod = await kit.runPod();
      const first = await pod.create('c');
      const { name, namespace, uid } = pod.config.metadata ?? {};
      const err = await failureOf(pod.create('c'));
      expect(err.message).toContain(`name "c_${name}_${namespace}_${uid}_0" is reserved for "${first}"`);
      expect(await pod.create('c', { attempt: 1 })).not.toBe(first);
      await runtime.removeContainer({ containerId: first });
      expect(await pod.create('c')).not.toBe(first);
    },
  );

  define('the same name may be used in another sandbox', async (_subject, kit) => {
    const [a, b] = [await kit.runPod(), await kit.runPod()];
    expect(await a.create('c')).not.toBe(await b.create('c'));
  });

  define('CreateContainer rejects a missing image and missing metadata', async ({ major, runtime }, kit) => {
    const pod = await kit.runPod();
    const absent = 'registry.example.com/absent:1';
    const err = await failureOf(pod.create('c', { image: absent }));
    const during = major < 2 ? '' : 'failed to check if this is a checkpoint image: ';
    expect([err.kind, err.message]).toEqual([
      'not-found',
      `${during}failed to resolve image "${absent}": not found`,
    ]);
    const config = { ...pod.containerConfig('c'), metadata: undefined };
    const call = runtime.createContainer({ podSandboxId: pod.id, config, sandboxConfig: pod.config });
    expect((await failureOf(call)).message).toBe('container config must include metadata');
    await pod.create('c');
  });

  define('a started container runs, and cannot be started twice', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const id = await pod.start('c');
    const status = await pod.status(id);
    expect(status).toMatchObject({
      state: ContainerState.CONTAINER_RUNNING,
      finishedAt: 0n,
      exitCode: 0,
      reason: '',
    });
    expect(status.startedAt).toBeGreaterThan(status.createdAt);
    const err = await failureOf(runtime.startContainer({ containerId: id }));
    expect(err.message).toBe(
      `failed to set starting state for container "${id}": container is in CONTAINER_RUNNING state`,
    );
  });

  const endings = [
    ['true', ['true'], 0, 'Completed'],
    ['false', ['false'], 1, 'Error'],
    ['a script with an exit code', ['sh', '-c', 'exit 3'], 3, 'Error'],
    ['a script after 300 ms', ['sh', '-c', 'sleep 0.3; exit 7'], 7, 'Error'],
    ["nothing: the image's command", [], 0, 'Completed'],
    ['a script that finds no command', ['sh', '-c', 'no-such-command'], 127, 'Error'],
  ] as const;
  for (const [name, command, exitCode, reason] of endings) {
    define(`reports exit code and reason: ${name}`, async ({ runtime }, kit) => {
      const pod = await kit.runPod();
      const id = await pod.start('c', { command });
      const status = await pod.exited(kit, id);
      expect(status).toMatchObject({ exitCode, reason, message: '' });
      expect(status.finishedAt).toBeGreaterThan(status.createdAt);
      const err = await failureOf(runtime.startContainer({ containerId: id }));
      expect(err.message).toContain('container is in CONTAINER_EXITED state');
    });
  }

  const missing = [
    ['/no/such/binary', 'stat /no/such/binary: no such file or directory'],
    ['no-such-binary', 'executable file not found in $PATH'],
  ] as const;
  for (const [command, why] of missing) {
    define(`StartContainer fails for ${command}`, async ({ major, runtime }, kit) => {
      const pod = await kit.runPod();
      const containerId = await pod.create('c', { command: [command] });
      const cause = `exec: "${command}": ${why}`;
      const message = `${notStarted}runc create failed: unable to start container process: ${
        major < 2 ? `${cause}: unknown` : `error during container init: ${cause}`
      }`;
      expect((await failureOf(runtime.startContainer({ containerId }))).message).toBe(message);
      const status = await pod.status(containerId);
      expect(status).toMatchObject({
        state: ContainerState.CONTAINER_EXITED,
        exitCode: 128,
        reason: 'StartError',
        message,
      });
      expect([status.startedAt, status.finishedAt > status.createdAt]).toEqual([0n, true]);
    });
  }

  define('a container that exceeds its memory limit is OOM-killed', async (_subject, kit) => {
    const pod = await kit.runPod();
    const id = await pod.start('c', { command: ['sh', '-c', 'tail /dev/zero'], memoryBytes: 24 << 20 });
    expect(await pod.exited(kit, id)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
  });

  define('a second attempt runs beside the exited first one', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const first = await pod.start('c', { command: ['false'] });
    await pod.exited(kit, first);
    const second = await pod.start('c', { attempt: 1 });
    const { containers } = await runtime.listContainers({ filter: { podSandboxId: pod.id } });
    expect(
      new Set(containers.map(({ id, metadata, state }) => `${id} ${metadata?.attempt} ${state}`)),
    ).toEqual(new Set([`${first} 0 2`, `${second} 1 1`]));
  });

  define('ListContainers combines the filters id, sandbox, state and labels', async ({ runtime }, kit) => {
    const [p, q] = [await kit.runPod(), await kit.runPod()];
    const running = await p.start('r', { labels: { kind: 'x' } });
    const created = await p.create('c', { labels: { kind: 'x' } });
    const other = await q.create('c', { labels: { kind: 'x' } });
    const mine = [running, created, other];
    const list = async (
      filter: Parameters<typeof runtime.listContainers>[0]['filter'],
    ): Promise<Set<string>> => {
      const { containers } = await runtime.listContainers({ filter });
      return new Set(containers.map(({ id }) => id).filter((id) => mine.includes(id)));
    };
    const isCreated = { state: ContainerState.CONTAINER_CREATED };
    expect(await list(undefined)).toEqual(new Set(mine));
    expect(await list({ id: running })).toEqual(new Set([running]));
    expect(await list({ id: running.slice(0, 16) })).toEqual(new Set([running]));
    expect(await list({ id: absentId })).toEqual(new Set());
    expect(await list({ podSandboxId: p.id })).toEqual(new Set([running, created]));
    expect(await list({ podSandboxId: q.id.slice(0, 16) })).toEqual(new Set([other]));
    expect(await list({ state: isCreated })).toEqual(new Set([created, other]));
    expect(await list({ labelSelector: { container: 'r' } })).toEqual(new Set([running]));
    expect(await list({ labelSelector: { container: 'c', kind: 'y' } })).toEqual(new Set());
    expect(await list({ podSandboxId: p.id, state: isCreated, labelSelector: { kind: 'x' } })).toEqual(
      new Set([created]),
    );
  });

  define('RemoveContainer removes a container in any state, and is idempotent', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const running = await pod.start('running');
    const created = await pod.create('created');
    const exited = await pod.start('exited', { command: ['true'] });
    await pod.exited(kit, exited);
    for (const containerId of [running, created, exited]) {
      await runtime.removeContainer({ containerId });
      await runtime.removeContainer({ containerId });
      expect(await failureOf(runtime.containerStatus({ containerId }))).toMatchObject({ kind: 'not-found' });
    }
  });

  define('updated resources appear in the status', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    for (const containerId of [await pod.start('running'), await pod.create('created')]) {
      await runtime.updateContainerResources({ containerId, linux: { cpuShares: 512 } });
      expect((await pod.status(containerId)).resources?.linux?.cpuShares).toBe(512n);
    }
  });
}

// The CRI contract of sandboxes: names, addresses, states, filters, and the effect of stop and remove on containers.
import { expect } from 'vitest';
import {
  ContainerState,
  NamespaceMode,
  PodSandboxState,
} from '../../../src/api/cri/generated/runtime/v1/api.ts';
import { failureOf } from '../failure-of.ts';
import { absentId, type DefineCase } from './contract-kit.ts';

export function sandboxCases(define: DefineCase): void {
  define(
    'a running sandbox is ready, has an IP address and reports its configuration',
    async ({ runtime }, kit) => {
      const pod = await kit.runPod();
      const { status } = await runtime.podSandboxStatus({ podSandboxId: pod.id });
      expect(pod.id).toMatch(/^[0-9a-f]{64}$/);
      expect(status).toMatchObject({
        id: pod.id,
        metadata: pod.config.metadata,
        state: PodSandboxState.SANDBOX_READY,
        labels: pod.config.labels,
        annotations: pod.config.annotations,
        runtimeHandler: '',
      });
      expect(status?.network?.ip).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      expect(status?.linux?.namespaces?.options).toMatchObject({
        network: NamespaceMode.POD,
        pid: NamespaceMode.CONTAINER,
      });
      expect(status?.createdAt).toBeGreaterThan(1_700_000_000_000_000_000n);
    },
  );

  define('every sandbox has its own IP address', async ({ runtime }, kit) => {
    const pods = [await kit.runPod(), await kit.runPod()];
    const answers = await Promise.all(pods.map((pod) => runtime.podSandboxStatus({ podSandboxId: pod.id })));
    expect(new Set(answers.map(({ status }) => status?.network?.ip)).size).toBe(2);
  });

  define('a sandbox on the host network has no IP address', async ({ runtime, cgroupParent = '' }, kit) => {
    const namespaceOptions = { network: NamespaceMode.NODE, pid: NamespaceMode.CONTAINER };
    const pod = await kit.runPod(
      kit.podConfig({ hostname: '', linux: { cgroupParent, securityContext: { namespaceOptions } } }),
    );
    const { status } = await runtime.podSandboxStatus({ podSandboxId: pod.id });
    expect(status?.network?.ip ?? '').toBe('');
    expect(status?.linux?.namespaces?.options?.network).toBe(NamespaceMode.NODE);
  });

  define('a name is reserved until the sandbox is removed', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const again = (): Promise<unknown> => runtime.runPodSandbox({ config: pod.config });
    const { name, namespace, uid } = pod.config.metadata ?? {};
    const words = `name "${name}_${namespace}_${uid}_0" is reserved for "${pod.id}"`;
    expect((await failureOf(again())).message).toContain(words);
    await runtime.stopPodSandbox({ podSandboxId: pod.id });
    expect((await failureOf(again())).message).toContain(words);
    await runtime.removePodSandbox({ podSandboxId: pod.id });
    const second = await kit.runPod(pod.config);
    expect(second.id).not.toBe(pod.id);
  });

  define('another attempt is another name', async (_subject, kit) => {
    const first = await kit.runPod();
    const second = await kit.runPod({ ...first.config, metadata: { ...first.config.metadata, attempt: 1 } });
    expect(second.id).not.toBe(first.id);
  });

  define('RunPodSandbox rejects missing metadata and an unknown handler', async ({ runtime }, kit) => {
    expect((await failureOf(runtime.runPodSandbox({ config: {} }))).message).toContain(
      'must include metadata',
    );
    const config = kit.podConfig();
    const err = await failureOf(runtime.runPodSandbox({ config, runtimeHandler: 'no-such-handler' }));
    expect(err.message).toContain('no runtime for "no-such-handler" is configured');
    // A rejected request must not keep the name reserved.
    await kit.runPod(config);
  });

  define('a sandbox is found by an ID prefix', async ({ runtime }, kit) => {
    const pod = await kit.runPod();
    const { status } = await runtime.podSandboxStatus({ podSandboxId: pod.id.slice(0, 16) });
    expect(status?.id).toBe(pod.id);
  });

  define('ListPodSandbox combines the filters id, state and labels', async ({ runtime }, kit) => {
    const [a, b] = [await kit.runPod(), await kit.runPod()];
    await runtime.stopPodSandbox({ podSandboxId: b.id });
    const labelSelector = { suite: 'contract' };
    const ready = { state: PodSandboxState.SANDBOX_READY };
    const list = async (
      filter: Parameters<typeof runtime.listPodSandbox>[0]['filter'],
    ): Promise<string[]> => {
      const { items } = await runtime.listPodSandbox({ filter });
      return items.map((item) => item.id).filter((id) => id === a.id || id === b.id);
    };
    expect(new Set(await list(undefined))).toEqual(new Set([a.id, b.id]));
    expect(await list({ id: a.id })).toEqual([a.id]);
    expect(await list({ id: a.id.slice(0, 16) })).toEqual([a.id]);
    expect(await list({ id: absentId })).toEqual([]);
    expect(await list({ state: ready, labelSelector })).toEqual([a.id]);
    expect(await list({ state: { state: PodSandboxState.SANDBOX_NOTREADY }, labelSelector })).toEqual([b.id]);
    expect(await list({ labelSelector: { pod: b.config.metadata?.name ?? '' } })).toEqual([b.id]);
    expect(await list({ id: b.id, state: ready })).toEqual([]);
    expect(await list({ labelSelector: { suite: 'another' } })).toEqual([]);
  });

  define(
    'StopPodSandbox kills running containers, releases the IP address, leaves created containers, and is idempotent',
    async ({ runtime }, kit) => {
      const pod = await kit.runPod();
      const running = await pod.start('running', {
        command: ['sh', '-c', 'trap "" TERM; while true; do sleep 0.1; done'],
      });
      const created = await pod.create('created');
      await runtime.stopPodSandbox({ podSandboxId: pod.id });
      const { status } = await runtime.podSandboxStatus({ podSandboxId: pod.id });
      expect([status?.state, status?.network?.ip ?? '']).toEqual([PodSandboxState.SANDBOX_NOTREADY, '']);
      expect(await pod.exited(kit, running)).toMatchObject({ exitCode: 137, reason: 'Error' });
      expect((await pod.status(created)).state).toBe(ContainerState.CONTAINER_CREATED);
      await runtime.stopPodSandbox({ podSandboxId: pod.id });
    },
  );

  define(
    'a stopped sandbox rejects StartContainer, before 2.0 also CreateContainer',
    async ({ major, runtime }, kit) => {
      const pod = await kit.runPod();
      const created = await pod.create('created');
      await runtime.stopPodSandbox({ podSandboxId: pod.id });
      if (major < 2) expect(await failureOf(pod.create('late'))).toMatchObject({ kind: 'not-found' });
      else await pod.create('late');
      const err = await failureOf(runtime.startContainer({ containerId: created }));
      expect(err.message).toBe(`sandbox container "${pod.id}" is not running`);
      expect(await pod.status(created)).toMatchObject({
        state: ContainerState.CONTAINER_EXITED,
        exitCode: 128,
        reason: 'StartError',
        startedAt: 0n,
        message: err.message,
      });
    },
  );

  define(
    'RemovePodSandbox removes a ready sandbox with its containers, and is idempotent',
    async ({ runtime, stopsAbsent }, kit) => {
      const pod = await kit.runPod();
      const containerId = await pod.start('running');
      await runtime.removePodSandbox({ podSandboxId: pod.id });
      await runtime.removePodSandbox({ podSandboxId: pod.id });
      expect(await failureOf(runtime.podSandboxStatus({ podSandboxId: pod.id }))).toMatchObject({
        kind: 'not-found',
      });
      const stop = runtime.stopPodSandbox({ podSandboxId: pod.id });
      if (stopsAbsent) await stop;
      else expect(await failureOf(stop)).toMatchObject({ kind: 'not-found' });
      expect(await failureOf(runtime.containerStatus({ containerId }))).toMatchObject({ kind: 'not-found' });
    },
  );
}

// Containers of pods in a cluster: environment, hooks, ephemeral containers, termination messages, logs.
import { describe, expect, test } from 'vitest';
import type { ContainerConfig } from '../../../src/api/cri/generated/runtime/v1/api.ts';
import type { ContainerStatus } from '../../../src/api/k8s/types.ts';
import { aContainer } from '../../builders/builders.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';

function createdConfigs(world: ClusterWorld, name = 'c'): readonly ContainerConfig[] {
  return world.node.cri.calls
    .filter(({ method }) => method === 'CreateContainer')
    .map(({ request }) => (request as { config: ContainerConfig }).config)
    .filter((config) => config.metadata?.name === name);
}

function envOf(config: ContainerConfig | undefined): Record<string, string> {
  return Object.fromEntries(
    (config?.envs ?? []).map(({ key, value }) => [key, Buffer.from(value).toString()]),
  );
}

function status(world: ClusterWorld, name: string): ContainerStatus | undefined {
  return world.pod(name)?.status?.containerStatuses?.[0];
}

function eventLines(world: ClusterWorld, name: string): readonly string[] {
  return world.node.eventLines(world.pod(name)?.metadata?.uid ?? '');
}

describe('environment', () => {
  const env = [
    { name: 'LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'level' } } },
    { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'keys', key: 'password' } } },
  ];

  test('comes from objects and from existing services', async () => {
    const world = await startCluster();
    world.api.objects.create('configmaps', {
      metadata: { name: 'settings', namespace: 'default' },
      data: { level: 'high' },
    });
    world.api.objects.create('secrets', {
      metadata: { name: 'keys', namespace: 'default' },
      data: { password: Buffer.from('pass-word').toString('base64') },
    });
    world.api.objects.create('services', {
      metadata: { name: 'my-db', namespace: 'default' },
      spec: { clusterIP: '10.96.0.9', ports: [{ port: 5432 }] },
    });
    await world.advance(2_000);
    world.run('web', { containers: [aContainer({ env })] });
    await world.advance(5_000);
    expect(world.phase('web')).toBe('Running');
    expect(envOf(createdConfigs(world)[0])).toMatchObject({
      LEVEL: 'high',
      PASSWORD: 'pass-word',
      MY_DB_SERVICE_HOST: '10.96.0.9',
      MY_DB_PORT_5432_TCP: 'tcp://10.96.0.9:5432',
    });
    expect(world.node.log.join('\n')).not.toContain('pass-word');
    expect(world.forbidden()).toEqual([]);
  });

  test('a missing object is reported, and the container starts when it is created', async () => {
    const world = await startCluster();
    world.run('web', { containers: [aContainer({ env: env.slice(0, 1) })] });
    await world.advance(5_000);
    const message = 'configmap "settings" not found';
    expect(status(world, 'web')?.state?.waiting).toEqual({ reason: 'CreateContainerConfigError', message });
    expect(eventLines(world, 'web')).toContain(`Failed: Error: ${message}`);
    world.api.objects.create('configmaps', {
      metadata: { name: 'settings', namespace: 'default' },
      data: { level: 'late' },
    });
    await world.advance(90_000);
    expect(world.phase('web')).toBe('Running');
    expect(envOf(createdConfigs(world).at(-1))['LEVEL']).toBe('late');
    expect(status(world, 'web')?.restartCount).toBe(0);
  });
});

describe('hooks', () => {
  test('a failed postStart hook ends the container, and only the status reports the cause', async () => {
    const world = await startCluster();
    const postStart = { exec: { command: ['sh', '-c', 'echo a-secret; exit 7'] } };
    const container = aContainer({ lifecycle: { postStart }, terminationMessagePolicy: 'File' });
    world.run('web', { terminationGracePeriodSeconds: 1, containers: [container] });
    await world.advance(30_000);
    const events = eventLines(world, 'web');
    expect(events).toEqual(
      expect.arrayContaining([
        'Created: Container created',
        'Started: Container started',
        'FailedPostStartHook: PostStartHook failed',
        'Killing: FailedPostStartHook',
      ]),
    );
    expect([...events, ...world.node.log].join('\n')).not.toContain('a-secret');
    expect(status(world, 'web')?.restartCount).toBeGreaterThan(0);
  });

  test('the next container waits for the postStart hook of the previous one', async () => {
    const world = await startCluster();
    const first = aContainer({ lifecycle: { postStart: { sleep: { seconds: 5 } } } });
    world.run('web', { containers: [first, aContainer({ name: 'd' })] });
    await world.advance(4_000);
    expect([createdConfigs(world, 'c').length, createdConfigs(world, 'd').length]).toEqual([1, 0]);
    await world.advance(4_000);
    expect([createdConfigs(world, 'c').length, createdConfigs(world, 'd').length]).toEqual([1, 1]);
    expect(world.ready('web')).toBe('True');
  });
});

test('an ephemeral container joins a running pod, shares the PID namespace of its target, and affects no other container', async () => {
  const world = await startCluster();
  world.run('web');
  await world.advance(5_000);
  const target = status(world, 'web')?.containerID?.replace(/^.*\/\//, '');
  const debug = { ...aContainer({ name: 'debug' }), targetContainerName: 'c' };
  world.api.objects.patch(
    'pods',
    'default',
    'web',
    { spec: { ephemeralContainers: [debug] } },
    'ephemeralcontainers',
  );
  await world.advance(10_000);
  expect(createdConfigs(world, 'debug')[0]?.linux?.securityContext?.namespaceOptions).toMatchObject({
    pid: 3,
    targetId: target,
  });
  expect(world.pod('web')?.status?.ephemeralContainerStatuses?.[0]?.state?.running).toBeDefined();
  expect([world.phase('web'), world.ready('web'), status(world, 'web')?.restartCount]).toEqual([
    'Running',
    'True',
    0,
  ]);
});

test('the termination message is in the status, from its file or from the log', async () => {
  const world = await startCluster();
  const container = aContainer({ command: ['sh', '-c', 'sleep 5; exit 3'] });
  world.run('job', { restartPolicy: 'Never', containers: [container] });
  await world.advance(3_000);
  const file = [...world.node.files.keys()].find((path) => path.includes('/containers/c/')) ?? '';
  world.node.files.set(file, 'I am done');
  await world.advance(10_000);
  expect(status(world, 'job')?.state?.terminated).toMatchObject({ exitCode: 3, message: 'I am done' });
});

test('a log is linked under its legacy name, and a removed pod leaves nothing behind', async () => {
  const world = await startCluster();
  world.run('web', { terminationGracePeriodSeconds: 1 });
  await world.advance(5_000);
  const links = (): readonly string[] =>
    [...world.node.files].flatMap(([path, text]) => (text.startsWith('-> ') ? [`${path} ${text}`] : []));
  const id = status(world, 'web')?.containerID?.replace(/^.*\/\//, '');
  const uid = world.pod('web')?.metadata?.uid;
  expect(links()).toEqual([
    `/var/log/containers/web_default_c-${id}.log -> /var/log/pods/default_web_${uid}/c/0.log`,
  ]);
  world.delete('web');
  await world.advance(60_000);
  expect(links()).toEqual([]);
  expect([...world.node.files.keys()].filter((path) => path.includes(`/pods/${uid}/`))).toEqual([]);
});

test('a pod with a missing RuntimeClass reports it, and runs when the class is created', async () => {
  const world = await startCluster();
  world.run('web', { runtimeClassName: 'kata' });
  await world.advance(5_000);
  expect(world.callCount('runPodSandbox')).toBe(0);
  expect(eventLines(world, 'web').join('\n')).toContain('FailedCreatePodSandBox');
  world.api.objects.create('runtimeclasses', { metadata: { name: 'kata' }, handler: '' });
  await world.advance(60_000);
  expect(world.phase('web')).toBe('Running');
});

test('a pod with a forbidden sysctl is rejected with the reason', async () => {
  const world = await startCluster();
  world.run('web', { securityContext: { sysctls: [{ name: 'kernel.sem', value: '1' }] } });
  await world.advance(3_000);
  expect(world.pod('web')?.status).toMatchObject({
    phase: 'Failed',
    reason: 'SysctlForbidden',
    message: expect.stringContaining('forbidden sysctl: "kernel.sem" not allowlisted') as string,
  });
});

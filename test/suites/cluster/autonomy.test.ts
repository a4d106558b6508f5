// Nodes that are cut off from their API server with --autonomy: they reboot, or their kubelet restarts, and run the pods that they
// kept; what was deleted or has ended never starts; the return of the API server restarts nothing.
import { expect, test } from 'vitest';
import { aContainer, aPod } from '../../builders/builders.ts';
import { type ClusterWorld, startCluster } from '../../simulate/cluster-world.ts';
import {
  type Autonomy,
  directory,
  password,
  powerOff,
  rebootCutOff,
  recordsOf,
  running,
  sandboxes,
  start,
  uid,
  useObjects,
} from '../../simulate/cut-off-kit.ts';

test('off by default: nothing is written, and a node that reboots while it is cut off waits for its pods', async () => {
  const world = await startCluster();
  world.run('web');
  await world.advance(10_000);
  await rebootCutOff(world);
  await world.advance(60_000);
  expect([running(world), world.node.keptFiles.size]).toEqual([[], 0]);
});

test('a node that reboots while it is cut off runs its pods with their objects again, and their return restarts nothing', async () => {
  const world = await start();
  world.run('web', useObjects());
  world.run('plain');
  await world.advance(10_000);
  expect([world.phase('web'), world.phase('plain')]).toEqual(['Running', 'Running']);
  const web = uid(world, 'web');
  await rebootCutOff(world);
  expect(running(world)).toHaveLength(2);
  expect(world.node.logged('The API server cannot be reached, running the pods that were kept')).toHaveLength(
    1,
  );
  const withPassword = running(world).filter(
    (id) => world.node.cri.container(id).env.get('PASSWORD') === password,
  );
  expect(withPassword).toHaveLength(1);
  const before = running(world);
  const starts = world.callCount('startContainer');
  await world.advance(300_000);
  const stops = world.callCount('stopContainer');
  world.api.faults.comeUp();
  await world.advance(120_000);
  expect([running(world), world.callCount('startContainer')]).toEqual([before, starts]);
  expect(world.callCount('stopContainer')).toBe(stops);
  expect([uid(world, 'web'), world.ready('web'), world.ready('plain')]).toEqual([web, 'True', 'True']);
  expect(world.pod('web')?.status?.containerStatuses?.[0]?.restartCount).toBe(1);
  const reasons = world.api.objects.list('events').map(({ reason }) => reason);
  expect(reasons).toContain('KeptPodsReplaced');
  expect(world.forbidden()).toEqual([]);
});

test('no secret or token is on disk in clear, and only what is wanted stays', async () => {
  const world = await start();
  world.run('web', useObjects());
  await world.advance(10_000);
  const text = [...world.node.keptFiles.values()].join('\n');
  expect(recordsOf(world, 'secrets')).toHaveLength(1);
  expect(recordsOf(world, 'tokens')).toHaveLength(1);
  for (const clear of [password, Buffer.from(password).toString('base64')]) expect(text).not.toContain(clear);
  const token = world.node.volumes.text(
    `/var/lib/kubelet/pods/${uid(world, 'web')}/volumes/kubernetes.io~projected/token`,
    'token',
  );
  expect(token?.length).toBeGreaterThan(10);
  expect(text).not.toContain(token);
  world.delete('web');
  await world.advance(60_000);
  for (const kind of ['pods', 'secrets', 'tokens', 'configmaps'])
    expect([kind, recordsOf(world, kind)]).toEqual([kind, []]);
});

test('a kubelet that restarts while it is cut off changes no container, and pods deleted meanwhile end on return', async () => {
  const world = await start();
  world.run('web', useObjects());
  world.run('gone');
  await world.advance(10_000);
  const before = running(world);
  const calls = world.callCount('startContainer') + world.callCount('stopContainer');
  world.api.faults.goDown();
  await world.node.kill();
  world.delete('gone', 0);
  await world.node.start();
  await world.advance(300_000);
  expect([running(world), world.callCount('startContainer') + world.callCount('stopContainer')]).toEqual([
    before,
    calls,
  ]);
  world.api.faults.comeUp();
  await world.advance(120_000);
  expect([world.ready('web'), running(world).length]).toEqual(['True', 1]);
  expect(world.callCount('startContainer')).toBe(2);
});

test('a pod on the runtime that was not kept is not touched while the node is cut off', async () => {
  const world = await start();
  world.run('web');
  world.run('unknown');
  await world.advance(10_000);
  const before = running(world);
  world.api.faults.goDown();
  await world.node.kill();
  for (const [path, text] of recordsOf(world, 'pods'))
    if (text.includes(uid(world, 'unknown'))) world.node.keptFiles.delete(path);
  await world.node.start();
  await world.advance(600_000);
  expect(running(world)).toEqual(before);
  world.api.faults.comeUp();
  await world.advance(60_000);
  expect([running(world), world.ready('unknown')]).toEqual([before, 'True']);
});

for (const [what, after, end] of [
  [
    'was being deleted when its kubelet was killed',
    undefined,
    (world: ClusterWorld) => world.delete('p', 120),
  ],
  ['was deleted at once', undefined, (world: ClusterWorld) => world.delete('p', 0)],
  ['has succeeded', 'Succeeded', (world: ClusterWorld) => world.node.cri.exitContainer('job', 0)],
  ['has failed', 'Failed', (world: ClusterWorld) => world.node.cri.exitContainer('job', 1)],
  [
    'was evicted',
    'Failed',
    (world: ClusterWorld) =>
      void world.node
        .killPod(uid(world, 'p'), {
          reason: 'Evicted',
          message: 'The node was low on resource: memory.',
          evicted: true,
        })
        .catch(() => undefined),
  ],
] as const)
  test(`a pod that ${what} never starts again while the node is cut off`, async () => {
    const world = await start();
    world.run('p', { restartPolicy: 'Never', containers: [aContainer({ name: 'job' })] });
    world.run('other');
    await world.advance(10_000);
    end(world);
    await world.advance(100);
    await rebootCutOff(world);
    await world.advance(60_000);
    expect([world.callCount('startContainer'), running(world).length]).toEqual([3, 1]);
    world.api.faults.comeUp();
    await world.advance(120_000);
    expect(world.callCount('startContainer')).toBe(3);
    expect([world.ready('other'), world.phase('p')]).toEqual(['True', after]);
  });

test('a pod that ended while the node was cut off stays over after a reboot, and its end is reported on return', async () => {
  const world = await start();
  world.run('job', { restartPolicy: 'OnFailure', containers: [aContainer({ name: 'job' })] });
  await world.advance(10_000);
  world.api.faults.goDown();
  await world.advance(20_000);
  world.node.cri.exitContainer('job', 0);
  await world.advance(1_000);
  await powerOff(world);
  for (const { id } of await sandboxes(world))
    await world.node.clock.until(world.node.cri.removePodSandbox({ podSandboxId: id }));
  await world.node.start();
  await world.advance(60_000);
  expect([world.callCount('startContainer'), running(world)]).toEqual([1, []]);
  world.api.faults.comeUp();
  await world.advance(60_000);
  expect([world.callCount('startContainer'), world.phase('job')]).toEqual([1, 'Succeeded']);
});

test('pods that were replaced, rescheduled or deleted while the node was cut off end on return, and new ones start', async () => {
  const world = await start();
  for (const name of ['kept', 'replaced', 'gone']) world.run(name);
  await world.advance(10_000);
  const kept = uid(world, 'kept');
  world.api.faults.goDown();
  await powerOff(world);
  world.delete('replaced', 0);
  world.delete('gone', 0);
  world.run('replaced');
  world.run('new');
  await world.node.start();
  await world.advance(20_000);
  expect(running(world)).toHaveLength(3);
  world.api.faults.comeUp();
  await world.advance(120_000);
  expect(running(world)).toHaveLength(3);
  expect(['kept', 'replaced', 'new'].map((name) => world.ready(name))).toEqual(['True', 'True', 'True']);
  expect(uid(world, 'kept')).toBe(kept);
  expect(world.pod('kept')?.status?.containerStatuses?.[0]?.restartCount).toBe(1);
  expect(world.pod('replaced')?.status?.containerStatuses?.[0]?.restartCount).toBe(0);
});

test('an API server that answers promptly is never overtaken by what was kept', async () => {
  const world = await start();
  world.run('gone');
  world.run('web');
  await world.advance(10_000);
  await powerOff(world);
  world.delete('gone', 0);
  const slow = world.api.faults.slow({}, 400);
  const starts = world.callCount('startContainer');
  await world.node.start();
  await world.advance(30_000);
  slow.remove();
  expect(world.node.logged('running the pods that were kept')).toEqual([]);
  expect([world.callCount('startContainer') - starts, running(world).length]).toEqual([1, 1]);
});

const outages = [
  ['refuses connections', (world: ClusterWorld) => world.api.faults.goDown()],
  ['never answers', (world: ClusterWorld) => void world.api.faults.stall({})],
  [
    'answers 503',
    (world: ClusterWorld) => void world.api.faults.fail({}, { code: 503, times: Number.POSITIVE_INFINITY }),
  ],
  [
    'answers 401, as to an expired certificate',
    (world: ClusterWorld) => void world.api.faults.fail({}, { code: 401, times: Number.POSITIVE_INFINITY }),
  ],
  [
    'cannot list pods and nodes, but answers other requests',
    (world: ClusterWorld) => {
      for (const resource of ['pods', 'nodes']) world.api.faults.stall({ resource });
    },
  ],
] as const;
for (const [what, cut] of outages)
  test(`kept pods run within ten seconds of the start if the API server ${what}`, async () => {
    const world = await start();
    world.run('web', useObjects());
    await world.advance(10_000);
    await powerOff(world);
    cut(world);
    await world.node.start();
    await world.advance(10_000);
    expect(running(world)).toHaveLength(1);
  });

test('an API server that answers 403 is no cut-off', async () => {
  const world = await start();
  world.run('web');
  await world.advance(10_000);
  await powerOff(world);
  const forbidden = world.api.faults.fail({}, { code: 403, times: Number.POSITIVE_INFINITY });
  await world.node.start();
  await world.advance(20_000);
  expect(running(world)).toEqual([]);
  forbidden.remove();
  await world.advance(60_000);
  expect(running(world)).toHaveLength(1);
});

for (const years of [-30, 30])
  test(`a clock that is ${years} years off at boot keeps no pod from running, and tokens are renewed once it is right`, async () => {
    const world = await start();
    world.run('web', useObjects());
    await world.advance(10_000);
    const stepMs = years * 365 * 86_400_000;
    world.api.faults.goDown();
    await powerOff(world);
    world.node.clock.stepWall(stepMs);
    await world.node.start();
    await world.advance(10_000);
    expect(running(world)).toHaveLength(1);
    await world.advance(300_000);
    expect(running(world)).toHaveLength(1);
    world.node.clock.stepWall(-stepMs);
    world.api.faults.comeUp();
    await world.advance(60_000);
    expect(world.ready('web')).toBe('True');
    const count = (): number =>
      world.api.requestLines().filter((line) => line.startsWith('create serviceaccounts/token')).length;
    const before = count();
    await world.advance(3_600_000);
    expect(count()).toBeGreaterThan(before);
    expect(running(world)).toHaveLength(1);
  });

test('without secrets, pods that need one wait with the reason, and the others run', async () => {
  const world = await start('WithoutSecrets');
  world.run('web', useObjects());
  world.run('plain');
  await world.advance(10_000);
  expect([recordsOf(world, 'secrets'), recordsOf(world, 'tokens')]).toEqual([[], []]);
  expect(world.node.keptFiles.has(`${directory}/key`)).toBe(false);
  await rebootCutOff(world);
  await world.advance(30_000);
  expect(running(world)).toHaveLength(1);
  const web = uid(world, 'web');
  const reason = 'is not kept on this node (--autonomy=WithoutSecrets), and the API server cannot be reached';
  expect(world.node.eventLines(web).some((line) => line.includes(reason))).toBe(true);
  const explanations = new Set<string>();
  for (let second = 0; second < 20; second++) {
    await world.advance(1_000);
    explanations.add(world.node.explanation(web) ?? '');
  }
  expect([...explanations].some((each) => each.includes(reason))).toBe(true);
  world.api.faults.comeUp();
  await world.advance(150_000);
  expect([world.ready('web'), world.ready('plain')]).toEqual(['True', 'True']);
});

test('changing to WithoutSecrets removes secrets and key from disk', async () => {
  const world = await start();
  world.run('web', useObjects());
  await world.advance(10_000);
  const flags = { autonomy: 'WithSecrets' as Autonomy };
  expect(world.node.keptFiles.has(`${directory}/key`)).toBe(true);
  await world.node.kill();
  world.node.setFlags({ ...flags, autonomy: 'WithoutSecrets' });
  await world.node.start();
  await world.advance(2_000);
  expect(world.node.keptFiles.has(`${directory}/key`)).toBe(false);
  expect(recordsOf(world, 'secrets')).toEqual([]);
});

test('an optional object that does not exist delays no pod', async () => {
  const world = await start();
  world.run('web', {
    volumes: [{ name: 'conf', configMap: { name: 'none', optional: true } }],
    containers: [
      aContainer({
        envFrom: [{ secretRef: { name: 'none', optional: true } }],
        volumeMounts: [{ name: 'conf', mountPath: '/conf' }],
      }),
    ],
  });
  await world.advance(10_000);
  await rebootCutOff(world);
  expect(running(world)).toHaveLength(1);
});

test('a claim and its volume are kept as well', async () => {
  const world = await start('WithoutSecrets');
  const { objects } = world.api;
  const { metadata } = objects.create('persistentvolumeclaims', {
    metadata: { name: 'data', namespace: 'default', finalizers: ['kubernetes.io/pvc-protection'] },
    spec: { volumeName: 'pv1', accessModes: ['ReadWriteOnce'] },
  });
  objects.patch('persistentvolumeclaims', 'default', 'data', { status: { phase: 'Bound' } }, 'status');
  objects.create('persistentvolumes', {
    metadata: { name: 'pv1' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/data' },
      claimRef: { namespace: 'default', name: 'data', uid: metadata?.uid ?? '' },
    },
  });
  world.run('db', {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    containers: [aContainer({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
  });
  await world.advance(10_000);
  expect(world.phase('db')).toBe('Running');
  expect([
    recordsOf(world, 'persistentvolumeclaims').length,
    recordsOf(world, 'persistentvolumes').length,
  ]).toEqual([1, 1]);
  await rebootCutOff(world);
  expect(running(world)).toHaveLength(1);
});

const damages = [
  ['empty', () => ''],
  ['truncated', (text: string) => text.slice(0, text.length - 20)],
  ['changed', (text: string) => text.replace(/.{8}$/s, 'AAAAAAAA')],
  ['not text', () => '\0'.repeat(4096)],
  ['of another format', (text: string) => text.replace('"version":1', '"version":99')],
] as const;
for (const [what, damage] of damages)
  test(`records that are ${what} are set aside each by itself, and the others are used`, async () => {
    const world = await start();
    world.run('web', useObjects());
    world.run('plain');
    world.run('damaged');
    await world.advance(10_000);
    await powerOff(world);
    world.api.faults.goDown();
    for (const [path, text] of recordsOf(world, 'pods'))
      if (text.includes(uid(world, 'damaged'))) world.node.keptFiles.set(path, damage(text));
    for (const [path, text] of recordsOf(world, 'secrets')) world.node.keptFiles.set(path, damage(text));
    await world.node.start();
    await world.advance(20_000);
    expect(running(world)).toHaveLength(1);
    expect(recordsOf(world, 'damaged')).toHaveLength(2);
    world.api.faults.comeUp();
    await world.advance(150_000);
    const names = ['web', 'plain', 'damaged'];
    expect(names.map((name) => world.ready(name))).toEqual(['True', 'True', 'True']);
  });

test('one damaged record of a collection keeps no pod from running', async () => {
  const world = await start();
  world.run('web', useObjects());
  await world.advance(10_000);
  await powerOff(world);
  world.api.faults.goDown();
  for (const [path] of recordsOf(world, 'collections')) world.node.keptFiles.set(path, 'damaged');
  await world.node.start();
  await world.advance(10_000);
  expect(running(world)).toHaveLength(1);
});

for (const [what, move] of [
  [
    'node',
    (world: ClusterWorld) => {
      for (const [path, text] of world.node.keptFiles)
        world.node.keptFiles.set(path, text.replace('"node":"n"', '"node":"m"'));
    },
  ],
  ['machine', (world: ClusterWorld) => void (world.node.machineId = 'another')],
] as const)
  test(`state of another ${what} is refused with one line`, async () => {
    const world = await start();
    world.run('web', useObjects());
    world.run('plain');
    await world.advance(10_000);
    await powerOff(world);
    world.api.faults.goDown();
    move(world);
    await world.node.start();
    await world.advance(30_000);
    expect(running(world)).toEqual([]);
    expect(world.node.logged('The kept state is of another node or machine')).toHaveLength(1);
    expect(recordsOf(world, 'pods')).toEqual([]);
    world.api.faults.comeUp();
    await world.advance(120_000);
    expect([world.ready('web'), recordsOf(world, 'pods').length]).toEqual(['True', 2]);
  });

test('a kubelet killed at any moment leaves state that the next one can use', async () => {
  const world = await start();
  for (const name of ['a', 'b', 'c']) world.run(name, useObjects());
  for (let run = 0; run < 12; run++) {
    await world.advance(70 + 37 * run);
    await world.node.kill();
    await world.node.start();
  }
  await world.advance(20_000);
  await rebootCutOff(world);
  expect(running(world)).toHaveLength(3);
  expect(recordsOf(world, 'damaged')).toEqual([]);
});

test('a full disk starts no pod that was deleted, and is reported once', async () => {
  const world = await start();
  world.run('gone');
  world.run('web');
  await world.advance(10_000);
  world.node.keptWritesFail = () => true;
  world.delete('gone', 3600);
  world.run('late');
  await world.advance(5_000);
  expect(world.node.logged('Failed to keep state for the next cut-off')).toHaveLength(1);
  await rebootCutOff(world);
  expect(running(world)).toHaveLength(1);
});

test('a Node object that was deleted and created again while the node was cut off changes no container', async () => {
  const world = await start();
  world.run('web');
  await world.advance(10_000);
  await rebootCutOff(world);
  const before = running(world);
  const node = world.nodeObject();
  world.api.objects.delete('nodes', '', 'n', { gracePeriodSeconds: 0 });
  world.api.objects.create('nodes', { metadata: { name: 'n', labels: { ...node?.metadata?.labels } } });
  world.api.faults.comeUp();
  await world.advance(120_000);
  expect([running(world), world.ready('web')]).toEqual([before, 'True']);
});

test('static pods run beside kept ones', async () => {
  const world = await start();
  world.node.write('static.json', aPod({ name: 'static', uid: 'static-uid' }));
  world.run('web');
  await world.advance(10_000);
  await rebootCutOff(world);
  expect(running(world)).toHaveLength(2);
  world.api.faults.comeUp();
  await world.advance(120_000);
  expect([world.ready('static-n'), world.ready('web')]).toEqual(['True', 'True']);
});

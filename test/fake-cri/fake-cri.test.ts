// The fake runtime beyond the CRI contract: faults, call records, programs, access to its state.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  ContainerState,
  NamespaceMode,
  PodSandboxState,
} from '../../src/api/cri/generated/runtime/v1/api.ts';
import { Aborted, KubeletError } from '../../src/base/errors.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCri, fakeBusybox } from './fake-cri.ts';

let clock: FakeClock;
let cri: FakeCri;

beforeEach(() => {
  clock = new FakeClock();
  cri = new FakeCri({ clock });
});

afterEach(async () => {
  cri.close();
  await clock.settle();
  expect(clock.pendingTimers()).toBe(0);
});

const pod = (name: string) => ({ config: { metadata: { name, namespace: 'ns', uid: `uid-${name}` } } });

async function runPod(name = 'p'): Promise<string> {
  return (await cri.runPodSandbox(pod(name))).podSandboxId;
}

async function start(podSandboxId: string, name: string, command: readonly string[]): Promise<string> {
  const linux = { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } };
  const config = { metadata: { name }, image: { image: fakeBusybox.name }, command, linux };
  const { containerId } = await cri.createContainer({ podSandboxId, config, sandboxConfig: {} });
  await cri.startContainer({ containerId });
  return containerId;
}

const stateOf = async (containerId: string): Promise<unknown> =>
  (await cri.containerStatus({ containerId })).status?.state;
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'answered',
    (err: unknown) => err,
  );
const broken = new KubeletError('internal', 'UNKNOWN', 'shim is gone');

describe('faults', () => {
  test('fail: fails matching calls for the given number of times', async () => {
    cri.faults.fail('runPodSandbox', broken, {
      times: 2,
      match: ({ config }) => config?.metadata?.name === 'a',
    });
    expect(await caught(cri.runPodSandbox(pod('b')))).toBe('answered');
    expect(await caught(cri.runPodSandbox(pod('a')))).toBe(broken);
    expect(await caught(cri.runPodSandbox(pod('a')))).toBe(broken);
    expect(await caught(cri.runPodSandbox(pod('a')))).toBe('answered');
  });

  test('fail: a removed rule has no effect', async () => {
    cri.faults.fail('listContainers', broken, { times: Number.POSITIVE_INFINITY }).remove();
    expect(await caught(cri.listContainers({}))).toBe('answered');
  });

  test('fail after: the runtime acts and the response is lost', async () => {
    cri.faults.fail('runPodSandbox', broken, { when: 'after' });
    expect(await caught(cri.runPodSandbox(pod('a')))).toBe(broken);
    expect((await cri.listPodSandbox({})).items).toHaveLength(1);
    expect(await caught(cri.runPodSandbox(pod('a')))).toMatchObject({
      message: expect.stringContaining('is reserved for'),
    });
  });

  test('stall: a matching call waits until it is released, others proceed', async () => {
    const stall = cri.faults.stall('runPodSandbox', {
      match: ({ config }) => config?.metadata?.name === 'a',
    });
    const hung = caught(cri.runPodSandbox(pod('a')));
    await cri.runPodSandbox(pod('b'));
    expect([stall.waiting, (await cri.listPodSandbox({})).items.length]).toEqual([1, 1]);
    stall.release();
    expect(await hung).toBe('answered');
    expect((await cri.listPodSandbox({})).items).toHaveLength(2);
  });

  test('stall: an aborted or timed-out call never takes effect', async () => {
    const stall = cri.faults.stall('runPodSandbox', { times: 2 });
    const abort = new AbortController();
    const reason = new Aborted('caller aborted');
    const aborted = caught(cri.runPodSandbox(pod('a'), { signal: abort.signal }));
    const late = caught(cri.runPodSandbox(pod('b')));
    await clock.settle();
    abort.abort(reason);
    expect(await aborted).toBe(reason);
    // Twice the request timeout, as in the client.
    await clock.advance(239_999);
    expect(stall.waiting).toBe(2);
    await clock.advance(1);
    expect(await late).toMatchObject({
      kind: 'timeout',
      reason: 'DEADLINE_EXCEEDED',
      details: { method: 'RunPodSandbox' },
    });
    stall.release();
    await clock.settle();
    expect((await cri.listPodSandbox({})).items).toEqual([]);
  });

  test('latency: delays a call', async () => {
    cri.faults.latency('pullImage', 3000);
    cri.publishImage({ name: 'nginx' });
    const pull = caught(cri.pullImage({ image: { image: 'nginx' } }));
    await clock.advance(2999);
    expect((await cri.imageStatus({ image: { image: 'nginx' } })).image).toBeUndefined();
    await clock.advance(1);
    expect(await pull).toBe('answered');
    expect((await cri.imageStatus({ image: { image: 'nginx:latest' } })).image?.repoDigests).toHaveLength(1);
  });

  test('restart: cuts calls and streams; containers keep running and are listed afterwards', async () => {
    const sandbox = await runPod();
    const id = await start(sandbox, 'c', ['sh', '-c', 'sleep 2; exit 3']);
    cri.faults.stall('listContainers');
    const hung = caught(cri.listContainers({}));
    const events = cri.getContainerEvents({}, {});
    const next = caught(events.next());
    await clock.settle();
    cri.faults.restart({ downMs: 5000 });
    for (const cut of [hung, next, caught(cri.version({})), caught(cri.getContainerEvents({}, {}).next())]) {
      expect(await cut).toMatchObject({ kind: 'unavailable', reason: 'UNAVAILABLE' });
    }
    await clock.advance(4999);
    expect(await caught(cri.version({}))).toMatchObject({ kind: 'unavailable' });
    await clock.advance(1);
    expect((await cri.containerStatus({ containerId: id })).status).toMatchObject({ exitCode: 3 });
    expect((await cri.listPodSandbox({})).items).toHaveLength(1);
  });

  test('dropped events are not delivered later', async () => {
    const seen: string[] = [];
    const abort = new AbortController();
    const reading = (async () => {
      for await (const event of cri.getContainerEvents({}, { signal: abort.signal }))
        seen.push(event.containerId);
    })().catch(() => undefined);
    await clock.settle();
    const lost = cri.faults.loseEvents();
    await runPod('a');
    lost.restore();
    const b = await runPod('b');
    await clock.settle();
    expect(seen).toEqual([b, b]);
    abort.abort(new Aborted('done'));
    await reading;
  });
});

describe('call records', () => {
  test('hold mutating calls in order, with request, response, error and duration; reads are omitted', async () => {
    const sandbox = await runPod();
    await cri.listContainers({});
    await cri.status({});
    const id = await start(sandbox, 'c', ['sleep', '100']);
    await cri.execSync({ containerId: id, cmd: ['true'] });
    await cri.containerStatus({ containerId: id });
    const stop = cri.stopContainer({ containerId: id, timeout: 2 });
    await clock.advance(2000);
    await stop;
    await caught(cri.startContainer({ containerId: id }));
    expect(cri.calls.map(({ method }) => method)).toEqual([
      'RunPodSandbox',
      'CreateContainer',
      'StartContainer',
      'ExecSync',
      'StopContainer',
      'StartContainer',
    ]);
    expect(cri.calls[0]).toMatchObject({
      response: { podSandboxId: sandbox },
      request: { config: { metadata: { name: 'p' } } },
    });
    expect(cri.calls[4]).toMatchObject({
      request: { containerId: id, timeout: 2n },
      tookMs: 2000,
      response: {},
    });
    expect(cri.calls[5]?.error).toBeInstanceOf(KubeletError);
  });

  test('responses are copies', async () => {
    await runPod();
    const { items } = await cri.listPodSandbox({});
    if (items[0] !== undefined) items[0].labels['x'] = 'y';
    expect((await cri.listPodSandbox({})).items[0]?.labels).toEqual({});
  });
});

describe('programs and processes', () => {
  test("a test's program replaces the command, even one that does not exist", async () => {
    cri.setProgram('c', async (process) => {
      process.write('stdout', `args ${process.deps.args.join(' ')}\n`);
      await process.sleep(1000);
      return 42;
    });
    const id = await start(await runPod(), 'c', ['/server', '--port=80']);
    await clock.advance(1000);
    expect((await cri.containerStatus({ containerId: id })).status).toMatchObject({
      exitCode: 42,
      reason: 'Error',
    });
    expect(cri.logs('c')).toEqual([expect.stringMatching(/Z stdout F args \/server --port=80$/)]);
  });

  test('a test can end a process and read its files', async () => {
    const sandbox = await runPod();
    const id = await start(sandbox, 'c', ['sh', '-c', 'touch /tmp/ok; sleep 3; rm /tmp/ok; sleep 100']);
    await clock.settle();
    expect(cri.files('c').has('/tmp/ok')).toBe(true);
    await clock.advance(3000);
    expect(cri.files(id).has('/tmp/ok')).toBe(false);
    cri.exitContainer('c', 137, { oomKilled: true });
    expect((await cri.containerStatus({ containerId: id })).status).toMatchObject({
      exitCode: 137,
      reason: 'OOMKilled',
    });
    expect(() => cri.logs('missing')).toThrow('fake runtime has no container "missing"');
  });

  test('a sandbox that dies is not ready, keeps its address, and ends the containers that share its PID namespace', async () => {
    const sandbox = await runPod();
    const own = await start(sandbox, 'own', ['sleep', '100']);
    const config = {
      metadata: { name: 'shared' },
      image: { image: fakeBusybox.name },
      command: ['sleep', '100'],
    };
    const { containerId } = await cri.createContainer({ podSandboxId: sandbox, config });
    await cri.startContainer({ containerId });
    cri.killSandbox(sandbox);
    const { status } = await cri.podSandboxStatus({ podSandboxId: sandbox });
    expect(status).toMatchObject({ state: PodSandboxState.SANDBOX_NOTREADY, network: { ip: '10.88.0.2' } });
    expect(await stateOf(own)).toBe(ContainerState.CONTAINER_RUNNING);
    expect(await stateOf(containerId)).toBe(ContainerState.CONTAINER_EXITED);
  });

  test('the environment combines image, sandbox and container configuration', async () => {
    cri.addImage({
      name: 'app:1',
      entrypoint: ['sh', '-c'],
      cmd: ['echo $A $B $HOSTNAME'],
      env: { A: 'image', B: 'image' },
    });
    const envs = [{ key: 'B', value: Buffer.from('pod') }];
    const config = { metadata: { name: 'c' }, image: { image: 'app:1' }, envs };
    const podSandboxId = await runPod();
    const { containerId } = await cri.createContainer({
      podSandboxId,
      config,
      sandboxConfig: { hostname: 'h' },
    });
    await cri.startContainer({ containerId });
    await clock.settle();
    expect(cri.logs('c')).toEqual([expect.stringMatching(/ stdout F image pod h$/)]);
  });
});

describe('runtime state', () => {
  test('without a network only host-network sandboxes start, and the status reports it', async () => {
    cri.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni plugin not initialized');
    const { status } = await cri.status({});
    expect(status?.conditions).toContainEqual({
      type: 'NetworkReady',
      status: false,
      reason: 'NetworkPluginNotReady',
      message: 'cni plugin not initialized',
    });
    expect(await caught(runPod('a'))).toMatchObject({
      message: expect.stringContaining('failed to setup network for sandbox'),
    });
    const securityContext = { namespaceOptions: { network: NamespaceMode.NODE } };
    await cri.runPodSandbox({ config: { ...pod('b').config, linux: { securityContext } } });
    cri.setCondition('NetworkReady', true);
    await runPod('a');
  });

  test('RuntimeConfig and handlers exist only when configured', async () => {
    const modern = new FakeCri({ clock, cgroupDriver: 'cgroupfs', handlers: ['gvisor'] });
    expect(await modern.runtimeConfig({})).toEqual({ linux: { cgroupDriver: 1 } });
    await modern.runPodSandbox({ ...pod('a'), runtimeHandler: 'gvisor' });
    expect(await caught(cri.runtimeConfig({}))).toMatchObject({ reason: 'UNIMPLEMENTED' });
  });

  test('an image reports user and size, and a tag moves to the latest image', async () => {
    const first = cri.addImage({ name: 'app:1', user: '1000:1000', sizeBytes: 10 });
    const second = cri.addImage({ name: 'app:1', user: 'www', sizeBytes: 20 });
    const byTag = await cri.imageStatus({ image: { image: 'app:1' } });
    const byId = await cri.imageStatus({ image: { image: first } });
    expect(byTag.image).toMatchObject({ id: second, username: 'www', uid: undefined, size: 20n });
    expect(byId.image).toMatchObject({ repoTags: [], uid: { value: 1000n }, username: '' });
    expect((await cri.imageFsInfo({})).imageFilesystems[0]?.usedBytes?.value).toBe(2_131_602n);
  });

  test('IDs are the same in every run, timestamps are unique', async () => {
    const other = new FakeCri({ clock });
    const ids = [await runPod('a'), await runPod('b')];
    const same = [
      (await other.runPodSandbox(pod('a'))).podSandboxId,
      (await other.runPodSandbox(pod('b'))).podSandboxId,
    ];
    expect(same).toEqual(ids);
    const { items } = await cri.listPodSandbox({});
    expect(new Set(items.map((item) => item.createdAt)).size).toBe(2);
  });

  test('a test can set usage, and CPU time grows with the clock', async () => {
    const id = await start(await runPod(), 'c', ['sleep', '100']);
    cri.setUsage('c', { cpuShare: 0.5, workingSetBytes: 1000 });
    await clock.advance(10_000);
    const { stats } = await cri.containerStats({ containerId: id });
    expect(stats?.memory?.workingSetBytes?.value).toBe(1000n);
    expect(Number(stats?.cpu?.usageCoreNanoSeconds?.value)).toBeCloseTo(5e9, -6);
  });
});

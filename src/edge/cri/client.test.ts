// The client against a CRI server in this process, on a real unix socket.
import { join } from 'node:path';
import type { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failureOf as failure } from '../../../test/fake-cri/failure-of.ts';
import { hang, SocketRig } from '../../../test/fake-cri/socket-rig.ts';
import { ContainerEventResponse, ListContainersResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { isCommandTimeout, isUnimplemented, rpcErrorText } from '../../api/cri/runtime.ts';
import { realClock } from '../../base/clock.ts';
import { Aborted, type ErrorKind, KubeletError } from '../../base/errors.ts';
import { InFlightCalls } from '../../base/in-flight-calls.ts';
import type { CriObservation } from './caller.ts';

const version = { version: '0.1.0', runtimeName: 'r', runtimeVersion: '1', runtimeApiVersion: 'v1' };

let rig: SocketRig;

beforeEach(async () => {
  rig = await SocketRig.make();
});

afterEach(() => rig.end());

describe('responses', () => {
  test('fills in request defaults and decodes responses of both services', async () => {
    const seen: unknown[] = [];
    await rig.serve({
      version: async () => version,
      listContainers: async (request) => {
        seen.push(request.filter);
        return ListContainersResponse.fromPartial({
          containers: [
            { id: 'c1', createdAt: 2n ** 62n, labels: { ü: '→' }, metadata: { name: 'a', attempt: 3 } },
          ],
        });
      },
      pullImage: async (request) => ({ imageRef: `ref of ${request.image?.image}` }),
    });
    const client = rig.connect();
    expect(await client.version({})).toEqual(version);
    const { containers } = await client.listContainers({ filter: { state: { state: 1 }, id: undefined } });
    expect(containers[0]).toMatchObject({ id: 'c1', createdAt: 2n ** 62n, labels: { ü: '→' } });
    expect(seen).toEqual([{ id: '', podSandboxId: '', state: { state: 1 }, labelSelector: {} }]);
    expect(await client.pullImage({ image: { image: 'busybox' } })).toEqual({ imageRef: 'ref of busybox' });
  });

  test('uses a separate socket for images if configured', async () => {
    await rig.serve({ version: async () => version });
    const other = await rig.serve(
      { pullImage: async () => ({ imageRef: 'other' }) },
      { path: join(rig.dir, 'i.sock') },
    );
    const client = rig.connect({ imageEndpoint: other.endpoint });
    expect(await client.pullImage({})).toEqual({ imageRef: 'other' });
    expect((await client.version({})).runtimeName).toBe('r');
    expect(isUnimplemented(await failure(rig.connect().pullImage({})))).toBe(true);
  });

  test('truncates a long output to keepBytes', async () => {
    const outputs = { stdout: Buffer.alloc(7_000_000, 'a'), stderr: Buffer.alloc(7_000_000, ' ') };
    await rig.serve({ execSync: async () => ({ ...outputs, exitCode: 3 }) });
    const response = await rig.connect().execSync({ containerId: 'c' }, { keepBytes: 10 });
    expect(response).toEqual({ stdout: Buffer.alloc(10, 'a'), stderr: Buffer.alloc(10, ' '), exitCode: 3 });
    expect((await rig.connect().execSync({ containerId: 'c' })).stdout).toHaveLength(7_000_000);
  });

  test('decoded bytes do not retain the network buffer', async () => {
    await rig.serve({
      execSync: async () => ({ stdout: Buffer.from('x'), stderr: Buffer.alloc(300_000), exitCode: 0 }),
    });
    const { stdout } = await rig.connect().execSync({ containerId: 'c' });
    expect(stdout.toString()).toBe('x');
    expect(stdout.buffer.byteLength).toBeLessThan(100_000);
  });

  const invalid = [
    ['version without a name', 'version', { ...version, runtimeName: '' }, 'runtimeName not set'],
    [
      'version of another API',
      'version',
      { ...version, runtimeApiVersion: 'v1alpha2' },
      'implements CRI v1alpha2, not v1',
    ],
    ['sandbox without id', 'runPodSandbox', {}, 'podSandboxId not set'],
    ['container without id', 'createContainer', {}, 'containerId not set'],
    [
      'status without conditions',
      'status',
      { status: { conditions: [] } },
      'RuntimeReady, NetworkReady not set',
    ],
    [
      'container status without image',
      'containerStatus',
      { status: { id: 'x' } },
      'createdAt, image, imageRef, name not set',
    ],
    [
      'sandbox status without names',
      'podSandboxStatus',
      { status: { id: 'x', createdAt: 1 } },
      'name, namespace, uid not set',
    ],
    ['exec without url', 'exec', {}, 'url not set'],
    ['image of size 0', 'imageStatus', { image: { id: 'x' } }, 'size not set'],
    ['pull without reference', 'pullImage', {}, 'imageRef not set'],
  ] as const;
  for (const [name, method, response, words] of invalid) {
    test(`rejects an invalid response: ${name}`, async () => {
      await rig.serve({ [method]: async () => response });
      const err = await failure(rig.connect()[method]({}));
      expect([err.kind, err.reason]).toEqual(['internal', 'InvalidResponse']);
      expect(err.message).toContain(words);
    });
  }
});

describe('errors', () => {
  const kinds: Readonly<Record<keyof typeof status, ErrorKind | undefined>> = {
    OK: undefined,
    CANCELLED: 'internal',
    UNKNOWN: 'internal',
    INVALID_ARGUMENT: 'invalid',
    DEADLINE_EXCEEDED: 'timeout',
    NOT_FOUND: 'not-found',
    ALREADY_EXISTS: 'conflict',
    PERMISSION_DENIED: 'forbidden',
    RESOURCE_EXHAUSTED: 'internal',
    FAILED_PRECONDITION: 'invalid',
    ABORTED: 'internal',
    OUT_OF_RANGE: 'invalid',
    UNIMPLEMENTED: 'internal',
    INTERNAL: 'internal',
    UNAVAILABLE: 'unavailable',
    DATA_LOSS: 'internal',
    UNAUTHENTICATED: 'forbidden',
  };
  test('maps every status code to a kind and keeps message, code name and method', async () => {
    let code = 'OK';
    await rig.serve({
      startContainer: async () => {
        if (code !== 'OK') throw new KubeletError('internal', code, `no: ${code}`);
        return {};
      },
    });
    const client = rig.connect();
    expect(Object.keys(kinds)).toHaveLength(17);
    for (const [name, kind] of Object.entries(kinds)) {
      code = name;
      if (kind === undefined) {
        expect(await client.startContainer({})).toEqual({});
        continue;
      }
      const { message, reason, details, kind: got } = await failure(client.startContainer({}));
      expect([got, reason, message, details]).toEqual([
        kind,
        name,
        `no: ${name}`,
        { method: 'StartContainer' },
      ]);
    }
  });

  test('renders the error text of the Go kubelet', () => {
    expect(rpcErrorText(new KubeletError('not-found', 'NOT_FOUND', 'gone'))).toBe(
      'rpc error: code = NotFound desc = gone',
    );
    expect(rpcErrorText(new KubeletError('unavailable', 'Closed', 'closed'))).toBe('closed');
  });

  test('recognizes an RPC that the runtime does not implement', async () => {
    await rig.serve({ version: async () => version });
    const client = rig.connect();
    expect(isUnimplemented(await failure(client.runtimeConfig({})))).toBe(true);
    const iterate = async (): Promise<void> => {
      for await (const event of client.getContainerEvents({}, {})) expect(event).toBeUndefined();
    };
    expect(isUnimplemented(await failure(iterate()))).toBe(true);
  });

  test('rejects a request that cannot be encoded', async () => {
    await rig.serve({ stopContainer: async () => ({}) });
    const client = rig.connect();
    expect(await failure(client.stopContainer({ timeout: 'soon' }))).toMatchObject({
      kind: 'invalid',
      reason: 'InvalidRequest',
    });
    expect(await failure(client.createContainer({ config: { metadata: { attempt: -1 } } }))).toMatchObject({
      kind: 'internal',
    });
  });
});

describe('deadlines and aborts', () => {
  test('applies the default deadline, which timeoutMs overrides', async () => {
    await rig.serve({ listContainers: hang, stopContainer: hang });
    const client = rig.connect({ requestTimeoutMs: () => 60 });
    expect(await failure(client.listContainers({}))).toMatchObject({
      kind: 'timeout',
      reason: 'DEADLINE_EXCEEDED',
    });
    const startMs = performance.now();
    expect(await failure(client.stopContainer({ timeout: 30 }, { timeoutMs: 20 }))).toMatchObject({
      kind: 'timeout',
    });
    expect(performance.now() - startMs).toBeLessThan(2000);
  });

  test('distinguishes a command timeout from a runtime timeout', async () => {
    await rig.serve({
      execSync: (request) =>
        request.containerId === 'slow'
          ? hang(request)
          : Promise.reject(new KubeletError('timeout', 'DEADLINE_EXCEEDED', 'too long')),
    });
    const client = rig.connect();
    const command = await failure(client.execSync({ containerId: 'c', timeout: 1 }));
    const runtime = await failure(client.execSync({ containerId: 'slow', timeout: 1 }, { timeoutMs: 30 }));
    expect([command.kind, isCommandTimeout(command)]).toEqual(['timeout', true]);
    expect([runtime.kind, isCommandTimeout(runtime)]).toEqual(['timeout', false]);
  });

  test('aborted before the call: rejects with the reason and sends nothing', async () => {
    let calls = 0;
    await rig.serve({
      version: async () => {
        calls++;
        return version;
      },
    });
    const reason = new Aborted('not needed');
    const client = rig.connect();
    await expect(client.version({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(calls).toBe(0);
    expect(client.connected).toBe(false);
  });

  test('aborted during the call: rejects with the reason, cancels on the runtime, leaves other calls alone', async () => {
    let cancelled = 0;
    await rig.serve({
      version: async () => version,
      pullImage: (request, options) =>
        hang(request, options).catch((err: unknown) => (cancelled++, Promise.reject(err))),
    });
    const client = rig.connect();
    const abort = new AbortController();
    const reason = new Aborted('pod is gone');
    const pulls = Array.from({ length: 30 }, () => client.pullImage({}, { signal: abort.signal }));
    await client.version({});
    abort.abort(reason);
    for (const result of await Promise.allSettled(pulls))
      expect(result).toMatchObject({ status: 'rejected', reason });
    await client.version({});
    expect(cancelled).toBe(30);
  });
});

describe('messages', () => {
  test('limits messages to 16 MiB in both directions', async () => {
    let size = 0;
    await rig.serve(
      { execSync: async () => ({ stdout: Buffer.alloc(size), stderr: Buffer.alloc(0), exitCode: 0 }) },
      { maxMessageBytes: 64 * 1024 * 1024 },
    );
    const client = rig.connect();
    size = 15 * 1024 * 1024;
    expect((await client.execSync({})).stdout.length).toBe(size);
    size = 17 * 1024 * 1024;
    expect(await failure(client.execSync({}))).toMatchObject({
      kind: 'internal',
      reason: 'RESOURCE_EXHAUSTED',
    });
    const huge = 'x'.repeat(17 * 1024 * 1024);
    expect(await failure(client.execSync({ cmd: [huge] }))).toMatchObject({ reason: 'RESOURCE_EXHAUSTED' });
    size = 1;
    expect((await client.execSync({})).stdout.length).toBe(1);
  });
});

describe('observation', () => {
  test('observes operations by upstream names, with errors, without aborts', async () => {
    const seen: CriObservation[] = [];
    await rig.serve({
      version: async () => version,
      runPodSandbox: async () => ({ podSandboxId: 's' }),
      removeImage: () => Promise.reject(new KubeletError('not-found', 'NOT_FOUND', 'none')),
      pullImage: hang,
    });
    const client = rig.connect({ observe: (observation) => seen.push(observation) });
    await client.version({});
    await client.runPodSandbox({});
    await failure(client.removeImage({}));
    await failure(client.updateContainerResources({}));
    const abort = new AbortController();
    const pull = client.pullImage({}, { signal: abort.signal });
    abort.abort(new Aborted('x'));
    await expect(pull).rejects.toThrow('x');
    expect(seen.map(({ operation, error }) => [operation, error?.reason])).toEqual([
      ['version', undefined],
      ['run_podsandbox', undefined],
      ['remove_image', 'NOT_FOUND'],
      ['update_container', 'UNIMPLEMENTED'],
      ['pull_image', undefined],
    ]);
    for (const { seconds } of seen) expect(seconds).toBeGreaterThanOrEqual(0);
  });
});

describe('calls in flight', () => {
  test('are listed with service, name and deadline until they return or fail', async () => {
    const calls = new InFlightCalls(realClock);
    await rig.serve({ version: async () => version, removeContainer: hang, pullImage: hang });
    const client = rig.connect({ calls, requestTimeoutMs: () => 5_000 });
    const abort = new AbortController();
    const { signal } = abort;
    const hanging = [client.removeContainer({}, { signal }), client.pullImage({}, { signal })];
    const failed = hanging.map((each) => each.catch(() => undefined));
    await client.version({});
    await failure(client.removeImage({}));
    const [remove, pull, ...others] = calls.list();
    expect(remove).toMatchObject({ to: 'runtime', method: 'RemoveContainer' });
    expect((remove?.deadlineMs ?? 0) - (remove?.sinceMs ?? 0)).toBe(5_000);
    expect(pull).toEqual({ to: 'images', method: 'PullImage', sinceMs: expect.any(Number) });
    expect(others).toEqual([]);
    abort.abort(new Aborted('x'));
    await Promise.all(failed);
    expect(calls.list()).toEqual([]);
  });

  test('do not include the stream of container events, which stays open', async () => {
    const calls = new InFlightCalls(realClock);
    const listed: unknown[] = [];
    await rig.serve({
      async *getContainerEvents() {
        yield ContainerEventResponse.fromPartial({ containerId: 'c' });
      },
    });
    for await (const _ of rig.connect({ calls }).getContainerEvents({}, {})) listed.push(...calls.list());
    expect(listed).toEqual([]);
  });
});

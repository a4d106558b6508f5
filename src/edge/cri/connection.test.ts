// The client against a runtime that restarts, hangs, sends garbage or does not listen, and that close() leaves nothing open.
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failureOf } from '../../../test/fake-cri/failure-of.ts';
import { hang, SocketRig } from '../../../test/fake-cri/socket-rig.ts';
import { ContainerEventResponse } from '../../api/cri/generated/runtime/v1/api.ts';
import { realClock } from '../../base/clock.ts';
import { Aborted } from '../../base/errors.ts';
import type { CriObservation } from './caller.ts';
import type { CriClient } from './client.ts';
import { CriConnection } from './connection.ts';

const version = { version: '0.1.0', runtimeName: 'r', runtimeVersion: '1', runtimeApiVersion: 'v1' };
const runtime = { version: async () => version };

let rig: SocketRig;

beforeEach(async () => {
  rig = await SocketRig.make();
});

afterEach(() => rig.end());

/** Resolves at the next announcement of this state. */
function nextChange(client: CriClient, state: boolean): Promise<void> {
  return new Promise((resolve) => {
    const end = client.connectionChanged.subscribe((connected) => {
      if (connected !== state) return;
      end();
      resolve();
    });
  });
}

async function* eventsUntil(
  signal: AbortSignal | undefined,
  ids: readonly string[],
): AsyncGenerator<ContainerEventResponse> {
  for (const containerId of ids) yield ContainerEventResponse.fromPartial({ containerId });
  await hang({}, signal === undefined ? {} : { signal });
}

describe('a runtime that is down', () => {
  test('socket missing: fails at once and names the path', async () => {
    const client = rig.connect();
    for (let attempt = 0; attempt < 3; attempt++) {
      const err = await failureOf(client.version({}));
      expect(err).toMatchObject({
        kind: 'unavailable',
        reason: 'UNAVAILABLE',
        details: { method: 'Version' },
      });
      expect(err.message).toBe(`runtime is not reachable: connect ENOENT ${rig.path}`);
    }
    expect(client.connected).toBe(false);
  });

  test('started after many failures: the next call succeeds', async () => {
    const client = rig.connect();
    for (let attempt = 0; attempt < 20; attempt++) await failureOf(client.version({}));
    await rig.serve(runtime);
    expect(await client.version({})).toEqual(version);
    expect(client.connected).toBe(true);
  });

  test('announces a reconnect without a call', async () => {
    const client = rig.connect();
    const seen: boolean[] = [];
    client.connectionChanged.subscribe((connected) => seen.push(connected));
    const first = await rig.serve(runtime);
    await client.version({});
    const lost = nextChange(client, false);
    await first.close();
    await lost;
    const back = nextChange(client, true);
    await rig.serve(runtime);
    await back;
    expect(seen).toEqual([true, false, true]);
    expect(client.connected).toBe(true);
    await client.version({});
  });

  test('calls while it is down announce nothing more', async () => {
    const client = rig.connect();
    const seen: boolean[] = [];
    client.connectionChanged.subscribe((connected) => seen.push(connected));
    const first = await rig.serve(runtime);
    await client.version({});
    await first.close();
    for (let attempt = 0; attempt < 5; attempt++) await failureOf(client.version({}));
    expect(seen).toEqual([true, false]);
    const back = nextChange(client, true);
    await rig.serve(runtime);
    await back;
    expect(seen).toEqual([true, false, true]);
  });

  test('restarted during calls: they fail as unavailable, later ones succeed', async () => {
    const first = await rig.serve({ ...runtime, pullImage: hang });
    const client = rig.connect();
    await client.version({});
    const pulls = Array.from({ length: 5 }, () => failureOf(client.pullImage({})));
    await client.version({});
    await first.close();
    for (const err of await Promise.all(pulls)) expect(err.kind).toBe('unavailable');
    await rig.serve(runtime);
    expect(await client.version({})).toEqual(version);
  });
});

describe('a server that does not speak gRPC', () => {
  const servers: readonly [string, (socket: Socket) => void][] = [
    ['closes at once', (socket) => socket.destroy()],
    ['sends text', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['sends noise', (socket) => socket.write(Buffer.alloc(4096, 0xa5))],
  ];
  for (const [name, onSocket] of servers) {
    test(`${name}: unavailable, and a runtime that takes its place is found`, async () => {
      const sockets = new Set<Socket>();
      const garbage = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => undefined);
        onSocket(socket);
      });
      await new Promise<void>((resolve) => garbage.listen(rig.path, resolve));
      const client = rig.connect();
      expect(await failureOf(client.version({}, { timeoutMs: 5000 }))).toMatchObject({ kind: 'unavailable' });
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => garbage.close(resolve));
      await rig.serve(runtime);
      expect(await client.version({})).toEqual(version);
    });
  }

  test('accepts and sends nothing: the call ends at its deadline', async () => {
    const sockets = new Set<Socket>();
    const mute = createServer((socket) => sockets.add(socket));
    await new Promise<void>((resolve) => mute.listen(rig.path, resolve));
    const client = rig.connect();
    expect(await failureOf(client.version({}, { timeoutMs: 50 }))).toMatchObject({ kind: 'timeout' });
    client.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => mute.close(resolve));
  });
});

describe('events', () => {
  test('arrive in order until the consumer leaves', async () => {
    let cancelled = false;
    await rig.serve({
      getContainerEvents: (_request, { signal }) => {
        signal?.addEventListener('abort', () => {
          cancelled = true;
        });
        return eventsUntil(signal, ['a', 'b', 'c']);
      },
      version: async () => version,
    });
    const observed: CriObservation[] = [];
    const client = rig.connect({ observe: (observation) => observed.push(observation) });
    const seen: string[] = [];
    for await (const event of client.getContainerEvents({}, {})) {
      seen.push(event.containerId);
      if (seen.length === 3) break;
    }
    await client.version({});
    expect(seen).toEqual(['a', 'b', 'c']);
    expect(cancelled).toBe(true);
    expect(observed.map(({ operation, error }) => [operation, error])).toEqual([
      ['get_container_events', undefined],
      ['version', undefined],
    ]);
  });

  test('end when the runtime ends the stream', async () => {
    await rig.serve({
      async *getContainerEvents() {
        yield ContainerEventResponse.fromPartial({ containerId: 'a' });
      },
    });
    const seen: string[] = [];
    for await (const event of rig.connect().getContainerEvents({}, {})) seen.push(event.containerId);
    expect(seen).toEqual(['a']);
  });

  test('reject with the reason when aborted while waiting', async () => {
    await rig.serve({ getContainerEvents: (_request, { signal }) => eventsUntil(signal, ['a']) });
    const abort = new AbortController();
    const reason = new Aborted('stopping');
    const read = async (): Promise<void> => {
      for await (const event of rig.connect().getContainerEvents({}, { signal: abort.signal })) {
        expect(event.containerId).toBe('a');
        queueMicrotask(() => abort.abort(reason));
      }
    };
    await expect(read()).rejects.toBe(reason);
    await expect(read()).rejects.toBe(reason);
  });

  test('fail as unavailable when the runtime dies', async () => {
    const served = await rig.serve({
      getContainerEvents: (_request, { signal }) => eventsUntil(signal, ['a']),
    });
    const read = async (): Promise<void> => {
      for await (const event of rig.connect().getContainerEvents({}, {})) {
        expect(event.containerId).toBe('a');
        await served.close();
      }
    };
    expect(await failureOf(read())).toMatchObject({ kind: 'unavailable' });
  });
});

describe('closing', () => {
  test('cancels calls in flight, rejects later ones, and is idempotent', async () => {
    await rig.serve({
      ...runtime,
      pullImage: hang,
      getContainerEvents: (_request, { signal }) => eventsUntil(signal, ['a']),
    });
    const client = rig.connect();
    const pull = failureOf(client.pullImage({}));
    const events = client.getContainerEvents({}, {})[Symbol.asyncIterator]();
    expect((await events.next()).value?.containerId).toBe('a');
    const next = failureOf(events.next());
    client.close();
    client.close();
    expect(await pull).toMatchObject({ kind: 'unavailable', reason: 'Closed' });
    expect(await next).toMatchObject({ kind: 'unavailable', reason: 'Closed' });
    expect(await failureOf(client.version({}))).toMatchObject({ kind: 'unavailable', reason: 'Closed' });
  });

  test('leaves no socket and no timer, connected or not', async () => {
    // Other tests share this thread, so only the difference counts.
    const before = handles();
    const served = await rig.serve(runtime);
    const clients = [rig.connect(), rig.connect()];
    for (const client of clients) await client.version({});
    await served.close();
    const lost = rig.connect({ runtimeEndpoint: `${rig.path}.not` });
    await failureOf(lost.version({}));
    for (const client of [...clients, lost]) client.close();
    await expect.poll(handles, { timeout: 5000 }).toEqual(before);
  });

  test('opens one connection for one endpoint', async () => {
    const before = handles();
    await rig.serve({ ...runtime, listImages: async () => ({ images: [] }) });
    const client = rig.connect({ imageEndpoint: rig.path });
    await client.version({});
    const connected = handles();
    expect(connected).not.toEqual(before);
    await client.listImages({});
    expect(handles()).toEqual(connected);
    client.close();
    await rig.end();
    await expect.poll(handles, { timeout: 5000 }).toEqual(before);
  });

  test('closes a connection that was never used', () => {
    const connection = new CriConnection(rig.path, realClock);
    expect(connection.connected).toBe(false);
    connection.close();
    expect(connection.closed).toBe(true);
  });
});

function handles(): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of process.getActiveResourcesInfo()) {
    if (name === 'PipeWrap' || name === 'PipeServerWrap' || name === 'PipeConnectWrap') {
      counts[name] = (counts[name] ?? 0) + 1;
    }
  }
  return counts;
}

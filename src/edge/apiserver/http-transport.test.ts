// The real transport against the API server double on loopback: TLS, certificate rotation, proxies, exec plugins, lost connections.
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiServerDouble, adminUser } from '../../../test/api-server/double.ts';
import { type HttpFront, type HttpFrontOptions, serveDouble } from '../../../test/api-server/http-front.ts';
import {
  adminCertificate,
  kubeconfigText,
  nodeCertificate,
} from '../../../test/api-server/kubeconfig-text.ts';
import { TestAuthority } from '../../../test/api-server/pki.ts';
import { FakeClock } from '../../../test/fakes/fake-clock.ts';
import { checkLeaks, type LeakCheck } from '../../../test/leaks/leaks.ts';
import type { ApiClient, KubeObject } from '../../api/ports/api-client.ts';
import { realClock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import { openApiServer, readKubeconfig } from './open-api-server.ts';

let leaks: LeakCheck;
let directory: string;
let double: ApiServerDouble;
let authority: TestAuthority;
const closers: (() => void | Promise<void>)[] = [];
/** How many connections the client has announced. */
let connections: number;
const signal = new AbortController().signal;

beforeEach(async () => {
  leaks = checkLeaks();
  connections = 0;
  directory = await mkdtemp(join(tmpdir(), 'apiserver-'));
  double = new ApiServerDouble({ clock: realClock, users: { good: adminUser } });
  authority = new TestAuthority();
});

afterEach(async () => {
  double.close();
  for (const close of closers.splice(0).toReversed()) await close();
  await rm(directory, { recursive: true, force: true });
  await leaks.assertNone();
});

async function serve(options: HttpFrontOptions = {}): Promise<HttpFront> {
  const front = await serveDouble(double, { authority, ...options });
  closers.push(() => front.close());
  return front;
}

interface Edits {
  readonly cluster?: object;
  readonly user?: object;
}

/** A client with a kubeconfig on disk, with the given cluster and user. */
async function clientOf(front: HttpFront, edits: Edits = {}, clock = realClock): Promise<ApiClient> {
  const config = JSON.parse(kubeconfigText({ front, authority, client: adminCertificate(authority) })) as {
    clusters: { cluster: object }[];
    users: { user: object }[];
  };
  const [cluster] = config.clusters;
  const [user] = config.users;
  if (cluster !== undefined && edits.cluster !== undefined) cluster.cluster = edits.cluster;
  if (user !== undefined && edits.user !== undefined) user.user = edits.user;
  const file = join(directory, 'kubeconfig');
  await writeFile(file, JSON.stringify(config));
  const server = openApiServer({
    access: await readKubeconfig(file),
    clock,
    log: silentLogger,
    userAgent: 'kubelet/test',
    limits: { requests: { qps: 0, burst: 0 }, events: { qps: 0, burst: 0 } },
    heartbeatTimeoutMs: 5_000,
    gates: { ClientsAllowCARotation: true, WatchListClient: true },
  });
  server.connected.subscribe(() => {
    connections += 1;
  });
  closers.push(() => server.close());
  return server.client;
}

async function whoAmI(client: ApiClient): Promise<string> {
  const review = await client.create<{ status: { userInfo: { username: string } } }>(
    '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    { spec: {} },
    { signal, timeoutMs: 10_000 },
  );
  return review.status.userInfo.username;
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'no failure',
    (err: unknown) => (err instanceof KubeletError ? `${err.kind} ${err.reason}` : String(err)),
  );
}

const caData = (): string => Buffer.from(authority.cert).toString('base64');

describe('HttpTransport', () => {
  for (const http2 of [true, false])
    test(`carries requests and watches with ${http2 ? 'HTTP/2 on one connection' : 'HTTP/1.1'}`, async () => {
      const front = await serve({ http2 });
      const client = await clientOf(front);
      expect(await whoAmI(client)).toBe('kubernetes-admin');
      const stop = new AbortController();
      const watches = Array.from({ length: 5 }, async () => {
        const seen: string[] = [];
        for await (const event of client.watch<KubeObject>('/api/v1/namespaces', {}, stop.signal)) {
          seen.push(event.object.metadata?.name ?? '');
          if (seen.length === 4) break;
        }
        return seen.length;
      });
      expect(await Promise.all(watches)).toEqual([4, 4, 4, 4, 4]);
      await Promise.all(
        Array.from({ length: 10 }, () => client.get('/api/v1/namespaces/default', { signal })),
      );
      if (http2) expect(front.connections.total).toBe(1);
    });

  test('uses plain HTTP for an http URL', async () => {
    const front = await serve({ authority: undefined });
    expect(await whoAmI(await clientOf(front, { user: { token: 'good' } }))).toBe('kubernetes-admin');
  });

  test('trusts only the configured CA, unless insecure-skip-tls-verify is set', async () => {
    const front = await serve();
    const other = { 'certificate-authority-data': Buffer.from(new TestAuthority().cert).toString('base64') };
    expect(await failureOf(whoAmI(await clientOf(front, { cluster: { server: front.url, ...other } })))).toBe(
      'unavailable ConnectionFailed',
    );
    const anonymous = { server: front.url, 'insecure-skip-tls-verify': true };
    expect(await whoAmI(await clientOf(front, { cluster: anonymous }))).toBe('kubernetes-admin');
  });

  test('verifies the server against tls-server-name', async () => {
    const front = await serve();
    const cluster = (name: string) => ({
      server: front.url,
      'certificate-authority-data': caData(),
      'tls-server-name': name,
    });
    expect(await whoAmI(await clientOf(front, { cluster: cluster('kubernetes') }))).toBe('kubernetes-admin');
    const wrong = await clientOf(front, { cluster: cluster('another') });
    expect(await failureOf(whoAmI(wrong))).toBe('unavailable ConnectionFailed');
  });

  test('uses a client certificate that changed on disk, on a new connection', async () => {
    const front = await serve();
    const pem = join(directory, 'client.pem');
    const put = async (name: string): Promise<void> => {
      const { cert, key } = nodeCertificate(authority, name);
      await writeFile(pem, cert + key);
    };
    await put('before');
    const clock = new FakeClock();
    const user = { 'client-certificate': 'client.pem', 'client-key': 'client.pem' };
    const client = await clientOf(front, { user }, clock);
    expect(await whoAmI(client)).toBe('system:node:before');
    await put('after');
    expect(await whoAmI(client)).toBe('system:node:before');
    await clock.advance(10_000);
    expect(await whoAmI(client)).toBe('system:node:after');
    await rm(pem);
    await clock.advance(10_000);
    expect(await whoAmI(client)).toBe('system:node:after');
  });

  test('reloads the CA from its file, and uses it for new connections', async () => {
    const front = await serve();
    const ca = join(directory, 'ca.crt');
    await writeFile(ca, new TestAuthority().cert);
    const clock = new FakeClock();
    const cluster = { server: front.url, 'certificate-authority': 'ca.crt' };
    const client = await clientOf(front, { cluster }, clock);
    expect(await failureOf(whoAmI(client))).toBe('unavailable ConnectionFailed');
    await writeFile(ca, authority.cert);
    await clock.advance(10_000);
    expect(await whoAmI(client)).toBe('kubernetes-admin');
    for (const broken of ['', 'nonsense']) {
      await writeFile(ca, broken);
      await clock.advance(10_000);
      client.closeConnections();
      expect(await whoAmI(client)).toBe('kubernetes-admin');
    }
    await writeFile(ca, new TestAuthority().cert);
    await clock.advance(10_000);
    expect(await failureOf(whoAmI(client))).toBe('unavailable ConnectionFailed');
  });

  test('uses the next certificate on disk at once after an expired one was rejected', async () => {
    const front = await serve();
    const pem = join(directory, 'client.pem');
    const leaf = { commonName: 'system:node:n1', organizations: ['system:nodes'], usage: 'client' } as const;
    const expired = authority.issue({ ...leaf, notBeforeMs: Date.now() - 7_200_000, seconds: 3_600 });
    await writeFile(pem, expired.cert + expired.key);
    const user = { 'client-certificate': 'client.pem', 'client-key': 'client.pem' };
    const client = await clientOf(front, { user }, new FakeClock());
    expect(await failureOf(whoAmI(client))).toBe('forbidden Unauthorized');
    const next = authority.issue(leaf);
    await writeFile(pem, next.cert + next.key);
    expect(await whoAmI(client)).toBe('system:node:n1');
  });

  test('reloads a token file, at once after a 401', async () => {
    const front = await serve();
    await writeFile(join(directory, 'token'), 'bad\n');
    const client = await clientOf(front, { user: { tokenFile: 'token' } }, new FakeClock());
    expect(await failureOf(whoAmI(client))).toBe('forbidden Unauthorized');
    await writeFile(join(directory, 'token'), 'good\n');
    expect(await whoAmI(client)).toBe('kubernetes-admin');
  });

  test('gets a token from an exec plugin, and a new one when it expires', async () => {
    const front = await serve();
    const script = join(directory, 'plugin');
    const count = join(directory, 'count');
    await writeFile(
      script,
      `#!/bin/sh
echo x >> ${count}
case "$KUBERNETES_EXEC_INFO" in *'"server"'*) ;; *) exit 3 ;; esac
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"good","expirationTimestamp":"2026-01-01T00:10:00Z"}}'
`,
    );
    await chmod(script, 0o755);
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: './plugin',
      provideClusterInfo: true,
      interactiveMode: 'IfAvailable',
    };
    const clock = new FakeClock();
    const client = await clientOf(front, { user: { exec } }, clock);
    await whoAmI(client);
    expect(await whoAmI(client)).toBe('kubernetes-admin');
    expect(await readFile(count, 'utf8')).toBe('x\n');
    await clock.advance(600_000);
    await whoAmI(client);
    expect(await readFile(count, 'utf8')).toBe('x\nx\n');
  });

  test('names the exec plugin that failed, without its output', async () => {
    const front = await serve();
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', 'echo secret; exit 1'],
      installHint: 'get one from example.com',
    };
    const client = await clientOf(front, { user: { exec } });
    const err: unknown = await whoAmI(client).catch((cause: unknown) => cause);
    expect(String(err)).toContain('exec plugin sh: it exited with code 1; get one from example.com');
    expect(String(err)).not.toContain('secret');
  });

  test('connects through a proxy with credentials', async () => {
    const asked: string[] = [];
    const proxy = await connectProxy(asked);
    const front = await serve();
    const cluster = {
      server: front.url,
      'certificate-authority-data': caData(),
      'proxy-url': `http://me:pw@127.0.0.1:${proxy.port}`,
    };
    expect(await whoAmI(await clientOf(front, { cluster }))).toBe('kubernetes-admin');
    expect(asked).toEqual([`127.0.0.1:${front.port} ${Buffer.from('me:pw').toString('base64')}`]);
    proxy.refuse = true;
    expect(await failureOf(whoAmI(await clientOf(front, { cluster })))).toBe('unavailable ConnectionFailed');
  });

  test('reconnects after the server was down, and after its connections were closed', async () => {
    const front = await serve();
    const client = await clientOf(front);
    await whoAmI(client);
    const watching = failureOf(
      (async () => {
        for await (const _ of client.watch('/api/v1/pods', {}, signal)) throw new Error('there are no pods');
      })(),
    );
    while (double.watches.size === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    double.faults.goDown();
    expect(await watching).toMatch(/unavailable|no failure/);
    expect(await failureOf(whoAmI(client))).toBe('unavailable ConnectionFailed');
    double.faults.comeUp();
    expect(await whoAmI(client)).toBe('kubernetes-admin');
    client.closeConnections();
    expect(await whoAmI(client)).toBe('kubernetes-admin');
    expect(connections).toBe(3);
  });

  test('ends a request that is aborted or times out, and keeps the connection', async () => {
    const front = await serve();
    const client = await clientOf(front);
    await whoAmI(client);
    const stall = double.faults.stall({ verb: 'get', resource: 'namespaces' });
    const stop = new AbortController();
    const aborted = failureOf(client.get('/api/v1/namespaces/default', { signal: stop.signal }));
    while (stall.waiting < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    stop.abort(new Error('enough'));
    expect(await aborted).toContain('enough');
    const late = client.get('/api/v1/namespaces/default', { signal, timeoutMs: 200 });
    expect(await failureOf(late)).toBe('timeout DeadlineExceeded');
    stall.remove();
    await whoAmI(client);
    expect(front.connections.total).toBe(1);
  });

  test('opens another connection when one has reached its stream limit', async () => {
    const front = await serve({ maxStreams: 3 });
    const client = await clientOf(front);
    const stop = new AbortController();
    const watches = Array.from({ length: 10 }, async () => {
      for await (const _ of client.watch('/api/v1/pods', {}, stop.signal))
        throw new Error('there are no pods');
    });
    while (double.watches.size < 10) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await whoAmI(client)).toBe('kubernetes-admin');
    expect(front.connections.open).toBe(4);
    stop.abort(new Error('enough'));
    const ends = await Promise.allSettled(watches);
    expect(ends.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'rejected'));
  });

  test('pings an idle connection, and drops it without a reply', async () => {
    const front = await serve();
    const line = await deadLine(front.port);
    const clock = new FakeClock();
    const cluster = { server: `https://127.0.0.1:${line.port}`, 'certificate-authority-data': caData() };
    const client = await clientOf(front, { cluster }, clock);
    await whoAmI(client);
    // The first check, after 30 s, sees the bytes of the request; the second finds the connection idle and pings. The
    // response to the next request comes after the reply to that ping.
    for (let round = 0; round < 3; round++) {
      await clock.advance(60_000);
      await whoAmI(client);
    }
    expect(front.connections.total).toBe(1);
    line.cut = true;
    // A write, which is not resent on another connection.
    const hanging = failureOf(client.create('/api/v1/namespaces', {}, { signal, timeoutMs: 3_600_000 }));
    while (line.dropped === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(110_000);
    expect(await hanging).toBe('unavailable ConnectionBroken');
    line.cut = false;
    expect(await whoAmI(client)).toBe('kubernetes-admin');
  });

  test('reports a server that does not listen as unavailable', async () => {
    const front = await serve();
    await front.close();
    expect(await failureOf(whoAmI(await clientOf(front)))).toBe('unavailable ConnectionFailed');
  });
});

/** A TCP proxy. Once cut, it drops all data without closing the connections. */
async function deadLine(
  target: number,
): Promise<{ readonly port: number; cut: boolean; readonly dropped: number }> {
  const sockets = new Set<Socket>();
  const line = { port: 0, cut: false, dropped: 0 };
  const server = createTcpServer((socket) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (line.cut) line.dropped++;
        else to.write(chunk);
      });
      from.on('error', () => from.destroy());
      from.once('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  line.port = (server.address() as AddressInfo).port;
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return line;
}

interface Proxy {
  readonly port: number;
  refuse: boolean;
}

async function connectProxy(asked: string[]): Promise<Proxy> {
  const server: Server = createServer();
  const sockets = new Set<Socket>();
  const proxy: Proxy & { port: number } = { port: 0, refuse: false };
  server.on('connect', (request, socket: Socket) => {
    sockets.add(socket);
    if (proxy.refuse) {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
      return;
    }
    asked.push(`${request.url} ${request.headers['proxy-authorization']?.replace('Basic ', '')}`);
    const [host, port] = (request.url ?? '').split(':');
    const upstream = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    sockets.add(upstream);
    for (const each of [socket, upstream]) each.on('error', () => each.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.port = (server.address() as AddressInfo).port;
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return proxy;
}

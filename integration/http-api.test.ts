// The secure port of the built command over TLS, with the API server double for reviews: authentication, responses,
// changing certificates and rights, and hostile clients.
import { readdirSync, readFileSync, readlinkSync, renameSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, beforeEach, expect, onTestFailed, test } from 'vitest';
import { nodeCertificate } from '../test/api-server/kubeconfig-text.ts';
import { type KeyPair, TestAuthority } from '../test/api-server/pki.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { manifest } from './support/manifest.ts';

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly shown: string;
}

const readerToken = 'reader-token';
const adminToken = 'admin-token';
const dashboardPort = 16_000 + Math.floor(Math.random() * 2_000);

describeOnRig('http api', () => {
  let rig: Rig;
  let cluster: Cluster;
  let kubelet: Kubelet;
  let files: { readonly cert: string; readonly key: string; readonly clients: string };
  let serving: TestAuthority;

  const replace = (path: string, text: string): void => {
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  };
  const showCertificateOf = (authority: TestAuthority): void => {
    const pair = authority.issue({ commonName: 'node1', hosts: ['127.0.0.1'], usage: 'server' });
    replace(files.key, pair.key);
    replace(files.cert, pair.cert);
  };

  beforeAll(async () => {
    rig = await startRig();
    cluster = await startCluster(rig, 'node1', {
      users: {
        [readerToken]: { name: 'reader', groups: ['system:authenticated'] },
        [adminToken]: { name: 'admin', groups: ['system:masters', 'system:authenticated'] },
      },
    });
    cluster.double.grants.add('reader get metrics').add('reader get proxy');
    const { dir } = rig.workspace;
    files = { cert: join(dir, 'serve.crt'), key: join(dir, 'serve.key'), clients: join(dir, 'clients.crt') };
    serving = new TestAuthority();
    showCertificateOf(serving);
    writeFileSync(files.clients, cluster.authority.cert);
    const { authentication, ...config } = cluster.kubeletConfig as { authentication: object };
    kubelet = await rig.kubelet({
      nodeName: 'node1',
      flags: [
        `--kubeconfig=${cluster.kubeconfig}`,
        `--dashboard-port=${dashboardPort}`,
        '--dashboard-address=0.0.0.0',
      ],
      config: {
        ...config,
        authentication: { ...authentication, x509: { clientCAFile: files.clients } },
        authorization: { mode: 'Webhook', webhook: { cacheAuthorizedTTL: '3s', cacheUnauthorizedTTL: '1s' } },
        tlsCertFile: files.cert,
        tlsPrivateKeyFile: files.key,
        tlsMinVersion: 'VersionTLS12',
        enableSystemLogQuery: true,
        featureGates: { NodeLogQuery: true, ComponentStatusz: true, ComponentFlagz: true },
      },
    });
    await cluster.untilNodeReady();
    cluster.createPod(manifest('web'));
    await cluster.untilReady('web');
  });
  afterAll(async () => {
    await rig.stop();
    await cluster.stop();
  });

  beforeEach(() => onTestFailed(() => console.error(cluster.describeState(kubelet))));

  function ask(line: string, options: RequestOptions & { readonly body?: string } = {}): Promise<Answer> {
    const [method = 'GET', path = '/'] = line.split(' ');
    const { body, ...rest } = options;
    return new Promise((resolve, reject) => {
      const target = { host: '127.0.0.1', port: kubelet.securePort, path, method };
      const usual = { rejectUnauthorized: false, agent: false, signal: AbortSignal.timeout(60_000) };
      const request = httpsRequest({ ...target, ...usual, ...rest }, (response) => {
        const shown = (response.socket as TLSSocket).getPeerCertificate().fingerprint256;
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, shown }));
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end(body);
    });
  }

  const by = (pair: KeyPair): RequestOptions => ({ cert: pair.cert, key: pair.key });
  const bearer = (token: string): RequestOptions => ({ headers: { authorization: `Bearer ${token}` } });

  test('authenticates certificates, tokens and anonymous clients', async () => {
    const other = new TestAuthority();
    const leaf = { commonName: 'admin', organizations: ['system:masters'] };
    const hour = 3_600_000;
    const cases: readonly (readonly [string, RequestOptions, number])[] = [
      ['nobody', {}, 401],
      ['an administrator', by(cluster.admin), 200],
      ['the node itself', by(nodeCertificate(cluster.authority, 'node1')), 403],
      ['a certificate of another authority', by(other.issue({ ...leaf, usage: 'client' })), 401],
      ['a certificate for servers', by(cluster.authority.issue({ ...leaf, usage: 'server' })), 401],
      [
        'an expired certificate',
        by(
          cluster.authority.issue({
            ...leaf,
            usage: 'client',
            notBeforeMs: Date.now() - 2 * hour,
            seconds: 60,
          }),
        ),
        401,
      ],
      ['a token', bearer(adminToken), 200],
      ['an unknown token', bearer('unknown'), 401],
      ['a token of a reader', bearer(readerToken), 200],
    ];
    for (const [name, options, status] of cases) {
      const answer = await ask('GET /pods', options);
      expect([name, answer.status]).toEqual([name, status]);
      expect(answer.text.includes('PodList')).toBe(status === 200);
    }
    expect((await ask('GET /pods')).text).toBe('Unauthorized');
    expect((await ask('GET /stats/summary', bearer(readerToken))).text).toBe(
      'Forbidden (user=reader, verb=get, resource=nodes, subresource(s)=[stats])\n',
    );
  });

  test('the port of the page on another address than loopback is served as 10250', async () => {
    const page = (line: string, options: RequestOptions = {}): Promise<Answer> =>
      ask(line, { port: dashboardPort, ...options });
    expect(await page('GET /ui/')).toMatchObject({ status: 401, text: 'Unauthorized' });
    expect((await page('GET /ui/', by(cluster.admin))).text).toContain('<script type="module"');
    expect((await page('GET /pods', by(nodeCertificate(cluster.authority, 'node1')))).status).toBe(403);
    const access = async (options: RequestOptions): Promise<unknown> =>
      JSON.parse((await page('GET /ui/api/access', options)).text);
    expect(await access(bearer(readerToken))).toEqual({ logs: true, exec: false });
    expect(await access(by(cluster.admin))).toEqual({ logs: true, exec: true });
  });

  test('a reader may not run commands with any method', async () => {
    const path = '/exec/default/web/main?command=id&output=1';
    for (const line of [`GET ${path}`, `POST ${path}`, 'POST /run/default/web/main?cmd=id']) {
      const answer = await ask(line, bearer(readerToken));
      expect([line, answer.status]).toEqual([line, 403]);
      expect(answer.text).toContain('verb=create');
    }
    const upgrade = { authorization: `Bearer ${readerToken}`, connection: 'Upgrade', upgrade: 'SPDY/3.1' };
    expect((await ask(`GET ${path}`, { headers: upgrade })).status).toBe(403);
    expect((await ask(`GET /containerLogs/default/web/main`, bearer(readerToken))).status).toBe(200);
  });

  test('every path responds to an administrator', async () => {
    const cases: readonly (readonly [string, number, string | RegExp])[] = [
      ['GET /healthz', 200, 'ok'],
      ['GET /healthz?verbose', 200, /^\[\+\]ping ok\n(.*\n)*\[\+\]lease ok\n/],
      ['GET /pods', 200, /"name":"web"/],
      ['GET /runningpods/', 200, /"name":"web"/],
      ['GET /explain', 200, /"explanation"/],
      ['GET /configz', 200, /"kubeletconfig"/],
      [
        'GET /statusz',
        200,
        /\nkubelet statusz\n.*\n\nStarted: .*\nPaths: \/configz \/debug \/flagz \/healthz \/metrics\n$/s,
      ],
      ['GET /flagz', 200, /kubeconfig/],
      ['GET /stats/summary', 200, /"nodeName": "node1"/],
      ['GET /metrics', 200, /kubelet_http_requests_total\{.*server_type="readwrite"\}/],
      ['GET /metrics/resource', 200, /node_cpu_usage_seconds_total/],
      ['GET /ui/', 200, /app\.js/],
      ['GET /ui/app.js', 200, /./],
      ['GET /ui/none', 404, /page not found/],
      ['GET /ui/api/access', 200, /"exec":true/],
      ['GET /metrics/cadvisor', 200, /container_/],
      ['GET /metrics/probes', 200, ''],
      ['GET /metrics/slis', 200, /kubernetes_healthcheck/],
      ['GET /logs/', 200, /<pre>/],
      ['GET /logs/none-such', 404, /not found/],
      ['GET /logs/?query=none-such', 200, /log not found for none-such/],
      ['GET /logs/?query=a%20b', 406, /unsupported characters/],
      ['GET /debug/pprof/cmdline', 200, /--kubeconfig/],
      ['GET /debug/pprof/profile?seconds=1', 200, /^\{"nodes":/],
      ['POST /run/default/web/main?cmd=echo%20hi', 200, 'hi\n'],
      ['POST /checkpoint/default/web/none', 404, 'container none does not exist'],
      ['POST /pods', 405, '405: Method Not Allowed'],
      ['GET /exec/default/web', 404, '404: Page Not Found'],
      ['GET /none-such', 404, '404 page not found\n'],
    ];
    for (const [line, status, text] of cases) {
      const answer = await ask(line, { ...by(cluster.admin), headers: { accept: '*/*' } });
      expect([line, answer.status, answer.text.slice(0, 2000)]).toEqual([
        line,
        status,
        text instanceof RegExp ? expect.stringMatching(/^/) : text === '' ? expect.any(String) : text,
      ]);
      if (text instanceof RegExp) expect(answer.text).toMatch(text);
    }
  });

  test('serves /flagz and /statusz as objects', async () => {
    for (const [path, kind] of [
      ['/flagz', 'Flagz'],
      ['/statusz', 'Statusz'],
    ] as const) {
      const accept = `application/json;as=${kind};v=v1beta1;g=config.k8s.io`;
      const { status, text } = await ask(`GET ${path}`, { ...by(cluster.admin), headers: { accept } });
      expect([status, JSON.parse(text)]).toMatchObject([
        200,
        { kind, apiVersion: 'config.k8s.io/v1beta1', metadata: { name: 'kubelet' } },
      ]);
      const other = { ...by(cluster.admin), headers: { accept: 'application/json' } };
      expect((await ask(`GET ${path}`, other)).status).toBe(406);
      expect((await ask(`GET ${path}`, by(cluster.admin))).text).toContain(
        `\nkubelet ${kind.toLowerCase()}\n`,
      );
    }
  });

  test('a change of the log verbosity takes effect at once', async () => {
    const set = await ask('PUT /debug/flags/v', { ...by(cluster.admin), body: '3' });
    expect([set.status, set.text]).toEqual([200, 'successfully set klog.logging.verbosity to 3\n']);
    expect((await ask('PUT /debug/flags/v', { ...by(cluster.admin), body: 'much' })).status).toBe(400);
  });

  test('negotiates HTTP/2 and TLS versions', async () => {
    const session = connectHttp2(`https://127.0.0.1:${kubelet.securePort}`, {
      rejectUnauthorized: false,
      cert: cluster.admin.cert,
      key: cluster.admin.key,
    });
    const got = await new Promise<string>((resolve, reject) => {
      session.on('error', reject);
      const stream = session.request({ ':path': '/healthz' });
      let text = '';
      stream.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      stream.on('end', () => resolve(text));
    });
    session.close();
    expect(got).toBe('ok');
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await expect(ask('GET /healthz', old)).rejects.toThrow();
    expect((await ask('GET /healthz', { minVersion: 'TLSv1.3', ...by(cluster.admin) })).status).toBe(200);
    expect((await ask('GET /healthz', { maxVersion: 'TLSv1.2', ...by(cluster.admin) })).status).toBe(200);
  });

  test('a revoked right expires with its cached review, and a hung review delays no other client', async () => {
    expect((await ask('GET /metrics', bearer(readerToken))).status).toBe(200);
    cluster.double.grants.delete('reader get metrics');
    await waitFor(
      async () => (await ask('GET /metrics', bearer(readerToken))).status === 403,
      'the right to expire',
      30_000,
    );
    const stalled = cluster.double.faults.stall({ verb: 'create', resource: 'tokenreviews' });
    const began = Date.now();
    const hung = ask('GET /pods', bearer('a-token-never-seen'));
    expect((await ask('GET /healthz', by(cluster.admin))).status).toBe(200);
    expect((await ask('GET /pods', bearer(adminToken))).status).toBe(200);
    expect(Date.now() - began).toBeLessThan(8_000);
    expect((await hung).status).toBe(401);
    stalled.remove();
  });

  test('rejects path traversal and malformed paths', async () => {
    const admin = by(cluster.admin);
    const secret = readFileSync('/etc/passwd', 'utf8').slice(0, 20);
    const tricks = [
      '/logs/../../etc/passwd',
      '/logs/%2e%2e/%2e%2e/etc/passwd',
      '/logs/..%2f..%2fetc%2fpasswd',
      '/logs/%2fetc%2fpasswd',
      '/logs//etc/passwd',
      '/logs/?query=/../../etc/passwd',
      '/containerLogs/default/..%2f..%2f/main',
      '/containerLogs/..%2f/web/main',
      '/%2e%2e/pods',
      '/logs/%00',
      '/%zz',
    ];
    for (const path of tricks) {
      const { status, text } = await ask(`GET ${path}`, admin);
      expect([path, [301, 400, 403, 404, 406].includes(status), text.includes(secret)]).toEqual([
        path,
        true,
        false,
      ]);
    }
    const wrong = [
      ['POST /run/default/web/no-such-uid/main?cmd=id', 500],
      ['POST /run/default/web/none?cmd=id', 500],
      ['POST /run/kube-system/web/main?cmd=id', 404],
      ['GET /containerLogs/default/web/none', 404],
      ['GET /containerLogs/default/none/main', 404],
    ] as const;
    for (const [line, status] of wrong)
      expect([line, (await ask(line, admin)).status]).toEqual([line, status]);
  });

  test('reloads the serving certificate and the client CA', async () => {
    const before = (await ask('GET /healthz', by(cluster.admin))).shown;
    showCertificateOf(new TestAuthority());
    await waitFor(
      async () => (await ask('GET /healthz', by(cluster.admin))).shown !== before,
      'another certificate',
      30_000,
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const kept = (): Promise<Answer> => ask('GET /pods', { ...by(cluster.admin), agent });
    expect((await kept()).status).toBe(200);
    const others = new TestAuthority();
    const other = others.issue({ commonName: 'root', organizations: ['system:masters'], usage: 'client' });
    expect((await ask('GET /pods', by(other))).status).toBe(401);
    replace(files.clients, others.cert);
    await waitFor(
      async () => (await ask('GET /pods', by(other))).status === 200,
      'the other authority',
      30_000,
    );
    // A connection may be closed while a request is being sent.
    await waitFor(async () => (await kept()).status === 401, 'the open connection to be rejected', 30_000);
    agent.destroy();
    replace(files.clients, cluster.authority.cert);
    await waitFor(
      async () => (await ask('GET /pods', by(cluster.admin))).status === 200,
      'the first authority again',
      30_000,
    );
  });

  test('slow, many, large and silent clients do not affect others', async () => {
    const sockets: Socket[] = [];
    const open = (socket: Socket): Socket => {
      socket.on('error', () => undefined);
      sockets.push(socket);
      return socket;
    };
    for (let i = 0; i < 980; i++) open(connectTcp(kubelet.securePort, '127.0.0.1'));
    for (let i = 0; i < 20; i++) {
      const slow = open(connectTls(kubelet.securePort, '127.0.0.1', { rejectUnauthorized: false }));
      slow.write('GET /pods HTTP/1.1\r\nhost: x\r\nx-slow: ');
    }
    expect((await ask('GET /healthz', by(cluster.admin))).status).toBe(200);
    const huge = { ...by(cluster.admin), headers: { 'x-huge': 'a'.repeat(100_000) } };
    expect((await ask('GET /healthz', huge)).status).toBe(431);
    const body = { ...by(cluster.admin), headers: { 'content-length': '9999999' } };
    expect((await ask('POST /run/default/web/main?cmd=id', { ...body, body: 'x' })).status).toBe(413);
    const flags = { ...by(cluster.admin), body: '1'.repeat(100_000) };
    expect((await ask('PUT /debug/flags/v', flags)).status).toBe(413);
    for (const socket of sockets) socket.destroy();
    await waitFor(() => openSockets(kubelet.pid ?? 0) < 200, 'the connections to be closed', 30_000);
    expect((await kubelet.healthz()).text).toBe('ok');
    expect(kubelet.running).toBe(true);
  });
});

/** The number of open sockets of the kubelet. */
function openSockets(pid: number): number {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // Closed meanwhile.
      return '';
    }
  });
  return links.filter((link) => link.startsWith('socket:')).length;
}

// The ports of the node's page, of the built command: the page and its headers, what browsers may do on the loopback port, a command
// over a real WebSocket with and without the token, and the local socket.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readFileSync } from 'node:fs';
import {
  Agent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { repositoryRoot } from './rig/repository.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { manifest } from './support/manifest.ts';
import { untilRunning } from './support/pod-state.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function ask(path: string, options: RequestOptions = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ path, agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
      );
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end();
  });
}

const dashboardPort = 18_000 + Math.floor(Math.random() * 2_000);
const v5 = 'v5.channel.k8s.io';

describeOnRig('the ports of the page', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let tokenPath: string;
  let socketPath: string;

  const page = (path: string, options: RequestOptions = {}): Promise<Answer> =>
    ask(path, { host: '127.0.0.1', port: dashboardPort, ...options });
  const local = (path: string, options: RequestOptions = {}): Promise<Answer> =>
    ask(path, { socketPath, ...options });
  const tokenText = (): string => readFileSync(tokenPath, 'utf8');

  beforeAll(async () => {
    rig = await startRig();
    kubelet = await rig.kubelet({ nodeName: 'node', flags: [`--cadvisor-port=${dashboardPort}`] });
    tokenPath = join(kubelet.rootDir, 'dashboard-token');
    socketPath = join(kubelet.rootDir, 'kubelet-api.sock');
    kubelet.writeManifest('target', manifest('target'));
    await untilRunning(kubelet, 'target');
  });
  afterAll(() => rig.stop());

  /** What `id -u` prints in the container; the status code if the connection is rejected. */
  async function exec(
    where: string,
    protocols: readonly string[],
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const path = '/exec/default/target-node/main?output=1&command=id&command=-u';
    const socket = new WebSocket(`${where}${path}`, [...protocols], { headers });
    let output = '';
    socket.on('message', (data: Buffer) => {
      if (data[0] === 1) output += data.subarray(1).toString();
    });
    return await new Promise((resolve, reject) => {
      socket.once('unexpected-response', (request, response) => {
        request.destroy();
        resolve(String(response.statusCode));
      });
      socket.once('error', reject);
      socket.once('close', () => resolve(`${output.trim()} by ${socket.protocol}`));
    });
  }
  const bearer = (token: string): string =>
    `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

  test('the former name of the flag is understood, with a warning', () => {
    const warning = kubelet.log
      .lines()
      .filter((line) => line.includes('--cadvisor-port has been deprecated'));
    expect(warning).toHaveLength(1);
    expect(warning[0]).toContain('--dashboard-port');
  });

  test('the page is served compressed, with its policy, and again with 304', async () => {
    expect((await page('/')).headers.location).toBe('ui/');
    const html = await page('/ui/');
    expect([html.status, html.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(html.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
    expect(html.body.toString()).toContain('<script type="module" src="app.js">');
    const packed = await page('/ui/app.js', { headers: { 'accept-encoding': 'gzip, br' } });
    expect(packed.headers['content-encoding']).toBe('br');
    const built = readFileSync(join(repositoryRoot(), 'dist', 'kubelet', 'ui', 'app.js'));
    expect(brotliDecompressSync(packed.body).equals(built)).toBe(true);
    const again = await page('/ui/app.js', { headers: { 'if-none-match': packed.headers.etag ?? '' } });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    expect((await page('/ui/..%2f..%2fmain.mjs')).status).not.toBe(200);
    expect((await page('/ui/manifest.json')).status).toBe(404);
    // The same on the secure port.
    expect((await kubelet.secure('/ui/')).text).toBe(html.body.toString());
  });

  test('reading needs no credentials, and logs are read', async () => {
    const pods = JSON.parse((await page('/pods')).body.toString()) as { readonly items: readonly unknown[] };
    expect(pods.items).toHaveLength(1);
    expect((await page('/containerLogs/default/target-node/main')).status).toBe(200);
    expect((await page('/pods', { method: 'DELETE' })).status).toBe(405);
    expect((await page('/flagz')).status).toBe(404);
  });

  test('a hundred viewers from one address are served at once', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 100 });
    const follow = '/containerLogs/default/target-node/main?follow=true';
    const streams = Array.from({ length: 100 }, () =>
      httpRequest({ host: '127.0.0.1', port: dashboardPort, path: follow, agent }),
    );
    const statuses = streams.map(async (request) => {
      request.on('error', () => undefined);
      request.end();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    });
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
    expect((await page('/ui/')).status).toBe(200);
    for (const each of streams) each.destroy();
    agent.destroy();
  });

  test('other names of the host and pages of other sites are rejected', async () => {
    const named = (host: string): Promise<Answer> => page('/pods', { headers: { host } });
    expect((await named('evil.example')).status).toBe(421);
    expect((await named(`localhost:${dashboardPort}`)).status).toBe(200);
    expect((await page('/pods', { headers: { origin: 'http://evil.example' } })).status).toBe(403);
  });

  test('a command needs the token, as header or as protocol, and no page of another site', async () => {
    const where = `ws://127.0.0.1:${dashboardPort}`;
    expect(await exec(where, [v5])).toBe('401');
    expect(await exec(where, [v5, bearer('wrong')])).toBe('401');
    expect(await exec(where, [v5, bearer(tokenText())])).toBe(`0 by ${v5}`);
    expect(await exec(where, [bearer(tokenText()), v5])).toBe(`0 by ${v5}`);
    expect(await exec(where, [v5], { authorization: `Bearer ${tokenText()}` })).toBe(`0 by ${v5}`);
    expect(await exec(where, [v5, bearer(tokenText())], { origin: 'http://evil.example' })).toBe('403');
    const own = { origin: where.replace('ws', 'http') };
    expect(await exec(where, [v5, bearer(tokenText())], own)).toBe(`0 by ${v5}`);
    const access = async (headers = {}): Promise<unknown> =>
      JSON.parse((await page('/ui/api/access', { headers })).body.toString());
    expect(await access()).toEqual({ logs: true, exec: false });
    expect(await access({ authorization: `Bearer ${tokenText()}` })).toEqual({ logs: true, exec: true });
  });

  test('10250 rejects a command for a page of another site, and accepts it from the API server', async () => {
    const url = `wss://127.0.0.1:${kubelet.securePort}/exec/default/target-node/main?output=1&command=true`;
    const status = async (headers: Readonly<Record<string, string>>): Promise<number> => {
      const socket = new WebSocket(url, [v5], { headers, rejectUnauthorized: false });
      const rejected = once(socket, 'unexpected-response').then(([request, response]) => {
        (request as { destroy(): void }).destroy();
        return (response as { statusCode: number }).statusCode;
      });
      return await Promise.race([rejected, once(socket, 'close').then(() => 101)]);
    };
    const origin = 'https://evil.example';
    expect(await status({ origin })).toBe(403);
    expect(await status({ origin, 'x-forwarded-for': '10.0.0.9' })).toBe(101);
    expect(await status({})).toBe(101);
  });

  test('the local socket is for root only, and allows everything', async () => {
    const stats = lstatSync(socketPath);
    expect([stats.isSocket(), stats.mode & 0o777, stats.uid]).toEqual([true, 0o600, process.getuid?.()]);
    expect(lstatSync(tokenPath).mode & 0o777).toBe(0o600);
    const explained = JSON.parse((await local('/explain')).body.toString()) as { pods: { name: string }[] };
    expect(explained.pods.map(({ name }) => name)).toEqual(['target-node']);
    expect(await exec(`ws+unix://${socketPath}:`, [v5])).toBe(`0 by ${v5}`);
    expect((await local('/ui/')).status).toBe(200);
  });

  test('a killed kubelet starts again with the same token, and its socket is replaced', async () => {
    const before = tokenText();
    await kubelet.kill9();
    expect(lstatSync(socketPath).isSocket()).toBe(true);
    await kubelet.start();
    expect(tokenText()).toBe(before);
    expect((await local('/healthz')).body.toString()).toBe('ok');
    expect((await page('/healthz')).body.toString()).toBe('ok');
    await kubelet.stop();
    expect(lstatSync(socketPath, { throwIfNoEntry: false })).toBeUndefined();
  });

  test('an address that others reach needs authentication', () => {
    const { status, stderr } = spawnSync(
      join(repositoryRoot(), 'bin', 'kubelet'),
      [`--config=${kubelet.configPath}`, '--dashboard-port=4194', '--dashboard-address=0.0.0.0'],
      { encoding: 'utf8', timeout: 20_000 },
    );
    expect(status).not.toBe(0);
    expect(stderr).toContain('clients must be authenticated');
  });
});

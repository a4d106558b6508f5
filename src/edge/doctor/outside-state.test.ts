// The runtime, certificates and the API server: what they report, and what is wrong with them.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ClusterAccess } from '../../api/ports/cluster-access.ts';
import { realClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log/log.ts';
import { parseKubeconfig } from '../apiserver/kubeconfig.ts';
import { untilAnswers } from './answering-file.ts';
import { askApiServer } from './api-server-answer.ts';
import { readBundle, readCombinedFile, readIdentity } from './certificate-files.ts';
import { nameServersOf } from './resolv-conf-state.ts';
import { configurationOf, probeSocket } from './runtime-state.ts';

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'doctor-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

test('probeSocket', async () => {
  const { signal } = new AbortController();
  const dir = directory();
  const path = join(dir, 'r.sock');
  expect(await probeSocket(path, signal)).toBe('missing');
  writeFileSync(join(dir, 'file'), '');
  expect(await probeSocket(join(dir, 'file'), signal)).toBe('refused');
  const server = createServer().listen(path);
  await once(server, 'listening');
  expect(await probeSocket(`unix://${path}`, signal)).toBe('open');
  await new Promise((resolve) => server.close(resolve));
  await expect(probeSocket('tcp://127.0.0.1:1', signal)).rejects.toThrow('only unix sockets');
});

describe('configurationOf', () => {
  const none = {
    sandboxImage: undefined,
    cgroupDriver: undefined,
    cniConfDir: undefined,
    cniBinDir: undefined,
  };
  const config = (options: unknown): string =>
    JSON.stringify({
      sandboxImage: 'pause:3.10',
      cni: { confDir: '/etc/cni/net.d', binDir: '/opt/cni/bin' },
      containerd: { defaultRuntimeName: 'runc', runtimes: { runc: { options } } },
    });
  const cases = [
    ['absent', undefined, none],
    ['not JSON', 'pause = 1', none],
    ['another shape', '{"containerd":[],"cni":7,"sandboxImage":{}}', none],
    ['a list', '[]', none],
    [
      'containerd with systemd',
      config({ SystemdCgroup: true }),
      {
        sandboxImage: 'pause:3.10',
        cgroupDriver: 'systemd',
        cniConfDir: '/etc/cni/net.d',
        cniBinDir: '/opt/cni/bin',
      },
    ],
    [
      'containerd without the option',
      config(null),
      {
        sandboxImage: 'pause:3.10',
        cgroupDriver: 'cgroupfs',
        cniConfDir: '/etc/cni/net.d',
        cniBinDir: '/opt/cni/bin',
      },
    ],
  ] as const;
  for (const [name, text, expected] of cases)
    test(name, () => expect(configurationOf(text)).toEqual(expected));
});

test('certificates that are missing or cannot be used are results', async () => {
  const { signal } = new AbortController();
  const dir = directory();
  const file = join(dir, 'c.pem');
  expect(await readBundle(undefined, '', signal)).toEqual({ state: 'none' });
  expect(await readBundle({ file }, '', signal)).toMatchObject({ state: 'missing', where: file });
  writeFileSync(file, 'no PEM');
  expect(await readBundle({ file }, '', signal)).toEqual({ state: 'found', where: file, certificates: [] });
  expect(await readIdentity({ cert: { file }, key: { file } }, '', signal)).toMatchObject({
    state: 'invalid',
  });
  expect(await readCombinedFile(file, signal)).toMatchObject({
    state: 'invalid',
    problem: expect.stringContaining('no private key') as string,
  });
});

describe('untilAnswers', () => {
  const never = new AbortController().signal;
  test('is silent about what can be read, and about what the read itself reports', async () => {
    const dir = directory();
    writeFileSync(join(dir, 'file'), 'x');
    writeFileSync(join(dir, 'empty'), '');
    for (const path of ['file', 'empty', 'none', '.', 'file/below'])
      await untilAnswers(join(dir, path), never);
    await untilAnswers('/dev/stdin', never);
  });

  test('rejects what this process must not read', async () => {
    const dir = directory();
    const large = join(dir, 'large');
    writeFileSync(large, '');
    truncateSync(large, 5 * 1024 * 1024);
    await expect(untilAnswers(large, never)).rejects.toThrow('is larger than');
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    await expect(untilAnswers(join(dir, 'pipe'), never)).rejects.toThrow('is a fifo, not a file');
    await expect(untilAnswers('/dev/zero', never)).rejects.toThrow('is a character special file');
  });

  test('gives up a file system that does not answer', async () => {
    const dir = directory();
    writeFileSync(join(dir, 'head'), '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    writeFileSync(join(dir, 'file'), 'x');
    vi.stubEnv('PATH', `${dir}:${process.env['PATH'] ?? ''}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const stop = new AbortController();
    const answer = untilAnswers(join(dir, 'file'), stop.signal);
    setTimeout(() => stop.abort(new Error('late')), 50);
    await expect(answer).rejects.toThrow('late');
  });
});

test('nameServersOf', () => {
  const text = '# nameserver 1.1.1.1\nsearch a.b\nnameserver 10.0.0.2\r\nnameserver\tfd00::2\nnameserver\n';
  expect(nameServersOf(text)).toEqual(['10.0.0.2', 'fd00::2']);
});

describe('askApiServer', () => {
  async function ask(respond: { readonly status: number; readonly body: string; readonly date?: string }) {
    const paths: string[] = [];
    const server = createHttp((request, response) => {
      paths.push(request.url ?? '');
      response.writeHead(respond.status, respond.date === undefined ? {} : { date: respond.date });
      response.end(respond.body);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    return { answer: await askApiServer(deps(access(port))), paths };
  }
  const access = (port: number): ClusterAccess =>
    parseKubeconfig(
      JSON.stringify({
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'k' } }],
        clusters: [{ name: 'k', cluster: { server: `http://127.0.0.1:${port}/prefix` } }],
      }),
      '/',
    );
  const deps = (to: ClusterAccess) => ({
    access: to,
    clock: realClock,
    log: silentLogger,
    userAgent: 'kubelet',
    signal: new AbortController().signal,
  });

  test('version and date', async () => {
    const date = 'Mon, 15 Jun 2026 12:00:00 GMT';
    const { answer, paths } = await ask({ status: 200, body: '{"gitVersion":"v1.37.1"}', date });
    expect(answer).toMatchObject({ status: 200, version: 'v1.37.1', dateMs: Date.parse(date) });
    expect(paths).toEqual(['/prefix/version']);
  });

  test('a server of another kind', async () => {
    const { answer } = await ask({ status: 200, body: `<html>${'x'.repeat(1_000_000)}`, date: 'yesterday' });
    expect(answer).toMatchObject({ status: 200, version: undefined, dateMs: undefined });
    expect((await ask({ status: 401, body: '{"gitVersion":"v9"}' })).answer).toMatchObject({
      status: 401,
      version: undefined,
    });
  });

  test('no server', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    await expect(askApiServer(deps(access(port)))).rejects.toThrow('is not reachable');
  });
});

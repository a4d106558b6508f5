// Listeners and kubelets, from tables of the kernel and from this machine.
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findKubelets, kubeletArguments } from './kubelet-processes.ts';
import { findListeners, parseSockets } from './listeners.ts';

describe('kubeletArguments', () => {
  const cases = [
    [['/usr/bin/kubelet', '--v=2'], ['--v=2']],
    [['kubelet'], []],
    [['/usr/bin/node', '--single-threaded-gc', '/opt/kubelet/dist/kubelet/main.mjs', '--v=2'], ['--v=2']],
    [['node', '/usr/lib/kubelet-ts/main.mjs', 'doctor'], ['doctor']],
    [
      [
        '/usr/lib/kubelet-ts/bin/kubelet',
        '--single-threaded-gc',
        '/usr/lib/kubelet-ts/kubelet/main.mjs',
        'man',
      ],
      ['man'],
    ],
    [
      ['/usr/bin/kubelet', '--config', '/etc/k.yaml'],
      ['--config', '/etc/k.yaml'],
    ],
    [['node', '/srv/app/main.mjs'], undefined],
    [['node', '/srv/app/server.js', '/opt/kubelet/main.mjs'], undefined],
    [['kube-proxy'], undefined],
    [[], undefined],
  ] as const;
  for (const [argv, args] of cases) test(argv.join(' '), () => expect(kubeletArguments(argv)).toEqual(args));
});

test('findKubelets reads the command lines of processes whose name fits', async () => {
  const proc = mkdtempSync(join(tmpdir(), 'proc-'));
  onTestFinished(() => rmSync(proc, { recursive: true }));
  const add = (pid: number, comm: string, argv: readonly string[], pids = String(pid)): void => {
    mkdirSync(join(proc, String(pid)));
    writeFileSync(join(proc, String(pid), 'status'), `Name:\t${comm}\nNSpid:\t${pids}\n`);
    writeFileSync(join(proc, String(pid), 'comm'), `${comm}\n`);
    writeFileSync(join(proc, String(pid), 'cmdline'), `${argv.join('\0')}\0`);
  };
  add(10, 'kubelet', ['/usr/bin/kubelet', '--root-dir=/a']);
  add(11, 'MainThread', ['node', '/x/kubelet/main.mjs', '--root-dir', '/b']);
  add(12, 'nginx', ['kubelet']);
  add(13, 'kubelet', ['/usr/bin/kubelet', 'x'.repeat(200_000)]);
  add(14, 'kubelet', ['/usr/bin/kubelet']);
  mkdirSync(join(proc, '15'));
  // In a container with PIDs of its own, such as a node of kind, or an image that calls its program kubelet.
  add(16, 'kubelet', ['/usr/bin/kubelet', '--root-dir=/a'], '16\t1');
  mkdirSync(join(proc, 'sys'));
  expect((await findKubelets(14, proc)).toSorted((a, b) => a.pid - b.pid)).toEqual([
    { pid: 10, args: ['--root-dir=/a'] },
    { pid: 11, args: ['--root-dir', '/b'] },
  ]);
});

describe('parseSockets', () => {
  const head =
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
  const row = (local: string, state: string): string =>
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n`;
  const cases = [
    ['0100007F:280A', '0A', [{ port: 10250, address: '127.0.0.1', inode: '4711' }]],
    ['00000000:280A', '0A', [{ port: 10250, address: '0.0.0.0', inode: '4711' }]],
    ['00000000000000000000000000000000:280A', '0A', [{ port: 10250, address: '::', inode: '4711' }]],
    ['00000000000000000000000001000000:0016', '0A', [{ port: 22, address: '::1', inode: '4711' }]],
    ['B80D01200000000000000000030A0000:0016', '0A', [{ port: 22, address: '2001:db8::a03', inode: '4711' }]],
    ['0100007F:280A', '01', []],
    ['garbage', '0A', []],
  ] as const;
  for (const [local, state, sockets] of cases)
    test(`${local} ${state}`, () => expect(parseSockets(head + row(local, state))).toEqual(sockets));
});

test('findListeners does not take an unreadable table for one without listeners', async () => {
  const proc = mkdtempSync(join(tmpdir(), 'proc-'));
  onTestFinished(() => rmSync(proc, { recursive: true }));
  await expect(findListeners([10250], proc)).rejects.toThrow('ENOENT');
  // Without IPv6.
  mkdirSync(join(proc, 'net'));
  writeFileSync(join(proc, 'net', 'tcp'), '');
  expect(await findListeners([10250], proc)).toEqual([]);
});

test('findListeners reads the listeners only of a machine with many connections', async () => {
  const proc = mkdtempSync(join(tmpdir(), 'proc-'));
  onTestFinished(() => rmSync(proc, { recursive: true }));
  mkdirSync(join(proc, 'net'));
  const row = (state: string): string => `   0: 0100007F:280A 0100007F:0001 ${state} 0:0 00:0 0 0 0 4711 1\n`;
  writeFileSync(join(proc, 'net', 'tcp'), row('0A') + row('01').repeat(200_000));
  const lastIsBeyondTheLimit = row('01').repeat(200_000) + row('0A');
  writeFileSync(join(proc, 'net', 'tcp6'), lastIsBeyondTheLimit);
  expect(await findListeners([10250], proc)).toHaveLength(1);
});

test('findListeners names the process of a port', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const found = await findListeners([port]);
  expect(found).toEqual([
    { port, address: '127.0.0.1', pid: process.pid, program: expect.any(String) as string },
  ]);
  expect(await findListeners([1])).toEqual([]);
});

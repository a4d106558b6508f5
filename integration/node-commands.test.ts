// kubelet ps, explain, history, logs and top of the built command against a kubelet with real containers: by certificate, on the
// read-only port and on the node's socket, and over restarts of the kubelet.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestAuthority } from '../test/api-server/pki.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Outcome, run } from './rig/process.ts';
import { repositoryRoot } from './rig/repository.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, manifest } from './support/manifest.ts';
import { untilRestarted, untilRunning } from './support/pod-state.ts';

const command = join(repositoryRoot(), 'bin', 'kubelet');
const escapes = String.raw`\033]0;title\007\033[31mred\033[0m`;

describeOnRig('the commands that show a node', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let secure: readonly string[];
  const followers: ChildProcess[] = [];

  beforeAll(async () => {
    rig = await startRig({ registry: false });
    const authority = new TestAuthority();
    const serving = authority.issue({ commonName: 'node', hosts: ['127.0.0.1'], usage: 'server' });
    const client = authority.issue({
      commonName: 'admin',
      organizations: ['system:masters'],
      usage: 'client',
    });
    const file = (name: string, text: string): string => {
      const path = join(rig.workspace.dir, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    };
    const ca = file('ca.crt', authority.cert);
    kubelet = await rig.kubelet({
      nodeName: 'node1',
      config: {
        authentication: {
          anonymous: { enabled: false },
          webhook: { enabled: false },
          x509: { clientCAFile: ca },
        },
        tlsCertFile: file('serving.crt', serving.cert),
        tlsPrivateKeyFile: file('serving.key', serving.key),
      },
    });
    secure = [
      '--server',
      `https://127.0.0.1:${kubelet.securePort}`,
      '--certificate-authority',
      ca,
      '--client-certificate',
      file('client.crt', client.cert),
      '--client-key',
      file('client.key', client.key),
    ];
    kubelet.writeManifest(
      'web',
      manifest('web', {
        containers: [
          container('counter', 'i=0; while :; do i=$((i+1)); echo "line $i"; sleep 0.02; done'),
          container('other', `printf '${escapes}\\n'; sleep 2147483647`),
        ],
      }),
    );
    const failing = container('main', 'echo the final output; exit 3');
    kubelet.writeManifest('loops', manifest('loops', { containers: [failing] }));
    await Promise.all([untilRunning(kubelet, 'web'), untilRestarted(kubelet, 'loops', 1)]);
  });
  afterAll(async () => {
    for (const follower of followers) follower.kill('SIGKILL');
    await rig.stop();
  });

  const kubeletCommand = (...args: readonly string[]): Promise<Outcome> => run(command, args, 20_000);
  const show = async (...args: readonly string[]): Promise<string> => {
    const outcome = await kubeletCommand(...args, ...secure);
    expect(outcome).toMatchObject({ code: 0 });
    return outcome.stdout;
  };

  test('ps lists the pods as /pods has them', async () => {
    const text = await show('ps');
    expect(text).toMatch(/^POD +READY +STATUS +RESTARTS +AGE +IP +EXPLANATION\n/);
    expect(text).toMatch(/\ndefault\/web-node1 +2\/2 +Running +0 +\d+s +10\.[\d.]+ +running as specified/);
    const { items } = JSON.parse(await show('ps', '-o', 'json')) as { readonly items: readonly unknown[] };
    const pods = await kubelet.pods();
    expect(items).toHaveLength(pods.length);
    expect(items).toContainEqual(
      expect.objectContaining({
        name: 'web-node1',
        uid: pods.find(({ metadata }) => metadata?.name === 'web-node1')?.metadata?.uid,
      }),
    );
  });

  test('explain shows a crash loop with its last lines', async () => {
    const [text, eviction] = await Promise.all([show('explain', 'loops'), show('explain', '--eviction')]);
    expect(text).toMatch(/^default\/loops-node1 +(CrashLoopBackOff|Error|Running)\n/);
    expect(text).toContain('Container main exited with an error (exit code 3).');
    expect(text).toContain('| the final output');
    expect(text).toMatch(/BackOff|Started/);
    expect(eviction).toMatch(/^No eviction threshold is met/);
  });

  test('history lists the ends', async () => {
    expect(await show('history')).toMatch(/T[\d:]+Z +default\/loops-node1 +main +Container main exited/);
    expect(await show('history', 'loops', '--limit=1')).toContain('  | the final output\n');
  });

  test('logs selects lines, and shows colours only on a terminal', async () => {
    expect(await show('logs', 'web', '-c', 'counter', '--grep', 'line 7')).toMatch(/^line 7\n/);
    expect(await show('logs', 'web', '-c', 'other')).toBe('\u001b]0;title\u0007\u001b[31mred\u001b[0m\n');
    const line = [command, 'logs', 'web', '-c', 'other', ...secure].join(' ');
    const { stdout } = await run('script', ['-qec', line, '/dev/null']);
    expect(stdout).toContain('\\x1b]0;title\\x07\u001b[31mred\u001b[0m');
    expect(await show('logs', 'loops', '--previous')).toBe('the final output\n');
  });

  test('top has the usage of the pods and containers', async () => {
    expect(await show('top')).toMatch(
      /^NODE +CPU +CPU% +MEMORY +MEMORY%\n\S+ +\d+m .*\n\nPOD +CPU +MEMORY\n[^]*default\/web-node1 +/,
    );
    expect(await show('top', '--containers')).toMatch(/\n +counter +\S+ +\d+Ki/);
  });

  describe('logs -f', () => {
    interface Follower {
      readonly child: ChildProcess;
      readonly lines: () => readonly string[];
      readonly stderr: () => string;
    }
    function follow(pod: string, ...args: readonly string[]): Follower {
      const child = spawn(command, ['logs', '-f', pod, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
      followers.push(child);
      let stdout = '';
      let stderr = '';
      child.stdout.on('data', (chunk: Buffer) => (stdout += String(chunk)));
      child.stderr.on('data', (chunk: Buffer) => (stderr += String(chunk)));
      return { child, lines: () => stdout.split('\n').slice(0, -1), stderr: () => stderr };
    }

    test('loses and doubles no line over a kill and a stop of the kubelet', async () => {
      const follower = follow('web', '-c', 'counter', ...secure);
      const untilMore = async (what: string): Promise<void> => {
        const before = follower.lines().length;
        await waitFor(() => follower.lines().length > before + 20, `lines ${what}`);
      };
      await untilMore('at the start');
      for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
        await kubelet.stop(signal);
        await kubelet.start({ keepConfig: true });
        await untilMore(`after ${signal}`);
      }
      follower.child.kill('SIGINT');
      await once(follower.child, 'exit');
      expect(follower.child.exitCode).toBe(130);
      const lines = follower.lines();
      expect(lines).toEqual(lines.map((_, at) => `line ${at + 1}`));
      expect(follower.stderr().match(/reconnecting/g)).toHaveLength(2);
      expect(follower.stderr().match(/reconnected/g)).toHaveLength(2);
    });

    test('ends with its container, and with its reader', async () => {
      const script = 'echo begin; sleep 2; echo end';
      const once1 = manifest('once', { restartPolicy: 'Never', containers: [container('main', script)] });
      kubelet.writeManifest('once', once1);
      await untilRunning(kubelet, 'once');
      const follower = follow('once', ...secure);
      const line = [command, 'logs', '-f', 'web', '-c', 'counter', ...secure].join(' ');
      expect(await run('bash', ['-c', `set -o pipefail; ${line} | head -n 2`])).toEqual({
        code: 0,
        stdout: 'line 1\nline 2\n',
        stderr: '',
      });
      if (follower.child.exitCode === null) await once(follower.child, 'exit');
      expect([follower.child.exitCode, follower.lines(), follower.stderr()]).toEqual([
        0,
        ['begin', 'end'],
        '',
      ]);
    });
  });

  test('the read-only port serves what needs no permission', async () => {
    const readOnly = ['--server', `http://127.0.0.1:${kubelet.readOnlyPort}`];
    expect(await kubeletCommand('ps', ...readOnly)).toMatchObject({ code: 0, stderr: '' });
    expect((await kubeletCommand('explain', 'web', ...readOnly)).stdout).toContain('CONTAINERS');
    expect((await kubeletCommand('logs', 'web', '-c', 'other', ...readOnly)).stderr).toContain(
      'does not serve /containerLogs/',
    );
    expect((await kubeletCommand('history', ...readOnly)).stderr).toContain('this is the read-only port');
  });

  test('a client without a certificate gets an error that names the options', async () => {
    const [, url = '', , ca = ''] = secure;
    const { code, stderr } = await kubeletCommand('ps', '--server', url, '--certificate-authority', ca);
    expect([code, stderr]).toEqual([
      1,
      `kubelet ps: ${url} does not know this client (401): set --client-certificate and --client-key, or --token-file\n`,
    ]);
  });

  test('the socket of the node needs no credentials, and root', async () => {
    const socket = join(kubelet.rootDir, 'kubelet-api.sock');
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    const at = ['--root-dir', kubelet.rootDir];
    const commands = [['ps'], ['explain', 'web'], ['history'], ['logs', 'web', '-c', 'other'], ['top']];
    const [pods, pod, ...others] = await Promise.all(commands.map((args) => kubeletCommand(...args, ...at)));
    for (const each of [pods, pod, ...others]) expect(each).toMatchObject({ code: 0, stderr: '' });
    expect(pods?.stdout).toContain('default/web-node1');
    expect(pod?.stdout).toContain('Start at ');
    const asNobody = await run('setpriv', ['--reuid=65534', '--clear-groups', command, 'ps', ...at]);
    expect(asNobody.stderr).toBe(`kubelet ps: no permission to use ${socket}: run the command as root\n`);
  });
});

// Start-up of the built command and what ends it: lock file, ports, directories, systemd, --runonce.

import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Exit, Kubelet, KubeletOptions } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { commandLine } from './rig/process.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, manifest } from './support/manifest.ts';
import { NotifySocket } from './support/notify-socket.ts';
import { runtimePod } from './support/runtime-pods.ts';

const clean: Exit = { code: 0, signal: null };
const failed: Exit = { code: 1, signal: null };

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

describeOnRig('start-up', () => {
  let rig: Rig;
  let kubelets: Kubelet[] = [];
  let count = 0;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  afterEach(async () => {
    for (const kubelet of kubelets) if (kubelet.running) await kubelet.stop();
    kubelets = [];
    await rig.removeAllPods();
  });

  const make = (options: KubeletOptions = {}): Kubelet => {
    count += 1;
    const kubelet = rig.newKubelet({ name: `k${count}`, nodeName: 'node', ...options });
    kubelets.push(kubelet);
    return kubelet;
  };
  const launch = async (options: KubeletOptions = {}): Promise<Kubelet> => {
    const kubelet = make(options);
    await kubelet.start();
    return kubelet;
  };
  /** Waits until the kubelet exits by itself. */
  const untilExits = async (kubelet: Kubelet): Promise<Exit> => {
    await waitFor(() => !kubelet.running, `the kubelet to exit by itself: ${kubelet.log.path}`);
    return kubelet.stop();
  };
  const runToEnd = async (kubelet: Kubelet): Promise<Exit> => {
    await kubelet.start({ untilReady: false });
    return untilExits(kubelet);
  };
  const errorsOf = (kubelet: Kubelet): readonly string[] => kubelet.log.matching(/^E/);

  test('SIGUSR1 opens no debugger port at any moment', async () => {
    const port = await freePort();
    const kubelet = make({ env: { NODE_OPTIONS: `--inspect-port=${port}` } });
    await kubelet.start({ untilReady: false });
    const pid = kubelet.pid ?? 0;
    const signalTimer = setInterval(() => {
      // Not to the shell that starts Node, which has no handler.
      if (commandLine(pid)[0] === 'node') process.kill(pid, 'SIGUSR1');
    }, 5);
    try {
      await kubelet.waitUntilReady();
    } finally {
      clearInterval(signalTimer);
    }
    process.kill(pid, 'SIGUSR1');
    expect((await kubelet.healthz()).status).toBe(200);
    expect(await isListening(port)).toBe(false);
    expect(await kubelet.stop()).toEqual(clean);
  });

  test('with --exit-on-lock-contention the first kubelet exits cleanly for the second', async () => {
    const lock = `--lock-file=${join(rig.workspace.dir, 'contended.lock')}`;
    const first = await launch({ flags: [lock, '--exit-on-lock-contention'] });
    const second = await launch({ flags: [lock, '--exit-on-lock-contention'] });
    expect(await untilExits(first)).toEqual(clean);
    expect(second.running).toBe(true);
    // Any process that opens the file counts as a contender.
    readFileSync(lock.slice('--lock-file='.length));
    expect(await untilExits(second)).toEqual(clean);
    expect([first, second].flatMap(errorsOf)).toEqual([]);
  });

  test('without it the second kubelet waits for the lock, and can be stopped meanwhile', async () => {
    const path = join(rig.workspace.dir, 'held.lock');
    const first = await launch({ flags: [`--lock-file=${path}`] });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const second = make({ flags: [`--lock-file=${path}`] });
    await second.start({ untilReady: false });
    await second.log.waitForLine(/Waiting for the process that holds the file lock/);
    expect(await second.stop()).toEqual(clean);
    const from = second.log.end;
    await second.start({ untilReady: false });
    await second.log.waitForLine(/Waiting for the process that holds the file lock/, { from });
    await expect(second.healthz()).rejects.toThrow();
    expect(first.running).toBe(true);
    await first.kill9();
    await second.waitUntilReady();
  });

  test('--runonce exits with 0 if all pods run or succeed, and leaves them running', async () => {
    const kubelet = make({ flags: ['--runonce', '--enable-server=false'] });
    kubelet.writeManifest(
      'job',
      manifest('job', { restartPolicy: 'Never', containers: [container('main', 'exit 0')] }),
    );
    kubelet.writeManifest('service', manifest('service'));
    expect(await runToEnd(kubelet)).toEqual(clean);
    const states = await Promise.all(
      ['job', 'service'].map(async (name) =>
        (await runtimePod(rig, kubelet, name)).containers.map(({ state }) => state),
      ),
    );
    expect(states).toEqual([['exited'], ['running']]);
    expect(errorsOf(kubelet)).toEqual([]);
  });

  test('--runonce exits with 1 and names a failed pod', async () => {
    const kubelet = make({ flags: ['--runonce', '--enable-server=false'] });
    kubelet.writeManifest(
      'bad',
      manifest('bad', { restartPolicy: 'Never', containers: [container('main', 'exit 3')] }),
    );
    kubelet.writeManifest('good', manifest('good'));
    expect(await runToEnd(kubelet)).toEqual(failed);
    expect(errorsOf(kubelet).at(-1)).toMatch(/default\/bad-node/);
    expect(errorsOf(kubelet).at(-1)).not.toMatch(/good/);
  });

  test('systemd receives READY=1 when the kubelet serves, WATCHDOG=1 while it runs, and STOPPING=1', async () => {
    const systemd = await NotifySocket.open(join(rig.workspace.dir, 'notify'));
    try {
      const kubelet = make({ env: { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: '2000000' } });
      await kubelet.start({ untilReady: false });
      await systemd.untilState('READY=1');
      // After READY=1 it responds; it is healthy once the runtime has responded too.
      await waitFor(async () => (await kubelet.healthz()).text === 'ok', 'the kubelet to be healthy', 10_000);
      await systemd.untilState('WATCHDOG=1', 3);
      expect(await kubelet.stop()).toEqual(clean);
      const others = systemd.states().filter((state) => state !== 'WATCHDOG=1');
      expect(others).toEqual(['READY=1', 'STOPPING=1']);
    } finally {
      systemd.close();
    }
  });

  test('ignores a watchdog of another process and a missing notify socket', async () => {
    const env = {
      NOTIFY_SOCKET: join(rig.workspace.dir, 'no-socket'),
      WATCHDOG_USEC: '2000000',
      WATCHDOG_PID: '1',
    };
    const kubelet = await launch({ env });
    await kubelet.log.waitForLine(/^W.*Failed to notify systemd.*READY=1/);
    expect(kubelet.log.matching(/Starting systemd watchdog|notifying? the systemd watchdog/)).toEqual([]);
  });

  test('rejects a watchdog interval that is too short, before it does anything', async () => {
    const kubelet = make({ env: { WATCHDOG_USEC: '1000000' } });
    expect(await runToEnd(kubelet)).toEqual(failed);
    expect(errorsOf(kubelet)).toEqual([
      expect.stringContaining('WATCHDOG_USEC=1000000 is not more than a second'),
    ]);
    expect(existsSync(join(kubelet.rootDir, 'pods'))).toBe(false);
  });

  for (const [field, flag] of [
    ['healthzPort', '--healthz-port'],
    ['readOnlyPort', '--read-only-port'],
  ] as const)
    test(`a used ${field} yields one line with the address and ${flag}, and exit code 1`, async () => {
      const taken: Server = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      try {
        const kubelet = make({ config: { [field]: port } });
        expect(await runToEnd(kubelet)).toEqual(failed);
        const errors = errorsOf(kubelet);
        expect(errors).toHaveLength(1);
        expect(errors[0]).toContain(`cannot listen on 127.0.0.1:${port} (${flag}): the address is in use`);
      } finally {
        taken.close();
        await once(taken, 'close');
      }
    });

  test('directories have their modes, the root is a shared mount, and a restart does not stack mounts', async () => {
    const root = join(rig.workspace.dir, 'fresh', 'root');
    const logs = join(rig.workspace.dir, 'fresh', 'logs', 'pods');
    const kubelet = await launch({ flags: [`--root-dir=${root}`], config: { podLogsDir: logs } });
    const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    const names = ['pods', 'plugins', 'plugins_registry', 'pod-resources', 'checkpoints'];
    expect(
      Object.fromEntries([root, logs, join(logs, '../containers')].map((path) => [path, mode(path)])),
    ).toEqual({
      [root]: '750',
      [logs]: '750',
      [join(logs, '../containers')]: '755',
    });
    expect(names.map((name) => `${name} ${mode(join(root, name))}`)).toEqual([
      'pods 750',
      'plugins 750',
      'plugins_registry 750',
      'pod-resources 750',
      'checkpoints 700',
    ]);
    const mounts = (): readonly string[] =>
      readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .filter((line) => line.split(' ')[4] === root);
    const before = mounts();
    expect(before).toEqual([expect.stringMatching(/ shared:\d+ /)]);
    expect(await kubelet.stop()).toEqual(clean);
    await kubelet.start();
    expect(mounts()).toEqual(before);
    await kubelet.kill9();
    await kubelet.start();
    expect(mounts()).toEqual(before);
  });

  test('an existing directory keeps its mode, and a file in its place is named', async () => {
    const root = join(rig.workspace.dir, 'odd-root');
    mkdirSync(join(root, 'pods'), { recursive: true, mode: 0o711 });
    const kubelet = await launch({ flags: [`--root-dir=${root}`] });
    expect([root, join(root, 'pods')].map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual([
      '711',
      '711',
    ]);
    const file = kubelet.log.path;
    const other = make({ flags: [`--root-dir=${file}`] });
    expect(await runToEnd(other)).toEqual(failed);
    expect(errorsOf(other)).toEqual([expect.stringMatching(/"directories\\?" \(--root-dir\)/)]);
    expect(errorsOf(other)[0]).toContain(file);
  });
});

// The rig itself: it works, several work side by side, and none leaves anything behind.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { findLeftovers, findTraces, sweepDeadRigs } from './rig/leftovers.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { commandLine, listProcesses, run } from './rig/process.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { runPod } from './rig/run-pod.ts';
import { waitFor } from './rig/wait.ts';
import type { RigWorkspace } from './rig/workspace.ts';

/** Possible leftovers of a rig, found by other means than its own, without those of other rigs. */
async function tracesOnMachine({ dir, name }: RigWorkspace): Promise<Record<string, readonly string[]>> {
  const mine = new RegExp(`(${dir}|${name})(?!\\d)`);
  const list = (folder: string): readonly string[] =>
    (existsSync(folder) ? readdirSync(folder) : []).map((entry) => join(folder, entry));
  const folders = (folder: string): readonly string[] =>
    readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(folder, entry.name));
  const lines = (text: string): readonly string[] => text.split('\n').filter((line) => mine.test(line));
  return {
    rules: lines((await run('iptables-save', [])).stdout),
    links: lines((await run('ip', ['-oneline', 'link'])).stdout),
    mounts: lines(readFileSync('/proc/self/mountinfo', 'utf8')),
    // On v1 one level lower, below a directory per hierarchy.
    cgroups: folders('/sys/fs/cgroup')
      .flatMap((each) => [each, ...folders(each)])
      .filter((path) => mine.test(path)),
    files: [...list('/tmp'), ...list('/run'), ...list('/run/netns')].filter((path) => mine.test(path)),
    processes: listProcesses()
      .map(({ pid }) => commandLine(pid).join(' '))
      .filter((line) => mine.test(line)),
  };
}

const port = 23_456;
const kinds = new Set(['process', 'mount', 'bridge', 'cgroup', 'iptables', 'file']);
const nothing = { rules: [], links: [], mounts: [], cgroups: [], files: [], processes: [] };

describeOnRig('rig', () => {
  const rigs: Rig[] = [];
  const start = async (): Promise<Rig> => {
    const rig = await startRig();
    rigs.push(rig);
    return rig;
  };

  afterEach(async () => {
    for (const rig of rigs.splice(0)) await rig.stop();
  });

  test('runs a pod with an address, a log and a forwarded port, and leaves nothing behind', async () => {
    const rig = await start();
    const server = 'echo started; mkdir /www; echo hello > /www/index.html; exec httpd -f -p 80 -h /www';
    const pod = await runPod(rig, 'web', { command: ['sh', '-c', server], hostPort: port });
    const { status } = await rig.cri.podSandboxStatus({ podSandboxId: pod.podSandboxId });
    expect(status?.network?.ip).toMatch(new RegExp(`^${rig.workspace.prefix}\\.\\d+$`));
    const answer = await waitFor(
      async () => (await fetch(`http://127.0.0.1:${port}/`)).text(),
      'the pod to respond',
    );
    expect(answer).toBe('hello\n');
    expect(readFileSync(join(rig.workspace.dir, 'logs/web/main/0.log'), 'utf8')).toMatch(
      / stdout F started\n$/,
    );

    // Verifies that leftovers() finds every kind of resource, so that its empty result below is meaningful.
    expect(new Set((await rig.leftovers()).map((line) => line.split(' ')[0]))).toEqual(kinds);
    for (const list of Object.values(await tracesOnMachine(rig.workspace))) expect(list).not.toEqual([]);

    await rig.stop();
    expect(await rig.leftovers()).toEqual([]);
    expect(await tracesOnMachine(rig.workspace)).toEqual(nothing);
  });

  test('two rigs side by side are independent', async () => {
    const [one, other] = await Promise.all([start(), start()]);
    await Promise.all([runPod(one, 'same'), runPod(other, 'same', { hostPort: port })]);
    expect(one.workspace.prefix).not.toBe(other.workspace.prefix);
    await one.stop();
    expect(await one.leftovers()).toEqual([]);
    const { items } = await other.cri.listPodSandbox({});
    expect(items.map((item) => [item.metadata?.name, item.state])).toEqual([['same', 0]]);
    await runPod(other, 'later', { hostPort: port + 1 });
    await other.stop();
    expect(await tracesOnMachine(other.workspace)).toEqual(nothing);
  });

  test('a restarted containerd finds its containers', async () => {
    const rig = await start();
    const { containerId } = await runPod(rig, 'stays');
    await rig.containerd.stop();
    await rig.containerd.start();
    const { status } = await waitFor(() => rig.cri.containerStatus({ containerId }), 'containerd to respond');
    expect(status?.state).toBe(1);
  });

  test('a killed containerd with running and starting pods leaves nothing behind', async () => {
    const rig = await start();
    await runPod(rig, 'runs', { hostPort: port });
    const starting = [1, 2, 3].map((n) => runPod(rig, `starts-${n}`).catch(() => undefined));
    await waitFor(async () => (await rig.cri.listPodSandbox({})).items.length > 1, 'a second sandbox');
    await rig.containerd.kill9();
    await rig.stop();
    await Promise.all(starting);
    expect(await rig.leftovers()).toEqual([]);
    expect(await tracesOnMachine(rig.workspace)).toEqual(nothing);
  });

  test('the next rig clears the leftovers of a killed rig, and not those of a running one', async () => {
    const living = await start();
    const holder = spawn(
      process.execPath,
      ['tools/run-ts.mjs', 'integration/rig/hold-rig.ts', String(port)],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const workspace = await firstLine<RigWorkspace>(holder);
    const traces = findTraces(workspace);
    const ended = once(holder, 'exit');
    holder.kill('SIGKILL');
    await ended;
    const left = await findLeftovers(workspace, traces);
    const ofLeft = left.map((line) => line.split(' ')[0] ?? '');
    // Where the machine has no loop devices, the small file system is a tmpfs.
    expect(new Set(ofLeft.filter((kind) => kind !== 'loop'))).toEqual(kinds);
    expect(left).toContain(`mount ${workspace.dir}/node-fs`);
    await Promise.all([sweepDeadRigs(), sweepDeadRigs()]);
    expect(await findLeftovers(workspace, traces)).toEqual([]);
    expect((await living.cri.status({})).status?.conditions.every((one) => one.status)).toBe(true);
  });
});

async function firstLine<T>(child: ChildProcess): Promise<T> {
  for await (const chunk of child.stdout ?? []) {
    return JSON.parse(String(chunk).split('\n')[0] ?? '') as T;
  }
  throw new Error('the process exited without output');
}

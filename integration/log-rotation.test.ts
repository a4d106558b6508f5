// Rotation of container logs on a real runtime: the bound on the current file at full speed, followers across rotations, kubelets
// killed in the middle, and a full disk.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Pod } from '../src/api/k8s/types.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { logPath } from './support/container-log.ts';
import { container, manifest } from './support/manifest.ts';
import { containerIdOf, containerStatus, untilRunning } from './support/pod-state.ts';

const MiB = 1024 * 1024;

describeOnRig('log rotation', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let count = 0;
  let mounted: string | undefined;

  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  afterEach(async () => {
    if (kubelet.running) await kubelet.stop();
    await rig.removeAllPods();
    if (mounted !== undefined) execFileSync('umount', ['--lazy', mounted]);
    mounted = undefined;
  });

  const newKubelet = (config: Readonly<Record<string, unknown>>): void => {
    count += 1;
    kubelet = rig.newKubelet({
      name: `k${count}`,
      nodeName: 'node',
      config: { containerLogMonitorInterval: '3s', ...config },
    });
  };

  /** Puts the logs on a file system of their own. */
  const mountLogs = (size: string): void => {
    mkdirSync(kubelet.podLogsDir, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', kubelet.podLogsDir]);
    mounted = kubelet.podLogsDir;
  };

  /** A pod whose script waits for begin(n) with `await_ n`. */
  const run = async (script: string): Promise<Pod> => {
    const control = join(kubelet.dir, 'control');
    mkdirSync(control, { recursive: true });
    const prelude = `trap 'exit 0' TERM; await_() { while [ ! -e /control/$1 ]; do sleep 0.05; done; }\n`;
    const main = container('main', `${prelude}${script}\nwhile :; do sleep 1; done`, {
      volumeMounts: [{ name: 'control', mountPath: '/control' }],
    });
    kubelet.writeManifest(
      'writer',
      manifest('writer', {
        containers: [main],
        volumes: [{ name: 'control', hostPath: { path: control } }],
      }),
    );
    return await untilRunning(kubelet, 'writer');
  };
  const begin = (step: number): void => writeFileSync(join(kubelet.dir, 'control', String(step)), '');

  const names = (path: string): readonly string[] => readdirSync(dirname(path)).toSorted();
  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

  /** The lines of all files, oldest first. */
  const linesOf = (path: string): readonly string[] => {
    const [live = '', ...rotated] = names(path);
    const texts = [...rotated, live].map((name) => {
      const bytes = readFileSync(join(dirname(path), name));
      return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    });
    return texts.join('').trimEnd().split('\n');
  };
  const numbersOf = (lines: readonly string[]): readonly number[] =>
    lines.map((line) => Number(line.slice(line.lastIndexOf(' ') + 1)));
  const isTidy = (path: string): boolean => {
    const [live, ...rotated] = names(path);
    const newest = rotated.pop();
    return (
      live === '0.log' && newest?.endsWith('.gz') === false && rotated.every((name) => name.endsWith('.gz'))
    );
  };

  /** Follows the log over the secure port. */
  const follow = (): { readonly lines: string[]; stop(): void } => {
    const lines: string[] = [];
    let rest = '';
    const path = '/containerLogs/default/writer-node/main?follow=true';
    const request = get(
      { host: '127.0.0.1', port: kubelet.securePort, path, rejectUnauthorized: false },
      (response) => {
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          const parts = `${rest}${chunk}`.split('\n');
          rest = parts.pop() ?? '';
          lines.push(...parts);
        });
        response.on('error', () => undefined);
      },
    );
    request.on('error', () => undefined);
    return { lines, stop: () => request.destroy() };
  };

  test('a container that writes 50 MB/s stays below twice the limit', async () => {
    newKubelet({ containerLogMaxSize: '10Mi', containerLogMaxFiles: 4 });
    // Without a disk, whose journal may stall a rename for longer than a log needs to fill.
    mountLogs('400m');
    await kubelet.start();
    const line = `line=$(head -c 4000 /dev/zero | tr '\\0' x)`;
    const chunk = `for i in $(seq 600); do echo $line; done > /tmp/chunk`;
    const pod = await run(`${line}\n${chunk}\nawait_ 1\nwhile :; do cat /tmp/chunk; usleep 35000; done`);
    const path = logPath(kubelet, pod);
    let [largest, mostFiles, written, samples, worstPauseMs] = [0, 0, 0, 0, 0];
    let before = { ino: 0, size: 0 };
    begin(1);
    const startMs = performance.now();
    for (; performance.now() - startMs < 10_000; samples++) {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found !== undefined) {
        if (found.ino !== before.ino) written += before.size;
        before = found;
        largest = Math.max(largest, found.size);
      }
      if (samples % 10 === 0) mostFiles = Math.max(mostFiles, names(path).length);
      const sleptAtMs = performance.now();
      await sleep(20);
      worstPauseMs = Math.max(worstPauseMs, performance.now() - sleptAtMs - 20);
    }
    const mbPerSecond = written / (performance.now() - startMs) / 1000;
    const text = `${(largest / MiB).toFixed(1)} MiB at ${mbPerSecond.toFixed(0)} MB/s, pauses of ${worstPauseMs.toFixed(0)} ms`;
    // On a machine that suspends processes for longer than a few samples, the kubelet is late as well.
    const lateBytes = worstPauseMs < 100 ? 0 : 60_000 * worstPauseMs;
    expect(largest, text).toBeLessThan(20 * MiB + lateBytes);
    expect(mbPerSecond, text).toBeGreaterThan(5);
    expect(mostFiles).toBeLessThanOrEqual(5);
  });

  test('a follower gets every line once and in order across rotations', async () => {
    newKubelet({ containerLogMaxSize: '1Mi', containerLogMaxFiles: 5 });
    await kubelet.start();
    const total = 200_000;
    const pod = await run(
      `await_ 1\ni=0; while [ $i -lt 40 ]; do seq $((i*5000+1)) $((i*5000+5000)); i=$((i+1)); sleep 0.1; done`,
    );
    const follower = follow();
    await sleep(500);
    begin(1);
    await waitFor(() => follower.lines.length >= total, `${total} lines`, 40_000);
    follower.stop();
    const wrong = follower.lines.findIndex((line, index) => line !== String(index + 1));
    expect([wrong, follower.lines.length]).toEqual([-1, total]);
    const path = logPath(kubelet, pod);
    await waitFor(() => isTidy(path), 'compressed files', 20_000);
    expect(names(path)).toHaveLength(5);
  });

  test('kubelets killed in the middle of rotations lose no line and leave no file', async () => {
    newKubelet({ containerLogMaxSize: '64Ki', containerLogMaxFiles: 10 });
    await kubelet.start();
    const pod = await run(
      `await_ 1\ni=0; while [ ! -e /control/2 ]; do seq $((i*1000+1)) $((i*1000+1000)); i=$((i+1)); sleep 0.05; done`,
    );
    const path = logPath(kubelet, pod);
    begin(1);
    for (let kill = 0; kill < 12; kill++) {
      const rotations = names(path).at(-1);
      await waitFor(() => names(path).at(-1) !== rotations, 'a rotation', { timeoutMs: 20_000, everyMs: 1 });
      await sleep(kill * 7);
      await kubelet.kill9();
      await kubelet.start({ untilReady: false });
    }
    begin(2);
    await kubelet.waitUntilReady();
    await waitFor(() => isTidy(path), `a tidy directory, not ${names(path).join(' ')}`, 20_000);
    const numbers = numbersOf(linesOf(path));
    const first = numbers[0] ?? 0;
    expect(numbers.findIndex((number, index) => number !== first + index)).toBe(-1);
    expect(numbers.length).toBeGreaterThan(1_000);
    expect(names(path).length).toBeLessThanOrEqual(10);
    const after = await untilRunning(kubelet, 'writer');
    expect(containerIdOf(after)).toBe(containerIdOf(pod));
    expect(containerStatus(after).restartCount).toBe(0);
  });

  test('a full disk delays the compression, not the rotation', async () => {
    newKubelet({ containerLogMaxSize: '1Mi', containerLogMaxFiles: 4 });
    mountLogs('8m');
    await kubelet.start();
    const pod = await run('await_ 1; seq 1 25000; await_ 2; seq 25001 50000; await_ 3; seq 50001 50010');
    const path = logPath(kubelet, pod);
    begin(1);
    await waitFor(() => names(path).length === 2, 'the first rotation');
    await kubelet.stop();
    begin(2);
    await waitFor(() => sizeOf(path) > 1.02 * MiB, 'a full log');
    const filler = join(kubelet.podLogsDir, 'filler');
    execFileSync('sh', ['-c', `head -c 16777216 /dev/zero > ${filler} || true`], { stdio: 'ignore' });
    await kubelet.start();
    await waitFor(() => names(path).length === 3 && sizeOf(path) === 0, 'the second rotation');
    await waitFor(() => kubelet.log.lines().some((line) => line.includes('Failed to compress')), 'a warning');
    expect(names(path).filter((name) => /\.(gz|tmp)$/.test(name))).toEqual([]);
    rmSync(filler);
    begin(3);
    await waitFor(() => isTidy(path), 'the compression', 30_000);
    await waitFor(() => linesOf(path).length >= 50_010, 'the last lines');
    expect(numbersOf(linesOf(path))).toEqual(Array.from({ length: 50_010 }, (_, index) => index + 1));
  });
});

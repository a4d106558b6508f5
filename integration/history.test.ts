// The history of ends on real containers: causes, log lines, and records that outlive the pod and a killed kubelet.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { EndRecord } from '../src/history/end-record.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, manifest } from './support/manifest.ts';
import { untilNoPod, untilRunning } from './support/pod-state.ts';
import { killTask, untilRuntimePod } from './support/runtime-pods.ts';

describeOnRig('history of ends', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  let count = 0;
  beforeAll(async () => {
    rig = await startRig();
  });
  afterAll(() => rig.stop());
  beforeEach(async () => {
    count += 1;
    kubelet = rig.newKubelet({ name: `k${count}`, nodeName: 'node' });
    await kubelet.start();
  });
  afterEach(async () => {
    if (kubelet.running) await kubelet.stop();
    await rig.removeAllPods();
  });

  async function records(query = ''): Promise<readonly EndRecord[]> {
    const { status, text } = await kubelet.secure(`/explain/history${query}`);
    if (status !== 200) throw new Error(`${status}: ${text}`);
    return (JSON.parse(text) as { readonly records: readonly EndRecord[] }).records;
  }
  const of = (name: string): Promise<readonly EndRecord[]> => records(`?pod=default/${name}-node`);
  const untilRecords = (name: string, least = 1): Promise<readonly EndRecord[]> =>
    waitFor(
      async () => {
        const found = await of(name);
        return found.length >= least && found;
      },
      `${least} records of ${name}`,
      30_000,
    );

  test('an OOM kill, an error, a crash loop, a start error and a rejected pod have their causes', async () => {
    const never = { restartPolicy: 'Never' };
    const resources = { limits: { memory: '32Mi' } };
    kubelet.writeManifest(
      'oom',
      manifest('oom', {
        ...never,
        containers: [container('main', 'echo eating; exec tail /dev/zero', { resources })],
      }),
    );
    kubelet.writeManifest(
      'fails',
      manifest('fails', {
        ...never,
        containers: [container('main', 'seq 1 30; sleep 0.2; echo to stderr >&2; exit 3')],
      }),
    );
    kubelet.writeManifest(
      'loops',
      manifest('loops', { containers: [container('main', 'echo again; exit 1')] }),
    );
    kubelet.writeManifest(
      'absent',
      manifest('absent', { ...never, containers: [container('main', '', { command: ['/nope'] })] }),
    );
    const tooMuch = { requests: { cpu: '1000' } };
    kubelet.writeManifest(
      'big',
      manifest('big', { containers: [container('main', '', { resources: tooMuch })] }),
    );

    const [fails] = await untilRecords('fails');
    expect(fails).toMatchObject({
      kind: 'exit',
      cause: 'Container main exited with an error (exit code 3).',
      exitCode: 3,
      reason: 'Error',
      figures: { restartCount: 0, nodefsAvailableBytes: expect.any(Number) },
    });
    expect(fails?.lastLines).toHaveLength(20);
    expect(fails?.lastLines).toEqual(
      expect.arrayContaining([...Array.from({ length: 19 }, (_, i) => String(i + 12)), 'to stderr']),
    );
    expect(fails?.timeline.map(({ what }) => what)).toEqual(
      expect.arrayContaining(['sandbox created', 'container created', 'container started']),
    );
    const [absent] = await untilRecords('absent');
    expect(absent?.cause).toMatch(/^Container main could not be started: .*\/nope/);
    const [big] = await untilRecords('big');
    expect(big).toMatchObject({
      kind: 'rejected',
      cause: expect.stringMatching(/^The kubelet rejected the pod \(/),
    });
    const loops = await untilRecords('loops', 2);
    expect(new Set(loops.map(({ containerId }) => containerId)).size).toBe(loops.length);
    expect(loops.at(-1)?.lastLines).toEqual(['again']);
    const [oom] = await untilRecords('oom');
    expect(oom).toMatchObject({
      kind: 'oom',
      cause:
        'Container main was killed by the kernel because it exceeded its memory limit of 32Mi (exit code 137, SIGKILL).',
      figures: { memoryLimit: '32Mi' },
      signal: 'SIGKILL',
      lastLines: ['eating'],
    });
    const readOnly = await kubelet.get(kubelet.readOnlyPort, '/explain/history');
    expect(readOnly.status).toBe(404);
    const mode = (path: string): number => statSync(join(kubelet.rootDir, path)).mode & 0o777;
    expect([mode('history'), mode('history/00000001.jsonl')]).toEqual([0o700, 0o600]);
  });

  test('hostile output stays within the bounds of a record', async () => {
    const script = "head -c 10485760 /dev/zero | tr '\\0' x; echo; head -c 3000 /dev/urandom; exit 1";
    kubelet.writeManifest(
      'noise',
      manifest('noise', { restartPolicy: 'Never', containers: [container('main', script)] }),
    );
    const [noise] = await untilRecords('noise');
    expect(Buffer.byteLength(JSON.stringify(noise))).toBeLessThan(33_000);
    expect(noise?.exitCode).toBe(1);
    for (const line of noise?.lastLines ?? []) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(1024);
  });

  test('a deleted pod is recorded with its last lines, and served after it is gone', async () => {
    const greets = "trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 2147483647 & wait $!; done";
    kubelet.writeManifest('gone', manifest('gone', { containers: [container('main', greets)] }));
    await untilRunning(kubelet, 'gone');
    kubelet.removeManifest('gone');
    await untilNoPod(kubelet, 'gone');
    const [gone] = await untilRecords('gone');
    expect(gone).toMatchObject({
      cause: 'Container main was stopped because the pod was removed from its source (exit code 0).',
      lastLines: ['hello', 'bye'],
    });
  });

  test('a killed kubelet keeps its records, repeats none, and adds what ended meanwhile', async () => {
    kubelet.writeManifest(
      'before',
      manifest('before', { restartPolicy: 'Never', containers: [container('main', 'exit 7')] }),
    );
    kubelet.writeManifest('during', manifest('during', { restartPolicy: 'Never' }));
    await untilRunning(kubelet, 'during');
    await untilRecords('before');
    const { containers } = await untilRuntimePod(
      rig,
      kubelet,
      'during',
      'one container',
      (pod) => pod.containers.length === 1,
    );
    await kubelet.kill9();
    await killTask(rig, containers[0]?.id ?? '');
    await kubelet.start();
    const [during] = await untilRecords('during');
    expect(during?.cause).toBe('Container main was terminated by SIGKILL (exit code 137).');
    await kubelet.stop();
    await kubelet.start();
    kubelet.writeManifest(
      'after',
      manifest('after', { restartPolicy: 'Never', containers: [container('main', 'exit 8')] }),
    );
    await untilRecords('after');
    expect((await records()).map(({ exitCode, pod }) => [pod, exitCode])).toEqual([
      ['after-node', 8],
      ['during-node', 137],
      ['before-node', 7],
    ]);
  });
});

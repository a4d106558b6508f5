// The stream of the node's page of the built kubelet, over TLS: usage read from real cgroups, a real crash, and the end of the stream.
import type { ClientRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventStreamClient } from '../test/clients/event-stream-client.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { container, manifest } from './support/manifest.ts';

describeOnRig('stream of the node page', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const requests: ClientRequest[] = [];
  beforeAll(async () => {
    rig = await startRig();
    kubelet = rig.newKubelet({ nodeName: 'node' });
    await kubelet.start();
  });
  afterAll(async () => {
    for (const request of requests) request.destroy();
    await rig.stop();
  });

  function connect(query: string): Promise<EventStreamClient> {
    const path = `/ui/api/stream?${query}`;
    const target = {
      host: '127.0.0.1',
      port: kubelet.securePort,
      path,
      rejectUnauthorized: false,
      agent: false,
    };
    return new Promise((resolve, reject) => {
      const request = httpsRequest(target, (response) => {
        response.on('error', () => undefined);
        const status = response.statusCode ?? 0;
        resolve(new EventStreamClient({ status, headers: {}, body: response }).read());
      });
      request.on('error', reject);
      request.end();
      requests.push(request);
    });
  }

  test('usage is that of the pod, a crash is seen, and a stopping kubelet ends the stream', async () => {
    kubelet.writeManifest(
      'busy',
      manifest('busy', {
        containers: [container('main', 'while :; do :; done', { resources: { limits: { cpu: '200m' } } })],
      }),
    );
    const client = await connect('health=1');
    const row = (name: string) => [...client.rows.values()].find((each) => each.name === name);
    await waitFor(() => row('busy-node')?.tone === 'good', 'the pod to be ready', { timeoutMs: 60_000 });
    const uid = row('busy-node')?.uid ?? '';
    const usage = await waitFor(
      () => {
        const [cpuMillis, memoryBytes] = client.latest('usage').pods[uid] ?? [null, null];
        return cpuMillis !== null && memoryBytes !== null && cpuMillis > 20 && { cpuMillis, memoryBytes };
      },
      'usage of the pod',
      { timeoutMs: 60_000 },
    );
    expect(usage.cpuMillis).toBeLessThan(400);
    expect(usage.memoryBytes).toBeGreaterThan(10_000);
    expect(client.latest('usage').node[1]).toBeGreaterThan(usage.memoryBytes);
    const node = await waitFor(
      () => (client.latest('node').disks.length > 0 ? client.latest('node') : undefined),
      'the disks to be measured',
      { timeoutMs: 30_000 },
    );
    expect(node).toMatchObject({
      ready: { ok: true },
      runtime: { name: 'containerd', ok: true },
      pods: { running: 1 },
    });
    expect(node.certificates.map(({ name }) => name)).toEqual(['serving']);
    expect(node.memory.thresholds).toMatchObject([{ kind: 'hard', available: 100 * 1024 ** 2 }]);
    expect(client.latest('health').openFiles).toBeGreaterThan(5);

    kubelet.writeManifest(
      'crash',
      manifest('crash', { containers: [container('main', 'echo failing; exit 3')] }),
    );
    await waitFor(() => row('crash-node')?.status === 'CrashLoopBackOff', 'the crash', { timeoutMs: 60_000 });
    const detail = await connect(`pod=${row('crash-node')?.uid ?? ''}`);
    const end = await waitFor(
      () =>
        detail
          .all('pod')
          .at(-1)
          ?.ends.find(({ exitCode }) => exitCode === 3),
      'the end in the history',
      { timeoutMs: 30_000 },
    );
    expect(end.lastLines).toEqual(['failing']);

    await kubelet.stop();
    await waitFor(() => client.hasEnded && detail.hasEnded, 'the streams to end', { timeoutMs: 10_000 });
    expect([client, detail].map((each) => each.latest('bye').why)).toEqual([
      'the kubelet is stopping',
      'the kubelet is stopping',
    ]);
  });
});

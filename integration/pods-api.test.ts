// The Pods API of the built command on its socket, with grpc-js as the client: lists, watches, restarts, slow clients.
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { PodsGrpcClient } from '../test/clients/pods-grpc-client.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import type { Rig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import type { Cluster } from './support/cluster.ts';
import { manifest } from './support/manifest.ts';
import { uidOf, untilRunning } from './support/pod-state.ts';
import { useClusterNode, useNode } from './support/suite-node.ts';

const opened: PodsGrpcClient[] = [];
const socketOf = (kubelet: Kubelet): string => join(kubelet.rootDir, 'pods-api', 'pods-api.sock');

function connect(kubelet: Kubelet): PodsGrpcClient {
  const client = new PodsGrpcClient(socketOf(kubelet));
  opened.push(client);
  return client;
}

afterEach(() => {
  for (const client of opened.splice(0)) client.close();
});

const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'OK',
    (err: Error) => err.message,
  );

async function metric(kubelet: Kubelet, line: string): Promise<number> {
  const { text } = await kubelet.secure('/metrics');
  const found = text.split('\n').find((each) => each.startsWith(`${line} `));
  return Number(found?.slice(line.length + 1) ?? 0);
}

describeOnRig('pods api', () => {
  let rig: Rig;
  let kubelet: Kubelet;
  const pods = useNode((node) => {
    ({ kubelet, rig } = node);
  });

  test('lists, gets and watches a pod from its start to its end', async () => {
    const client = connect(kubelet);
    expect(await client.list()).toEqual([]);
    const watch = client.watch();
    await waitFor(() => watch.lines.length === 1, 'the initial list', 5_000);
    pods.write('web', manifest('web'));
    const pod = await untilRunning(kubelet, 'web');
    const name = pod.metadata?.name ?? '';
    expect(await client.list()).toEqual([`${name} Running True`]);
    expect(await client.get(uidOf(pod))).toMatchObject({
      name,
      namespace: 'default',
      containers: 1,
      phase: 'Running',
    });
    expect(await failureOf(client.get('none'))).toBe('NOT_FOUND: pod with UID none not found');
    await waitFor(
      () => watch.lines.at(-1) === `MODIFIED ${name} Running Ready=True`,
      'the pod to be ready',
      5_000,
    );
    expect(watch.lines.slice(0, 2)).toEqual(['INITIAL_SYNC_COMPLETE', `ADDED ${name} Pending`]);
    pods.remove('web');
    await waitFor(() => watch.lines.at(-1) === `DELETED ${name}`, 'the end of the pod', 20_000);
    expect(await client.list()).toEqual([]);
    watch.cancel();
    expect(await watch.ended).toMatch(/^CANCELLED/);
    const of = (code: string): string => `{server_api_version="v1alpha1",status_code="${code}"}`;
    expect(await metric(kubelet, `kubelet_pod_requests_list_total${of('OK')}`)).toBe(3);
    expect(await metric(kubelet, `kubelet_pod_requests_get_total${of('NotFound')}`)).toBe(1);
    await waitFor(
      async () => (await metric(kubelet, `kubelet_pod_requests_watch_total${of('Canceled')}`)) === 1,
      'the watch to be counted',
      5_000,
    );
  });

  test('admits root alone, replaces the socket of a killed kubelet, and ends watches when it stops', async () => {
    pods.write('kept', manifest('kept'));
    const name = (await untilRunning(kubelet, 'kept')).metadata?.name;
    expect(mode(join(kubelet.rootDir, 'pods-api'))).toBe('750');
    expect([statSync(socketOf(kubelet)).isSocket(), mode(socketOf(kubelet))]).toEqual([true, '755']);
    const client = connect(kubelet);
    const cut = client.watch();
    await waitFor(() => cut.lines.length === 2, 'the initial list', 5_000);
    await kubelet.kill9();
    expect(await cut.ended).toMatch(/^UNAVAILABLE/);
    expect(statSync(socketOf(kubelet)).isSocket()).toBe(true);
    await kubelet.start();
    const again = connect(kubelet);
    await waitFor(async () => (await again.list()).join() === `${name} Running True`, 'the list', 10_000);
    const ended = again.watch();
    await waitFor(() => ended.lines.length === 2, 'the initial list', 5_000);
    expect(await kubelet.stop()).toEqual({ code: 0, signal: null });
    expect(await ended.ended).toBe('UNAVAILABLE: the server is shutting down');
    await kubelet.start();
    await waitFor(async () => (await again.list()).join() === `${name} Running True`, 'the list', 10_000);
  });

  test('answers with FAILED_PRECONDITION until every source has reported', async () => {
    let isUp = false;
    const server = createServer((_, response) => {
      response.writeHead(isUp ? 200 : 503).end(JSON.stringify(isUp ? manifest('late') : {}));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const late = await rig.kubelet({
      name: 'late',
      flags: [`--manifest-url=http://127.0.0.1:${port}/`, '--http-check-frequency=1s'],
    });
    try {
      await waitFor(() => existsSync(socketOf(late)), 'the socket', 5_000);
      const client = connect(late);
      const initializing = 'FAILED_PRECONDITION: Kubelet is initializing';
      expect(await failureOf(client.list())).toBe(initializing);
      expect(await failureOf(client.get('x'))).toBe(initializing);
      expect(await client.watch().ended).toBe(initializing);
      isUp = true;
      await waitFor(async () => (await client.list()).length === 1, 'the pod of the URL', 20_000);
    } finally {
      await late.stop();
      server.close();
      server.closeAllConnections();
    }
  });
});

describeOnRig('pods api in a cluster', () => {
  let cluster: Cluster;
  let kubelet: Kubelet;
  useClusterNode((node) => {
    ({ cluster, kubelet } = node);
  });

  test('drops a watcher that does not read, and no other', async () => {
    cluster.createPod(manifest('big', { metadata: { annotations: { text: 'x'.repeat(100_000) } } }));
    await cluster.untilReady('big');
    const slow = connect(kubelet).watch();
    const fast = connect(kubelet).watch();
    await waitFor(() => slow.lines.length === 2 && fast.lines.length === 2, 'the initial lists', 10_000);
    slow.pause();
    const rssBefore = kubelet.usage().rssBytes;
    for (let at = 0; at < 200; at++) {
      const before = fast.lines.length;
      const pod = cluster.double.objects.get('pods', 'default', 'big');
      if (pod === undefined) throw new Error('no pod big');
      const labels = { at: String(at) };
      cluster.double.objects.update('pods', { ...pod, metadata: { ...pod.metadata, labels } });
      await waitFor(() => fast.lines.length > before, `event ${at}`, 10_000);
    }
    expect(await metric(kubelet, 'kubelet_pod_watch_events_dropped_total')).toBe(1);
    // At most 100 events of 100 kB are held for it; the rest is the kubelet's own work.
    expect(kubelet.usage().rssBytes - rssBefore).toBeLessThan(150_000_000);
    slow.resume();
    expect(await slow.ended).toBe('RESOURCE_EXHAUSTED: watch client channel closed');
    expect(slow.lines.length).toBeLessThan(100);
    fast.cancel();
    expect(await fast.ended).toMatch(/^CANCELLED/);
  });
});

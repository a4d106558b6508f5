// Proofs of the fields about connections, on the real edges as assembly plugs them: loopback and unix sockets.
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { openEdges } from '../../../../src/assemble/edges.ts';
import type { AssembleInput } from '../../../../src/assemble/input.ts';
import { realClock } from '../../../../src/base/clock.ts';
import { silentLogger } from '../../../../src/base/log/log.ts';
import { Metrics } from '../../../../src/base/metrics.ts';
import { Duration } from '../../../../src/config/duration.ts';
import { defaultGates } from '../../../../src/config/gates/feature-gates.ts';
import { LiveConfiguration } from '../../../../src/config/live/live-configuration.ts';
import { legacyConfiguration } from '../../../../src/config/load/complete.ts';
import { defaultsOf } from '../../../../src/config/schema.ts';
import type { KubeletConfiguration } from '../../../../src/config/table/kubelet-configuration.ts';
import { kubeletFlags } from '../../../../src/config/table/kubelet-flags.ts';
import { realEdges } from '../../../../src/edge/real-edges.ts';
import { loadCluster } from '../../../../src/entry/open-cluster.ts';
import type { KubeletMetrics } from '../../../../src/metrics/kubelet-metrics.ts';
import { streamProxyOptions } from '../../../../src/server/streams/stream-handlers.ts';
import { kubeconfigText } from '../../../api-server/kubeconfig-text.ts';
import { failureOf } from '../../../fake-cri/failure-of.ts';
import { hang, SocketRig } from '../../../fake-cri/socket-rig.ts';
import { FakeClock } from '../../../fakes/fake-clock.ts';
import type { Proofs } from './rig.ts';

const { signal } = new AbortController();
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A configuration that can change, as assembly gets it. */
function aLiveConfig(config: Partial<KubeletConfiguration> = {}) {
  const live = new LiveConfiguration({ ...legacyConfiguration({}), ...config });
  const change = (to: Partial<KubeletConfiguration>): void => void live.apply({ ...live.current(), ...to });
  return { view: live.view, change };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** A client of an API server that counts the requests, on a clock that the test advances. */
async function anApiServer(config: Partial<KubeletConfiguration>) {
  const live = aLiveConfig(config);
  const clock = new FakeClock();
  let arrived = 0;
  const server = createServer((_request, response) => {
    arrived++;
    response.end('{}');
  });
  const directory = mkdtempSync(join(tmpdir(), 'kubelet-live-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const kubeconfig = join(directory, 'kubelet.conf');
  const url = `http://127.0.0.1:${await listening(server)}`;
  writeFileSync(kubeconfig, kubeconfigText({ front: { url }, token: 'none' }));
  const flags = { ...defaultsOf(kubeletFlags), kubeconfig };
  const from = {
    flags,
    gates: defaultGates,
    version: 'v1',
    nodeName: 'n',
    random: () => 0.5,
    log: silentLogger,
  };
  const open = await loadCluster({ ...from, config: legacyConfiguration({}), clock });
  const ignore = (): undefined => undefined;
  const observer = { request: ignore, responded: ignore, waited: ignore, retried: ignore };
  const opened = open(observer, new Metrics(), { inForce: live.view });
  const { client } = opened;
  onTestFinished(() => opened.close());
  /** Five requests at once. */
  const send = (): void => {
    for (let at = 0; at < 5; at++) client.get('/version', { signal }).catch(() => undefined);
  };
  /** The number of requests so far is, and stays, this. */
  const expectArrived = async (count: number): Promise<void> => {
    await expect.poll(() => arrived, { timeout: 10_000 }).toBe(count);
    await pause(50);
    expect(arrived).toBe(count);
  };
  return { ...live, clock, expectArrived, send };
}

/** A port of the kubelet that proxies to a streaming server that stays silent. */
async function aStreamPort(view: KubeletConfiguration): Promise<() => Promise<Socket>> {
  const backend = createServer();
  backend.on('upgrade', (_request, socket) => {
    socket.on('error', () => undefined);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
  });
  const proxyTo = `http://127.0.0.1:${await listening(backend)}/`;
  const proxy = realEdges(realClock, import.meta.url, undefined).upgradeProxy(
    streamProxyOptions(view, silentLogger),
  );
  const front = createServer();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  front.on('upgrade', (request, socket, head) => void proxy(request, socket, head, { proxyTo }, stop.signal));
  const port = await listening(front);
  return async () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    await once(socket, 'data');
    return socket;
  };
}

export const connectionProofs: Proofs = {
  kubeAPIQPS: async () => {
    const it = await anApiServer({ kubeAPIQPS: 1, kubeAPIBurst: 1 });
    it.send();
    await it.expectArrived(1);
    it.change({ kubeAPIQPS: 50 });
    await it.clock.advance(2_000);
    await it.expectArrived(5);
  },
  kubeAPIBurst: async () => {
    const it = await anApiServer({ kubeAPIQPS: 1, kubeAPIBurst: 1 });
    it.send();
    await it.expectArrived(1);
    await it.clock.advance(60_000);
    await it.expectArrived(5);
    it.change({ kubeAPIBurst: 10 });
    await it.clock.advance(60_000);
    it.send();
    await it.expectArrived(10);
  },
  runtimeRequestTimeout: async () => {
    const rig = await SocketRig.make();
    onTestFinished(() => rig.end());
    await rig.serve({ listContainers: hang });
    const live = aLiveConfig({ containerRuntimeEndpoint: `unix://${rig.path}` });
    const { cri } = realEdges(realClock, import.meta.url, undefined);
    const input: Pick<AssembleInput, 'clock' | 'config' | 'gates' | 'log'> = {
      clock: realClock,
      config: live.view,
      gates: { ...defaultGates, CRIListStreaming: false },
      log: silentLogger,
    };
    const machine = { hugePageSizes: [] } as unknown as AssembleInput['machine'];
    const edges = { cri, cgroups: () => undefined } as unknown as AssembleInput['edges'];
    const metrics = { observeRuntime: () => undefined } as unknown as KubeletMetrics;
    const opened = openEdges({ ...input, machine, edges, cluster: undefined }, metrics);
    onTestFinished(opened.close);
    // With the timeout of the start, 2 minutes, the call would outlive the test.
    live.change({ runtimeRequestTimeout: Duration.ofMs(50) });
    expect(await failureOf(opened.cri.listContainers({}))).toMatchObject({ kind: 'timeout' });
  },
  streamingConnectionIdleTimeout: async () => {
    const live = aLiveConfig();
    const open = await aStreamPort(live.view);
    const early = await open();
    live.change({ streamingConnectionIdleTimeout: Duration.ofMs(50) });
    const late = await open();
    await once(late, 'close');
    expect([early.destroyed, late.destroyed]).toEqual([false, true]);
    early.destroy();
  },
};

// Traces of the built kubelet on a real containerd, received by a collector over OTLP/gRPC.
import { request as httpsRequest } from 'node:https';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CollectedSpan, OtlpCollector } from '../test/fakes/otlp-collector.ts';
import type { Kubelet } from './rig/kubelet.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { manifest } from './support/manifest.ts';
import { containerIdOf, containerStatus, untilRunning } from './support/pod-state.ts';
import { StallingCri } from './support/stalling-cri.ts';

const nodeName = 'node1';
const runtime = 'runtime.v1.RuntimeService';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

describeOnRig('tracing', () => {
  let rig: Rig;
  let collector: OtlpCollector;
  let cluster: Cluster;
  /** Between the kubelet and containerd; has the headers of each call. */
  let cri: StallingCri;
  let kubelet: Kubelet;

  beforeAll(async () => {
    rig = await startRig({ registry: false });
    collector = await OtlpCollector.start();
    cluster = await startCluster(rig, nodeName);
    cri = new StallingCri(rig);
    await cri.start();
    kubelet = await rig.kubelet({
      nodeName,
      flags: [`--container-runtime-endpoint=unix://${cri.socket}`, `--kubeconfig=${cluster.kubeconfig}`],
      config: { tracing: { endpoint: collector.endpoint, samplingRatePerMillion: 1_000_000 } },
      env: { OTEL_BSP_SCHEDULE_DELAY: '50' },
    });
  });
  afterAll(async () => {
    await rig.stop();
    await cri.stop();
    await cluster.stop();
    await collector.end();
  });

  /** The first sync of the pod that made the sandbox. */
  const untilStarted = (podName: string): Promise<CollectedSpan> =>
    waitFor(
      () =>
        collector
          .named('syncPod')
          .find((span) => span.attributes['k8s.pod.name'] === `${podName}-${nodeName}`),
      `the trace of ${podName}`,
    );

  test('the start of a pod is a trace with its CRI calls, which the runtime can continue', async () => {
    kubelet.writeManifest('first', manifest('first'));
    const pod = await untilRunning(kubelet, 'first');
    const sync = await untilStarted('first');
    expect(sync).toMatchObject({
      resource: { 'service.name': 'kubelet', 'host.name': nodeName },
      scope: 'k8s.io/kubernetes/pkg/kubelet',
      parentId: '',
      kind: 1,
      attributes: {
        'k8s.pod.uid': pod.metadata?.uid,
        'k8s.pod': `default/first-${nodeName}`,
        'k8s.namespace.name': 'default',
        'k8s.pod.update_type': 'create',
      },
      status: 0,
    });
    for (const method of ['RunPodSandbox', 'CreateContainer', 'StartContainer']) {
      const call = await waitFor(
        () => collector.named(`${runtime}/${method}`).find((span) => span.traceId === sync.traceId),
        `the span of ${method}`,
      );
      expect(call).toMatchObject({
        parentId: sync.spanId,
        kind: 3,
        attributes: {
          'rpc.system.name': 'grpc',
          'rpc.method': `${runtime}/${method}`,
          'rpc.response.status_code': 'OK',
        },
      });
      const received = cri.calls.map(({ headers }) => headers['traceparent']);
      expect(received).toContain(`00-${call.traceId}-${call.spanId}-01`);
    }
  });

  test('requests to the API server are traces', async () => {
    const path = `https://127.0.0.1:${cluster.port}/api/v1/nodes/${nodeName}`;
    const isNode = (span: CollectedSpan): boolean => String(span.attributes['url.full']).startsWith(path);
    const span = await waitFor(() => collector.named('HTTP GET').find(isNode), 'a request for the node');
    expect(span).toMatchObject({ kind: 3, attributes: { 'server.address': '127.0.0.1' } });
  });

  test('the secure port continues the trace of its client, the read-only port links to it', async () => {
    await new Promise<void>((resolve, reject) => {
      const options = {
        port: kubelet.securePort,
        path: '/pods',
        headers: { traceparent },
        rejectUnauthorized: false,
      };
      const request = httpsRequest(options, (response) => response.resume().on('end', resolve));
      request.on('error', reject).end();
    });
    await fetch(`http://127.0.0.1:${kubelet.readOnlyPort}/metrics`, { headers: { traceparent } });
    const secure = await waitFor(
      () => collector.named('/pods/').find((span) => span.traceId === traceId),
      'the span of the secure port',
    );
    expect(secure).toMatchObject({
      kind: 2,
      attributes: { 'http.route': '/pods/', 'url.path': '/pods', 'http.response.status_code': 200 },
    });
    const [open] = await waitFor(() => {
      const found = collector.named('/metrics');
      return found.length > 0 && found;
    }, 'the span of the read-only port');
    expect(open).toMatchObject({ links: [traceId], parentId: '' });
  });

  test('a collector that is killed affects neither the kubelet nor its pods, and is used again when it is back', async () => {
    const before = await untilRunning(kubelet, 'first');
    const { pid } = kubelet;
    const from = kubelet.log.end;
    await collector.close();
    kubelet.writeManifest('meanwhile', manifest('meanwhile'));
    await untilRunning(kubelet, 'meanwhile');
    await kubelet.log.waitForLine(/Failed to export traces/, { timeoutMs: 30_000 });
    expect((await kubelet.healthz()).status).toBe(200);

    await collector.open();
    await kubelet.log.waitForLine(/Exporting traces again/, { timeoutMs: 60_000 });
    kubelet.writeManifest('after', manifest('after'));
    await untilRunning(kubelet, 'after');
    await untilStarted('after');
    expect(kubelet.log.matching(/Failed to export traces/, from)).toHaveLength(1);
    const first = await untilRunning(kubelet, 'first');
    expect([kubelet.pid, containerIdOf(first)]).toEqual([pid, containerIdOf(before)]);
    expect(containerStatus(first).restartCount).toBe(0);
  });

  test('a kubelet that stops exports its last spans; containerd itself accepts the trace headers', async () => {
    await kubelet.stop();
    const next = await rig.kubelet({
      nodeName,
      config: { tracing: { endpoint: collector.endpoint, samplingRatePerMillion: 1_000_000 } },
      env: { OTEL_BSP_SCHEDULE_DELAY: '3600000' },
    });
    collector.spans.length = 0;
    next.writeManifest('last', manifest('last'));
    await untilRunning(next, 'last');
    expect(await next.stop()).toEqual({ code: 0, signal: null });
    const sync = await untilStarted('last');
    const call = collector.named(`${runtime}/RunPodSandbox`).find((span) => span.traceId === sync.traceId);
    expect(call?.attributes['rpc.response.status_code']).toBe('OK');
    expect(
      collector.named(`${runtime}/ListPodSandbox`).filter((span) => span.traceId === sync.traceId),
    ).toEqual([]);
  });
});

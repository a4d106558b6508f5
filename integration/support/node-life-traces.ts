// The traces of a node with one pod whose container fails to start at first, restarts and ends, and of requests to the kubelet's ports: what a collector gets and
// what the runtime and the API server get to continue. In a form in which two kubelets can be compared: without times, IDs, names of
// the rig, and how often something happens.
import { request as httpsRequest } from 'node:https';
import { rpcError } from '../../test/fake-cri/rpc-error.ts';
import type { CollectedSpan } from '../../test/fakes/otlp-collector.ts';
import { waitFor } from '../rig/wait.ts';
import { manifest } from './manifest.ts';
import { type LifeNode, nodeName } from './node-life-node.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const secure = [
  '/pods',
  '/metrics',
  '/healthz',
  '/configz',
  '/stats/summary',
  '/runningpods/',
  '/logs/',
  '/containerLogs/default/web/main',
  '/unknown',
];
const readOnly = ['/pods', '/metrics', '/healthz', '/stats/summary', '/unknown'];
/** Calls that change something. Which lists and statuses a kubelet reads, and when, is its own affair. */
const acts = /\/(?:RunPodSandbox|CreateContainer|StartContainer|StopContainer|StopPodSandbox|ImageStatus)$/;
const syncs: readonly string[] = ['syncPod', 'syncTerminatingPod', 'syncTerminatedPod'];

export interface Traces {
  readonly resources: readonly string[];
  /** Of the spans of the kubelet's own work, by name: attributes, status. */
  readonly work: readonly string[];
  /** Of all calls of the runtime, of all requests to the API server: attributes and status, successful or not. */
  readonly calls: readonly string[];
  readonly requests: readonly string[];
  /** Of requests to the ports: scheme, path, name, pattern, attributes, links. */
  readonly served: readonly string[];
  /** Calls that change something, with the span that they belong to. */
  readonly children: readonly string[];
  /** The headers with which the runtime and the API server can continue. */
  readonly headers: readonly string[];
}

/** Runs the pod and asks the ports, and returns what became of it once all of it has arrived. */
export async function showTraces(node: LifeNode): Promise<Traces> {
  const { cluster, collector, cri, rig } = node.parts;
  cri.faults.fail('createContainer', rpcError('UNKNOWN', 'no room today'));
  const restarts = (count: number): Promise<unknown> =>
    cluster.untilPod('web', `to have ${count} restarts`, ({ containerStatuses = [] }) =>
      containerStatuses.some(({ ready, restartCount }) => ready && restartCount === count),
    );
  cluster.createPod(manifest('web'));
  await restarts(0);
  const { containerStatuses = [] } = cluster.pod('web')?.status ?? {};
  const containerId = (containerStatuses[0]?.containerID ?? '').replace('containerd://', '');
  await rig.cri.stopContainer({ containerId, timeout: 1n });
  await restarts(1);
  for (const path of secure) await askSecure(node, path);
  for (const path of readOnly) await node.ask(path, { traceparent });
  cluster.double.objects.delete('pods', 'default', 'web');
  await cluster.untilGone('web');
  const expected = [...syncs, 'Containers/GarbageCollect', 'Images/GarbageCollect'];
  await waitFor(
    () => expected.every((name) => collector.named(name).length > 0),
    `the spans ${expected.join(', ')}`,
  );
  return describeTraces(node, [...collector.spans]);
}

/** As an administrator, with a trace of the client. */
function askSecure({ parts: { cluster, kubelet } }: LifeNode, path: string): Promise<void> {
  const { cert, key } = cluster.admin;
  const options = { port: kubelet.securePort, path, cert, key, headers: { traceparent }, agent: false };
  return new Promise((resolve, reject) => {
    const request = httpsRequest({ ...options, rejectUnauthorized: false }, (response) =>
      response.resume().on('end', resolve).on('error', reject),
    );
    request.on('error', reject).end();
  });
}

function describeTraces({ apiHeaders, parts }: LifeNode, spans: readonly CollectedSpan[]): Traces {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const of = (library: string): readonly CollectedSpan[] =>
    spans.filter(({ scope }) => scope.endsWith(`/${library}`));
  const rows = (some: readonly CollectedSpan[], row: (span: CollectedSpan) => string): readonly string[] =>
    [...new Set(some.map(row))].toSorted();
  const context = /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/;
  const headerRow = (to: string, headers: Readonly<Record<string, unknown>>): string => {
    const names = Object.keys(headers).filter((name) => /^(?:trace|baggage)/.test(name));
    return `${to}: ${names.join()} ${context.test(String(headers['traceparent']))}`;
  };
  const run = parts.cri.calls.find(({ method }) => method === 'runPodSandbox');
  const continued = byId.get(String(run?.headers['traceparent']).split('-')[2] ?? '');
  return {
    resources: rows(spans, ({ resource }) => JSON.stringify(resource, Object.keys(resource).toSorted())),
    work: rows(
      spans.filter(({ scope }) => scope.startsWith('k8s.io/')),
      (span) => `${span.scope} ${span.name} ${shape(span)} parent=${span.parentId}`,
    ),
    calls: rows(of('otelgrpc'), (span) => `${span.name.split('/')[0]} ${shape(span)}`),
    requests: rows(of('otelhttp'), (span) => `${span.name.replace(/ .*/, '')} ${shape(span)}`),
    served: rows(of('otelrestful'), (span) => {
      const { 'http.route': route, 'url.path': path, 'url.scheme': scheme } = span.attributes;
      const parent = span.parentId === '' ? 'none' : 'client';
      return `${scheme as string} ${path as string}: "${span.name}" ${route as string} ${shape(span)} parent=${parent} links=${span.links.length}`;
    }),
    children: rows(
      of('otelgrpc').filter(({ name }) => acts.test(name)),
      ({ name, parentId }) => `${name} of ${byId.get(parentId)?.name ?? 'none'}`,
    ),
    headers: [
      ...new Set([
        ...parts.cri.calls
          .filter(({ method }) => method === 'runPodSandbox' || method === 'listContainers')
          .map(({ headers }) => headerRow('runtime', headers)),
        ...apiHeaders.map((headers) => headerRow('API server', headers)),
        `continues ${continued?.name} of ${byId.get(continued?.parentId ?? '')?.name} of ${nodeName}`,
      ]),
    ].toSorted(),
  };
}

function shape({ attributes, events, kind, status }: CollectedSpan): string {
  return `kind=${kind} status=${status} events=${events.join()} ${Object.keys(attributes).toSorted().join()}`;
}

// What a shutdown of the machine makes of a node: to logind and on the disk, to clients of the API server. In a form in which two
// kubelets can be compared.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Pod, PodStatus } from '../../src/api/k8s/types.ts';
import { isTerminalPhase } from '../../src/api/pod/active-pod.ts';
import { waitFor } from '../rig/wait.ts';
import { container, ignoresTerm, manifest } from './manifest.ts';
import { type LifeNode, nodeName } from './node-life-node.ts';

const runs = ['web', 'job', 'stubborn', 'failing', 'critical', `static-${nodeName}`] as const;

const pods: readonly Pod[] = [
  manifest('web'),
  manifest('job', { restartPolicy: 'Never' }),
  manifest('stubborn', {
    containers: [container('main', ignoresTerm)],
    terminationGracePeriodSeconds: 300,
  }),
  manifest('failing', {
    containers: [container('main', `trap 'exit 3' TERM; while :; do sleep 1000 & wait $!; done`)],
  }),
  manifest('critical', { priority: 2_000_000_000 }),
  manifest('done', { containers: [container('main', 'exit 0')], restartPolicy: 'Never' }),
  manifest('init', { initContainers: [container('first')] }),
  manifest('waiting', { containers: [container('main', '', { image: 'docker.io/library/missing:1' })] }),
];

export interface Shutdown {
  /** What logind and systemd saw, in order. */
  readonly logind: readonly string[];
  readonly logindFile: { readonly text: string; readonly mode: number };
  readonly stateFile: readonly string[];
  readonly metrics: readonly string[];
  readonly conditions: readonly string[];
  readonly statuses: Readonly<Record<string, unknown>>;
  readonly events: readonly string[];
}

export async function showShutdown(node: LifeNode): Promise<Shutdown> {
  const { cluster, kubelet, logind } = node.parts;
  for (const pod of pods) cluster.createPod(pod);
  kubelet.writeManifest('static', manifest('static'));
  for (const name of runs) await cluster.untilReady(name);
  await cluster.untilPod('done', 'to end', ({ phase }) => phase === 'Succeeded');
  await cluster.untilPod('init', 'to initialize', (status) =>
    Boolean(status.initContainerStatuses?.some(({ state }) => state?.running !== undefined)),
  );
  await cluster.untilPod('waiting', 'to back off', (status) =>
    Boolean(status.containerStatuses?.some(({ state }) => state?.waiting?.reason === 'ImagePullBackOff')),
  );
  await logind.until('lock');
  logind.prepare(true);
  const ready = (): string | undefined =>
    cluster.node()?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  await waitFor(() => ready() === 'False', 'the node to be not ready');
  cluster.createPod(manifest('late'));
  await logind.until('released');
  for (const { metadata } of [...pods, manifest('late'), manifest(`static-${nodeName}`)])
    await cluster.untilPod(metadata?.name ?? '', 'to end', ({ phase }) => isTerminalPhase(phase));
  // A Go kubelet reports a container that never ran as waiting first.
  await cluster.untilPod('waiting', 'to have its last status', (status) =>
    Boolean(status.containerStatuses?.some(({ state }) => state?.terminated !== undefined)),
  );
  return recordShutdown(node);
}

async function recordShutdown({ logindFile, parts }: LifeNode): Promise<Shutdown> {
  const { cluster, kubelet, logind } = parts;
  const { objects } = cluster.double;
  const state = readFileSync(join(kubelet.rootDir, 'graceful_node_shutdown_state'), 'utf8');
  const metrics = (await kubelet.secure('/metrics')).text.split('\n');
  return {
    logind: [...logind.events],
    logindFile: { text: readFileSync(logindFile, 'utf8'), mode: statSync(logindFile).mode & 0o777 },
    stateFile: Object.entries(JSON.parse(state) as Record<string, string>).map(
      ([name, value]) => `${name} ${Date.parse(value) > 0}`,
    ),
    metrics: metrics.flatMap((line) => {
      const [, name, value] = /^(kubelet_graceful_shutdown_\S+) (\S+)$/.exec(line) ?? [];
      return name === undefined ? [] : [`${name} ${Number(value) > 1e9}`];
    }),
    conditions: (cluster.node()?.status?.conditions ?? []).map(
      ({ message, reason, status, type }) => `${type} ${status} ${reason}: ${message}`,
    ),
    statuses: Object.fromEntries(
      objects.list('pods').map(({ metadata, status }) => [metadata?.name ?? '', normal(status)]),
    ),
    events: [
      ...new Set(
        objects
          .list('events')
          .map(({ involvedObject: { kind, name }, message, reason, type }) =>
            JSON.stringify(normal(`${kind} ${name} ${type} ${reason}: ${message}`)),
          ),
      ),
    ].toSorted(),
  };
}

/** Without times, IDs, addresses and the resources of the pod, which a Go kubelet reads back from a cgroup of 8 EiB. */
function normal(value: PodStatus | string | undefined): unknown {
  const { resources: _resources, ...status } = typeof value === 'object' ? value : {};
  const text = JSON.stringify(typeof value === 'object' ? status : value)
    .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"<time>"')
    .replaceAll(/[0-9a-f]{64}/g, '<hash>')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uid>')
    .replaceAll(/\b10\.\d+\.\d+\.\d+/g, '<ip>')
    .replaceAll(/kube-api-access-\w+/g, 'kube-api-access-<suffix>');
  return JSON.parse(text);
}

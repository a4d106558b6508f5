// What clients of the API server see of an eviction is what a Go kubelet shows them: the same pods are evicted by this kubelet and by
// the one that PEER_KUBELET names, and their statuses, events and node conditions are compared.
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Container, NodeCondition, Pod, PodSpec, PodStatus } from '../src/api/k8s/types.ts';
import { makeCgroup } from './rig/cgroups.ts';
import { describeOnRig } from './rig/on-rig.ts';
import { type Rig, startRig } from './rig/rig.ts';
import { waitFor } from './rig/wait.ts';
import { type Cluster, isReady, startCluster } from './support/cluster.ts';

const peer = process.env['PEER_KUBELET'];
const nodeName = 'node1';
const gib = 1024 ** 3;
const deadlineMs = 120_000;
const memoryRoot = '/sys/fs/cgroup/memory';

/** Memory of the machine less its working set, as both kubelets compute it. */
function availableBytes(): number {
  const read = (path: string): string => readFileSync(path, 'utf8');
  const total = Number(/^MemTotal:\s+(\d+) kB$/m.exec(read('/proc/meminfo'))?.[1]) * 1024;
  const usage = Number(read(`${memoryRoot}/memory.usage_in_bytes`));
  const inactive = Number(/^total_inactive_file (\d+)$/m.exec(read(`${memoryRoot}/memory.stat`))?.[1]);
  return total - usage + inactive;
}

const eating = 'BEGIN{s="x";while(length(s)<134217728)s=s s;for(i=0;i<32;i++)a[i]=s i;system("sleep 1000")}';

function podsOf(image: string): Readonly<Record<'eater' | 'steady' | 'writer' | 'layer' | 'late', PodSpec>> {
  const container = (name: string, script: string, over: Partial<Container> = {}): Container => ({
    name,
    image,
    command: ['sh', '-c', script],
    ...over,
  });
  const requesting = (memory: string): Partial<Container> => ({ resources: { requests: { memory } } });
  return {
    eater: {
      initContainers: [container('first', 'true')],
      containers: [
        container('eat', `trap 'exit 3' TERM; sleep 3; awk '${eating}' & wait`, requesting('16Mi')),
        container('rest', 'exec sleep 1000', requesting('16Mi')),
      ],
    },
    // Critical, so that memory that others take on this machine does not evict it.
    steady: {
      priority: 2_000_000_000,
      containers: [container('steady', 'exec sleep 1000', requesting('64Mi'))],
    },
    writer: {
      containers: [
        container('write', 'sleep 3; dd if=/dev/zero of=/data/file bs=1M count=6; exec sleep 1000', {
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        }),
        container('rest', 'exec sleep 1000'),
      ],
      volumes: [{ name: 'data', emptyDir: { sizeLimit: '2Mi' } }],
    },
    layer: {
      restartPolicy: 'Never',
      containers: [
        container('write', 'sleep 3; dd if=/dev/zero of=/file bs=1M count=6; exec sleep 1000', {
          resources: { limits: { 'ephemeral-storage': '2Mi' } },
        }),
        container('rest', 'exec sleep 1000'),
      ],
    },
    late: { containers: [container('late', 'exec sleep 1000')] },
  };
}

class Recorder {
  readonly #cluster: Cluster;
  readonly #statuses = new Map<string, string[]>();
  readonly #conditions: string[] = [];

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    cluster.double.store.subscribe(({ after, type }) => {
      if (type.plural === 'pods' && after !== undefined) this.#pod(after as Pod);
      if (type.plural === 'nodes') this.#node();
    });
  }

  #pod({ metadata, status }: Pod): void {
    const steps = this.#statuses.get(metadata?.name ?? '') ?? [];
    const text = JSON.stringify(normal(status));
    if (steps.at(-1) !== text) steps.push(text);
    this.#statuses.set(metadata?.name ?? '', steps);
  }

  #node(): void {
    const found = this.condition('MemoryPressure');
    const text = JSON.stringify(normal(found));
    if (this.#conditions.at(-1) !== text) this.#conditions.push(text);
  }

  condition(type: string): NodeCondition | undefined {
    return this.#cluster.node()?.status?.conditions?.find((each) => each.type === type);
  }

  recorded(): Record<string, unknown> {
    const names = [...this.#statuses.keys()];
    return {
      statuses: Object.fromEntries(names.map((name) => [name, comparable(this.#cluster.pod(name)?.status)])),
      node: this.#conditions.map((text) => JSON.parse(text) as unknown),
      events: this.#events(),
    };
  }

  /** The phases of a pod with its readiness, in order. */
  phases(name: string): readonly string[] {
    const steps = (this.#statuses.get(name) ?? []).map((text) => JSON.parse(text) as PodStatus);
    const lines = steps.map((status) => `${status.phase} ${isReady(status) ? 'ready' : 'not ready'}`);
    return lines.filter((line, at) => line !== lines[at - 1]);
  }

  /** Statuses with a terminal phase and a running container. */
  contradictions(): readonly PodStatus[] {
    const all = [...this.#statuses.values()].flat().map((text) => JSON.parse(text) as PodStatus);
    return all.filter(
      ({ phase, containerStatuses = [] }) =>
        phase === 'Failed' && containerStatuses.some(({ state }) => state?.running !== undefined),
    );
  }

  #events(): unknown {
    const relevant = /^(Evict|NodeHasInsufficient|Exceeded|Killing)/;
    const events = this.#cluster.double.objects.list('events');
    const pairs = events.flatMap(({ count: _count, eventTime: _none, involvedObject, ...event }) => {
      if (!relevant.test(event.reason ?? '')) return [];
      // This kubelet states the UID of the node in all events, v1.37 in those of the node status.
      const { uid, ...rest } = involvedObject;
      const object = rest.kind === 'Node' ? rest : { ...rest, uid };
      return [
        [`${rest.name} ${event.reason} ${event.message}`, normal({ ...event, involvedObject: object })],
      ];
    });
    return Object.fromEntries(pairs.map(([key, event]) => [normal(key), event]));
  }
}

/**
 * Without what differs on purpose: a Go kubelet removes containers of an evicted pod while it reads their statuses, and reports
 * no memory limit as one of 8 EiB.
 */
function comparable(status: PodStatus | undefined): unknown {
  const { containerStatuses, resources: _resources, ...rest } = status ?? {};
  const names = containerStatuses?.map(({ name, ready, started }) => ({ name, ready, started }));
  return normal({ ...rest, containerStatuses: names });
}

/** Without times, IDs, names and amounts that differ from run to run. */
function normal(value: unknown): unknown {
  const text = JSON.stringify(value ?? null)
    .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"<time>"')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uid>')
    .replaceAll(/[0-9a-f]{64}/g, '<hash>')
    .replaceAll(/\b(?:10|192)\.\d+\.\d+\.\d+/g, '<ip>')
    .replaceAll(/(quantity: |available: |using |usage":")[^", ]+/g, '$1<amount>')
    .replaceAll(/"resourceVersion":"[^"]*"/g, '"resourceVersion":"<version>"')
    .replaceAll(/kube-api-access-\w+/g, 'kube-api-access-<suffix>')
    .replaceAll(/"name":"([a-z0-9]+)\.[0-9a-f]{16}"/g, '"name":"$1.<suffix>"')
    .replaceAll(/rig-[a-z0-9-]+/g, '<rig>');
  return JSON.parse(text);
}

async function evictPods(rig: Rig, cluster: Cluster): Promise<Recorder> {
  const recorder = new Recorder(cluster);
  const { eater, late, layer, steady, writer } = podsOf(rig.images.busybox);
  const create = (name: string, spec: PodSpec): Pod => cluster.createPod({ metadata: { name }, spec });
  const evicted = (name: string): Promise<Pod> =>
    cluster.untilPod(
      name,
      'to be evicted',
      ({ phase, reason }) => phase === 'Failed' && reason === 'Evicted',
    );
  create('steady', steady);
  create('eater', eater);
  await evicted('eater');
  const isShort = (status: string) => (): boolean => recorder.condition('MemoryPressure')?.status === status;
  await waitFor(isShort('True'), 'the node to be short of memory', deadlineMs);
  create('late', late);
  await evicted('late');
  await waitFor(isShort('False'), 'the node to recover', deadlineMs);
  create('writer', writer);
  create('layer', layer);
  await evicted('writer');
  await evicted('layer');
  await cluster.untilReady('steady');
  return recorder;
}

async function record(command: string | undefined): Promise<Recorder> {
  const rig = await startRig();
  const cluster = await startCluster(rig, nodeName);
  makeCgroup(rig.workspace.name);
  try {
    const kubelet = rig.newKubelet({
      nodeName,
      config: {
        ...(command === undefined ? {} : { contentType: 'application/json' }),
        evictionHard: { 'memory.available': `${Math.floor((availableBytes() - 3 * gib) / 1024)}Ki` },
        evictionPressureTransitionPeriod: '20s',
        volumeStatsAggPeriod: '2s',
      },
      flags: [`--kubeconfig=${cluster.kubeconfig}`],
      ...(command === undefined ? {} : { command }),
    });
    await kubelet.start();
    await cluster.untilNodeReady();
    return await evictPods(rig, cluster).catch((err: unknown) => {
      throw new Error(cluster.describeState(kubelet), { cause: err });
    });
  } finally {
    await rig.stop();
    await cluster.stop();
  }
}

function reasonToSkip(): string | undefined {
  if (peer === undefined) return 'PEER_KUBELET is not set';
  return existsSync(memoryRoot) ? undefined : 'the machine has no memory cgroup v1';
}

const skipReason = reasonToSkip();
describe.skipIf(skipReason !== undefined)(
  skipReason === undefined ? `Go kubelet ${peer}` : `Go kubelet (skipped: ${skipReason})`,
  () =>
    describeOnRig('eviction', () => {
      test('looks the same to clients of the API server', { timeout: 600_000 }, async () => {
        const ours = await record(undefined);
        expect(ours.contradictions()).toEqual([]);
        const theirs = await record(peer);
        expect(ours.recorded()).toEqual(theirs.recorded());
        for (const name of ['eater', 'writer', 'layer', 'late'])
          expect(ours.phases(name)).toEqual(theirs.phases(name));
      });
    }),
);

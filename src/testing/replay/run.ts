// Runs a recorded manifest on a whole kubelet in memory, as an API server would have it: given, later deleted with grace, gone
// when nothing of it is left; and writes down what the kubelet asked of the runtime and told of the pod.
import type { Pod, PodStatus } from '../../api/k8s.ts';
import { asPodUid } from '../../api/pod-ref.ts';
import { KubeletError } from '../../base/errors.ts';
import { defaultPod } from '../../sources/defaults/pod-defaults.ts';
import { couldHaveRunningContainers, mergePodStatus } from '../../status/merge-status.ts';
import { fakeBusybox } from '../fake-cri/fake-cri.ts';
import { FakeNode } from '../fake-node.ts';
import { replayCluster } from './cluster.ts';
import { namesOfIds, plainCalls } from './plain-calls.ts';
import type { Recording } from './recording.ts';
import { statusLines } from './status-lines.ts';

export interface Outcome {
  readonly calls: readonly (readonly unknown[])[];
  /** As the API had them, one after the other, without repetitions. */
  readonly statuses: readonly string[];
  readonly events: readonly string[];
  /** What is left in the runtime when the pod has gone. */
  readonly left: number;
}

const uid = asPodUid('UID');
const rootDir = '/var/lib/kubelet';
const recordedImage = 'sha256:9c0d28a8803964981262e2e203b6badd9c48c207cc1eca38b1b25ddecd8109b7';
const unreachable = '127.0.0.1:1/none/none:1';
/** On the machine of the recordings the root was no shared mount. */
const notShared =
  `failed to generate container "${'0'.repeat(64)}" spec: failed to generate spec: path "/tmp/lab-hostpath" is mounted on "/" ` +
  'but it is not a shared or slave mount';
const endMs = 90_000;
const stepMs = 100;

/** About what the runtime took in the recordings: what lasts can be seen. */
const tookMs = [
  ['runPodSandbox', 150],
  ['createContainer', 15],
  ['startContainer', 80],
  ['stopPodSandbox', 100],
] as const;

function startNode(recording: Recording): FakeNode {
  const node = new FakeNode({
    images: [fakeBusybox],
    events: false,
    config: { clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local' },
    machine: {
      memoryBytes: 25_000_000_000n,
      cpus: 2,
      hugePageSizes: ['2MB', '1GB'],
      addresses: ['192.0.2.2'],
    },
    objects: replayCluster(recording.objects ?? []),
  });
  const refused =
    `failed to pull and unpack image "${unreachable}": failed to resolve reference "${unreachable}": failed to do request: ` +
    'Head "http://127.0.0.1:1/v2/none/none/manifests/1": dial tcp 127.0.0.1:1: connect: connection refused';
  node.cri.faults.fail('pullImage', new KubeletError('internal', 'Unknown', refused), {
    times: Number.POSITIVE_INFINITY,
    match: ({ image }) => image?.image === unreachable,
  });
  node.cri.faults.fail('createContainer', new KubeletError('internal', 'Unknown', notShared), {
    times: Number.POSITIVE_INFINITY,
    match: ({ config }) => config?.mounts.some(({ hostPath }) => hostPath === '/tmp/lab-hostpath') === true,
  });
  for (const [method, ms] of tookMs) node.cri.faults.latency(method, ms);
  return node;
}

function apiPod(recording: Recording, node: FakeNode): Pod {
  const { metadata, spec } = recording.pod;
  return defaultPod({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      namespace: 'rec',
      uid,
      generation: 1,
      annotations: {
        ...metadata?.annotations,
        'kubernetes.io/config.source': 'api',
        'kubernetes.io/config.seen': new Date(node.clock.now()).toISOString(),
      },
    },
    ...(spec === undefined ? {} : { spec }),
    status: { phase: 'Pending' },
  });
}

/** Follows the statuses as the one who sends them to an API server would. */
function followStatuses(node: FakeNode, pod: () => Pod): readonly PodStatus[] {
  const told: PodStatus[] = [];
  node.stores.statuses.changed.subscribe(() => {
    const status = node.stores.statuses.get(uid);
    if (status === undefined) return;
    const couldRun = couldHaveRunningContainers(
      node.stores.lifecycles.get(uid),
      node.stores.observed.get(uid),
    );
    const api = told.at(-1) ?? { phase: 'Pending' };
    told.push(
      mergePodStatus({
        pod: pod(),
        api,
        status,
        couldHaveRunningContainers: couldRun,
        nowMs: node.clock.now(),
      }),
    );
  });
  return told;
}

export async function runRecording(recording: Recording): Promise<Outcome> {
  const node = startNode(recording);
  await node.start();
  let pod = apiPod(recording, node);
  const { desired, lifecycles } = node.stores;
  const told = followStatuses(node, () => pod);
  const events = new EventsSeen(node);
  desired.set('api', [pod]);
  await events.advance(recording.deleteAtMs);
  pod = deleted(pod, recording.graceSeconds, node.clock.now());
  desired.set('api', [pod]);
  for (let waitedMs = 0; waitedMs < endMs; waitedMs += 500) {
    await events.advance(500);
    const lifecycle = lifecycles.get(uid);
    if (lifecycle?.state === 'rejected' || (lifecycle?.state === 'terminated' && lifecycle.cleaned)) break;
  }
  // Time to tell the last status; only then the API server lets the pod go.
  await events.advance(1_000);
  desired.set('api', []);
  await node.clock.advance(10_000);
  const names = namesOfIds(node.cri.calls);
  const image = (await node.cri.imageStatus({ image: { image: fakeBusybox.name } })).image?.id;
  const calls = plainCalls(node.cri.calls, {
    rootDir,
    imageId: (text) => (text === image ? recordedImage : text),
  });
  const left =
    (await node.cri.listPodSandbox({})).items.length + (await node.cri.listContainers({})).containers.length;
  await node.stop();
  const statuses = told.map((status) => statusLines(status, (id) => names.get(id) ?? id));
  return {
    calls,
    statuses: statuses.filter((each, index) => each !== statuses[index - 1]),
    events: events.lines,
    left,
  };
}

function deleted(pod: Pod, graceSeconds: number, nowMs: number): Pod {
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      generation: 2,
      deletionTimestamp: new Date(nowMs + graceSeconds * 1000).toISOString(),
      deletionGracePeriodSeconds: graceSeconds,
    },
  };
}

/** Follows the events of the pod, each once, in the order in which they first happened. */
class EventsSeen {
  readonly #node: FakeNode;
  readonly #lines = new Set<string>();

  constructor(node: FakeNode) {
    this.#node = node;
  }

  get lines(): readonly string[] {
    return [...this.#lines];
  }

  /** Moves time on in steps so short that what happens first is seen first. */
  async advance(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
      await this.#node.clock.advance(Math.min(stepMs, ms - passedMs));
      for (const { type, reason, fieldPath = '-', message } of this.#node.events(uid)) {
        const text = message.replaceAll('\n', '\\n').replaceAll(/[0-9a-f]{64}/g, 'ID');
        this.#lines.add(`${type} ${reason} ${fieldPath} ${text}`);
      }
    }
  }
}

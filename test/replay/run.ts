// Runs a recorded pod on a kubelet in memory that has joined a cluster in memory: the pod is created on the API server
// double and later deleted. Collects the CRI calls of the kubelet and the statuses and events on the API server.
import type { ConfigMap, Event, Pod, PodStatus, Secret } from '../../src/api/k8s/types.ts';
import { KubeletError } from '../../src/base/errors.ts';
import { defaultPod } from '../../src/sources/defaults/pod-defaults.ts';
import type { ApiServerDouble } from '../api-server/double.ts';
import { fakeBusybox } from '../fake-cri/fake-cri.ts';
import type { FakeImageSpec } from '../fake-cri/image-spec.ts';
import { FakeNode } from '../simulate/fake-node.ts';
import { namesOfIds, plainCalls } from './plain-calls.ts';
import { recordedProgram } from './recorded-programs.ts';
import type { Recording } from './recording.ts';
import { statusLines } from './status-lines.ts';

export interface Outcome {
  readonly calls: readonly (readonly unknown[])[];
  /** As the API server had them, in order, without repetitions. */
  readonly statuses: readonly string[];
  readonly events: readonly string[];
  /** The number of sandboxes and containers in the runtime after the pod's end. */
  readonly left: number;
}

/** The namespace of the recorded pods and their objects. */
export const namespace = 'rec';
const rootDir = '/var/lib/kubelet';
/** The image of an image volume. */
const files: FakeImageSpec = { name: 'registry.k8s.io/e2e-test-images/nonroot:1.4' };
/** The recorded IDs of the images. */
const recordedImages: readonly (readonly [FakeImageSpec, string])[] = [
  [fakeBusybox, 'sha256:9c0d28a8803964981262e2e203b6badd9c48c207cc1eca38b1b25ddecd8109b7'],
  [files, 'sha256:e8fa938f5f0484d2d871d4828d03982ef5c47b3ebfdccc1dff0bf4ae560c7211'],
];
const unreachable = '127.0.0.1:1/none/none:1';
/** On the machine of the recordings the root was not a shared mount. */
const notShared =
  `failed to generate container "${'0'.repeat(64)}" spec: failed to generate spec: path "/tmp/lab-hostpath" is mounted on "/" ` +
  'but it is not a shared or slave mount';
const registerMs = 2_000;
const endMs = 90_000;

/** Approximate durations of the recordings, so that intermediate states can be observed. */
const latencies = [
  ['runPodSandbox', 150],
  ['createContainer', 15],
  ['startContainer', 80],
  ['stopPodSandbox', 100],
  ['updateContainerResources', 20],
] as const;

function newNode(): FakeNode {
  const node: FakeNode = new FakeNode({
    cluster: true,
    // A restart of all containers counts its restarts by their logs.
    openLog: (path) => void node.files.set(path, ''),
    images: recordedImages.map(([image]) => image),
    events: false,
    config: { clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local' },
    machine: {
      memoryBytes: 25_000_000_000n,
      cpus: 2,
      hugePageSizes: ['2MB', '1GB'],
      addresses: ['192.0.2.2'],
    },
  });
  const refused =
    `failed to pull and unpack image "${unreachable}": failed to resolve image: failed to do request: ` +
    'Head "https://127.0.0.1:1/v2/none/none/manifests/1": dial tcp 127.0.0.1:1: connect: connection refused';
  node.cri.faults.fail('pullImage', new KubeletError('internal', 'Unknown', refused), {
    times: Number.POSITIVE_INFINITY,
    match: ({ image }) => image?.image === unreachable,
  });
  node.cri.faults.fail('createContainer', new KubeletError('internal', 'Unknown', notShared), {
    times: Number.POSITIVE_INFINITY,
    match: ({ config }) => config?.mounts.some(({ hostPath }) => hostPath === '/tmp/lab-hostpath') === true,
  });
  for (const [method, ms] of latencies) node.cri.faults.latency(method, ms);
  return node;
}

/** A process needs this long before it does anything, so that its container is observed running first. */
const processMs = 30;

function delayProcesses(node: FakeNode, { pod: { spec } }: Recording): void {
  for (const { command = [], name } of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
    const program = recordedProgram(command, node.volumes);
    if (program === undefined) continue;
    node.cri.setProgram(name, async (process) => {
      await process.sleep(processMs);
      return await program(process);
    });
  }
}

/** Creates the objects of the scenario; the service of the cluster already exists. */
export function createObjects(api: ApiServerDouble, { objects = [] }: Pick<Recording, 'objects'>): void {
  api.objects.create('namespaces', { metadata: { name: namespace } });
  for (const object of objects) {
    const metadata = { ...object.metadata, namespace };
    if (object.kind === 'Secret') api.objects.create('secrets', asStored({ ...object, metadata }));
    else api.objects.create('configmaps', { ...(object as ConfigMap), metadata });
  }
}

/** The API server stores stringData as data. */
function asStored({ stringData = {}, ...secret }: Secret): Secret {
  const data = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
  return { ...secret, data: Object.fromEntries(data) as Record<string, string> };
}

/** Returns the pod's UID. */
export function createPod(
  api: ApiServerDouble,
  { pod: { metadata, spec } }: Pick<Recording, 'pod'>,
  nodeName = 'n',
): string {
  const { metadata: meta, spec: whole } = defaultPod({
    metadata: { ...metadata, namespace },
    spec: { ...(spec ?? { containers: [] }), nodeName },
  });
  const created = api.objects.create('pods', {
    ...(meta && { metadata: meta }),
    ...(whole && { spec: whole }),
  });
  return created.metadata?.uid ?? '';
}

/** Every status of the pod on the API server, as a watch would show it. */
function watchStatuses(api: ApiServerDouble): readonly PodStatus[] {
  const seen: PodStatus[] = [];
  api.store.subscribe(({ after }) => {
    if (after?.metadata?.namespace !== namespace || after.kind !== 'Pod') return;
    const { status } = after as Pod;
    // Statuses from before the first write of the kubelet are omitted.
    if (status?.startTime !== undefined) seen.push(status);
  });
  return seen;
}

export async function runRecording(recording: Recording): Promise<Outcome> {
  const node = newNode();
  const { api, clock } = node;
  if (api === undefined) throw new Error('the node has no API server');
  createObjects(api, recording);
  delayProcesses(node, recording);
  await node.start();
  await clock.advance(registerMs);
  const seen = watchStatuses(api);
  const uid = createPod(api, recording);
  const { resize } = recording;
  if (resize !== undefined) {
    await clock.advance(resize.atMs);
    const spec = { resources: resize.resources };
    api.objects.patch('pods', namespace, recording.name, { spec }, 'resize');
  }
  await clock.advance(recording.deleteAtMs - (resize?.atMs ?? 0));
  const { name, graceSeconds: gracePeriodSeconds } = recording;
  api.objects.delete('pods', namespace, name, { gracePeriodSeconds });
  for (let waitedMs = 0; waitedMs < endMs && exists(api, name); waitedMs += 500) await clock.advance(500);
  if (exists(api, name)) throw new Error(`pod ${name} still exists: ${node.log.slice(-15).join('')}`);
  await clock.advance(10_000);
  const names = namesOfIds(node.cri.calls);
  const imageIds = new Map<string, string>();
  for (const [{ name: image }, recorded] of recordedImages)
    imageIds.set((await node.cri.imageStatus({ image: { image } })).image?.id ?? '', recorded);
  const calls = plainCalls(node.cri.calls, {
    uid,
    rootDir,
    imageId: (text) => imageIds.get(text) ?? text,
  });
  const left =
    (await node.cri.listPodSandbox({})).items.length + (await node.cri.listContainers({})).containers.length;
  const named = (text: string): string =>
    text
      .replaceAll(uid, 'UID')
      .replaceAll(/[0-9a-f]{64}/g, 'ID')
      // The fake runtime is a containerd 1.6, which appends the kind of an error.
      .replaceAll('no such file or directory: unknown', 'no such file or directory');
  const events = api.objects.list('events', namespace).map((event) => named(eventLine(event)));
  await node.stop();
  api.close();
  const statuses = seen.map((status) => named(statusLines(status, (id) => names.get(id) ?? id)));
  return { calls, statuses: withoutRepetition(statuses), events: [...new Set(events)], left };
}

function exists(api: ApiServerDouble, name: string): boolean {
  return api.objects.get('pods', namespace, name) !== undefined;
}

function withoutRepetition(list: readonly string[]): readonly string[] {
  return list.filter((each, index) => each !== list[index - 1]);
}

export function eventLine({ type, reason, involvedObject, message = '' }: Event): string {
  return `${type} ${reason} ${involvedObject.fieldPath ?? '-'} ${message.replaceAll('\n', '\\n')}`;
}

// Renders pods as a v1 PodList, byte for byte as Go would for the same objects with the same order of fields.
// Invariant: a list is rendered again only if something in it changed, and then only the changed pods.
// Upstream: encodePods in pkg/kubelet/server/server.go.
import { goJson } from '../api/k8s/go-json.ts';
import type { Container, Pod, PodSpec, PodStatus } from '../api/k8s/types.ts';
import type { ObservedPod } from '../api/pod/observed.ts';
import type { PodUid } from '../api/pod/pod-ref.ts';

export interface ListedPods {
  readonly version: number;
  all(): readonly { readonly uid: PodUid; readonly pod: Pod }[];
}

export interface ListedStatuses {
  readonly version: number;
  get(uid: PodUid): PodStatus | undefined;
}

export interface ListedObservations {
  readonly version: number;
  all(): ReadonlyMap<PodUid, ObservedPod>;
}

interface Rendered {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  readonly text: string;
}

/** The pods of this node, each with the kubelet's status. */
export class PodList {
  readonly #pods: ListedPods;
  readonly #statuses: ListedStatuses;
  #rendered = new Map<PodUid, Rendered>();
  #body: { readonly version: string; readonly bytes: Uint8Array } | undefined;

  constructor(pods: ListedPods, statuses: ListedStatuses) {
    this.#pods = pods;
    this.#statuses = statuses;
  }

  body(): Uint8Array {
    const version = `${this.#pods.version} ${this.#statuses.version}`;
    if (this.#body?.version !== version) this.#body = { version, bytes: this.#render() };
    return this.#body.bytes;
  }

  #render(): Uint8Array {
    const fresh = new Map<PodUid, Rendered>();
    for (const { uid, pod } of this.#pods.all()) {
      const status = this.#statuses.get(uid);
      const known = this.#rendered.get(uid);
      const same = known?.pod === pod && known.status === status;
      fresh.set(uid, same ? known : { pod, status, text: podText(pod, status) });
    }
    this.#rendered = fresh;
    return listBytes([...fresh.values()].map(({ text }) => text));
  }
}

/** Pods with a running container or a ready sandbox, desired or not, newest first. */
export class RunningPods {
  readonly #observed: ListedObservations;
  #body: { readonly version: number; readonly bytes: Uint8Array } | undefined;

  constructor(observed: ListedObservations) {
    this.#observed = observed;
  }

  body(): Uint8Array {
    const { version } = this.#observed;
    if (this.#body?.version !== version) this.#body = { version, bytes: this.#render() };
    return this.#body.bytes;
  }

  #render(): Uint8Array {
    const pods = [...this.#observed.all().values()]
      .filter((pod) => pod.sandboxes.some(({ ready }) => ready) || pod.containers.some(isRunning))
      .sort((a, b) => createdAt(b) - createdAt(a));
    return listBytes(pods.map(runningText));
  }
}

function isRunning({ state }: { readonly state: string }): boolean {
  return state === 'running';
}

function createdAt(pod: ObservedPod): number {
  return Math.min(...[...pod.sandboxes, ...pod.containers].map(({ createdAtMs }) => createdAtMs));
}

type ListedContainer = ObservedPod['containers'][number];

/** Then by ID, so that the order does not change between requests. */
function newestFirst(a: ListedContainer, b: ListedContainer): number {
  return b.createdAtMs - a.createdAtMs || (a.id < b.id ? -1 : 1);
}

/** Only what the runtime reports; an empty list is null, as Go writes a nil slice. */
function runningText({ name, namespace, uid, containers }: ObservedPod): string {
  const running = containers
    .filter(isRunning)
    .toSorted(newestFirst)
    .map((each) => ({
      name: each.name,
      image: each.image,
      resources: {},
    }));
  return goJson({
    metadata: { name, namespace, uid },
    spec: { containers: running.length === 0 ? null : running },
    status: {},
  });
}

function podText(pod: Pod, status: PodStatus | undefined): string {
  return goJson({
    metadata: pod.metadata ?? {},
    spec: withResources(pod.spec),
    status: status ?? pod.status ?? {},
  });
}

/** A container's resources are always written, also if empty. */
function withResources(spec: PodSpec | undefined): object {
  if (spec === undefined) return { containers: null };
  const fill = (container: Container): Container => ({ ...container, resources: container.resources ?? {} });
  return {
    ...spec,
    ...(spec.initContainers && { initContainers: spec.initContainers.map(fill) }),
    containers: spec.containers.map(fill),
  };
}

function listBytes(items: readonly string[]): Uint8Array {
  const list = items.length === 0 ? 'null' : `[${items.join(',')}]`;
  return new TextEncoder().encode(`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":${list}}\n`);
}

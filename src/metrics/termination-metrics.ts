// Counts containers that have terminated, by type, exit code and reason. Upstream: updateStatusInternal in
// pkg/kubelet/status/status_manager.go. Owns which containers of each pod its last status reported as terminated.
// Invariant: a termination that the API server already had before this kubelet started is not counted again.
import type { ContainerStatus, Pod, PodStatus } from '../api/k8s/types.ts';
import { type PodUid, podFullName } from '../api/pod/pod-ref.ts';
import type { Subscribable } from '../base/channel.ts';
import { type Component, on, reaction } from '../base/component.ts';
import type { Metrics } from '../base/metrics.ts';

interface TerminationStores {
  readonly statuses: {
    get(uid: PodUid): PodStatus | undefined;
    readonly changed: Subscribable<PodUid>;
  };
  readonly desired: { get(uid: PodUid): { readonly pod: Pod } | undefined };
  /** The pods as the API server has them; the mirror pod of a static pod by its full name. */
  readonly apiPods: { get(uid: PodUid): Pod | undefined; mirror(fullName: string): Pod | undefined };
}

const lists = [
  ['init_container', 'initContainerStatuses'],
  ['container', 'containerStatuses'],
  ['ephemeral_container', 'ephemeralContainerStatuses'],
] as const;

interface Termination {
  /** Unique in the pod. */
  readonly key: string;
  readonly labels: { readonly container_type: string; readonly exit_code: string; readonly reason: string };
}

export class TerminationMetrics {
  readonly #terminated;
  readonly #reported = new Map<PodUid, ReadonlySet<string>>();

  constructor(registry: Metrics) {
    this.#terminated = registry.counter({
      name: 'kubelet_terminated_containers_total',
      help: 'Terminated containers, by type, exit code and reason.',
      labels: ['container_type', 'exit_code', 'reason'],
    });
  }

  follow(stores: TerminationStores): Component {
    return reaction('termination-metrics', [
      on(stores.statuses.changed, (uid) => this.#compare(uid, stores)),
    ]);
  }

  #compare(uid: PodUid, stores: TerminationStores): void {
    const status = stores.statuses.get(uid);
    if (status === undefined) {
      this.#reported.delete(uid);
      return;
    }
    const before = this.#reported.get(uid) ?? keysOf(reportedBefore(uid, stores));
    const now = terminations(status);
    for (const { key, labels } of now) if (!before.has(key)) this.#terminated.inc(labels);
    this.#reported.set(uid, new Set(now.map(({ key }) => key)));
  }
}

/** The status that an earlier process reported. */
function reportedBefore(uid: PodUid, { apiPods, desired }: TerminationStores): PodStatus {
  const pod = desired.get(uid)?.pod;
  const mirror = pod === undefined ? undefined : apiPods.mirror(podFullName(pod));
  return apiPods.get(uid)?.status ?? mirror?.status ?? {};
}

function keysOf(status: PodStatus): ReadonlySet<string> {
  return new Set(terminations(status).map(({ key }) => key));
}

function terminations(status: PodStatus): readonly Termination[] {
  return lists.flatMap(([type, list]) =>
    (status[list] ?? []).flatMap(({ name, state }: ContainerStatus) =>
      state?.terminated === undefined
        ? []
        : {
            key: `${type}/${name}`,
            labels: {
              container_type: type,
              exit_code: String(state.terminated.exitCode),
              reason: state.terminated.reason ?? '',
            },
          },
    ),
  );
}

// Allocates the resources of a pod's containers from every hint provider at admission, on the NUMA nodes that suit all of them,
// and releases them when the pod has ended. Upstream: pkg/kubelet/cm/topologymanager (scopes and manager).
// Holds no state: after a restart the pods are admitted again.
// Invariant: a rejected or ended pod holds nothing, and a pod of which a container runs keeps what it holds.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { isDown, type ObservedPod } from '../../api/pod/observed.ts';
import { type PodUid, podRef, podUid } from '../../api/pod/pod-ref.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import { type Component, on } from '../../base/component.ts';
import { describeError, KubeletError } from '../../base/errors.ts';
import { type Logger, silentLogger } from '../../base/log/log.ts';
import {
  admissionErrorReasons,
  type HintProvider,
  type ResourceHints,
  type TopologyHint,
} from './hint-provider.ts';
import { computeMergedHint, unalignedHint } from './merge-hints.ts';
import type { NumaNodes } from './numa-nodes.ts';
import { hasPodEnded, type PodEndViews, wasPodForgotten } from './pod-end.ts';
import type { TopologyMetrics } from './topology-metrics.ts';
import type { TopologyPolicy } from './topology-policy.ts';

interface Rejection {
  readonly reason: string;
  readonly message: string;
}

interface TopologyManagerDeps {
  /** Consulted in this order. */
  readonly providers: readonly HintProvider[];
  readonly policy: TopologyPolicy;
  readonly scope: 'container' | 'pod';
  readonly numa: NumaNodes;
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  readonly metrics: TopologyMetrics;
  readonly log?: Logger;
}

export class TopologyManager {
  readonly #deps: TopologyManagerDeps;
  readonly #log: Logger;

  constructor(deps: TopologyManagerDeps) {
    this.#deps = deps;
    this.#log = deps.log ?? silentLogger;
  }

  /** Undefined if the pod is admitted. */
  admit(pod: Pod): Rejection | undefined {
    return this.#deps.metrics.admission(() => {
      try {
        this.#allocate(pod);
        return undefined;
      } catch (err) {
        const uid = podUid(pod);
        // differs from upstream, which keeps what was allocated until another pod needs it. A pod that runs already, after a
        // restart of the kubelet, keeps it until it has been stopped.
        if (isDown(this.#deps.observed.get(uid))) this.release(uid);
        return rejectionOf(err);
      }
    });
  }

  /** Frees what the pod holds, if anything. */
  release(uid: PodUid): void {
    for (const provider of this.#deps.providers) provider.release(uid);
  }

  /** Releases the resources of pods that have ended, and of those that are gone since an earlier process. */
  follow(views: PodEndViews): Component {
    const { desired, lifecycles, observed, pleg } = views;
    const check = (uid: PodUid): void => {
      if (hasPodEnded(uid, views)) this.release(uid);
    };
    const sweep = (): void => this.#sweep(views);
    return {
      name: 'topology-manager',
      wakes: [
        on(lifecycles.changed, (uid) => (wasPodForgotten(uid, views) ? this.release(uid) : check(uid))),
        on(observed.changed, check),
        on(desired.changed, check),
        on(desired.ready, sweep),
        on(pleg.answered, sweep),
      ],
      start: async (signal) => {
        this.#createSeries();
        sweep();
        return { stopped: untilAborted(signal) };
      },
    };
  }

  #sweep(views: PodEndViews): void {
    const holders = new Set(this.#deps.providers.flatMap((provider) => [...provider.holders()]));
    for (const uid of holders) {
      if (!hasPodEnded(uid, views)) continue;
      this.#log.info('Released the resources of a pod that no longer exists', { podUID: uid });
      this.release(uid);
    }
  }

  #createSeries(): void {
    const { metrics, policy } = this.#deps;
    if (policy.name === 'none') return;
    for (const scope of ['container', 'pod'] as const) {
      metrics.aligned({ scope, boundary: 'numa_node' }, 0);
      metrics.notAligned({ scope, boundary: 'numa_node' }, 0);
    }
  }

  #allocate(pod: Pod): void {
    const { metrics, policy } = this.#deps;
    if (policy.name === 'none') {
      for (const container of initAndRegularContainers(pod))
        this.#allocateContainer(pod, container, unalignedHint);
      return;
    }
    try {
      this.#allocateAligned(pod);
    } catch (err) {
      metrics.admissionFailed();
      throw err;
    }
  }

  #allocateAligned(pod: Pod): void {
    const { scope } = this.#deps;
    const containers = initAndRegularContainers(pod);
    const podHint = scope === 'pod' ? this.#merge(pod, (provider) => provider.podHints(pod)) : undefined;
    for (const container of containers) {
      const hint =
        podHint ?? this.#merge(pod, (provider) => provider.containerHints(pod, container), container.name);
      this.#allocateContainer(pod, container, hint);
      if (scope === 'container') this.#countAlignment('aligned');
    }
    if (scope === 'pod') this.#countAlignment('aligned');
  }

  #allocateContainer(pod: Pod, container: Container, hint: TopologyHint): void {
    for (const provider of this.#deps.providers) provider.allocate(pod, container, hint);
  }

  #merge(pod: Pod, hintsOf: (provider: HintProvider) => ResourceHints, container?: string): TopologyHint {
    const { numa, policy, providers } = this.#deps;
    const { admit, hint } = computeMergedHint(providers.map(hintsOf), policy, numa);
    const verbose = this.#log.v(4);
    if (verbose.enabled) {
      const nodes = hint.mask === undefined ? 'any' : numa.idsOf(hint.mask);
      verbose.info('Merged topology hints', {
        pod: podRef(pod),
        container,
        nodes,
        preferred: hint.preferred,
        admit,
      });
    }
    if (admit) return hint;
    this.#countAlignment('notAligned');
    // differs from upstream, which stops a pod that runs if the policy has changed: its containers keep what they have.
    if (!isDown(this.#deps.observed.get(podUid(pod)))) {
      this.#log.warn('Kept a running pod although its resources are not aligned', {
        pod: podRef(pod),
        container,
        policy: policy.name,
      });
      return hint;
    }
    throw new KubeletError(
      'conflict',
      'TopologyAffinityError',
      'Resources cannot be allocated with Topology locality',
    );
  }

  /** Only the policy single-numa-node guarantees alignment. */
  #countAlignment(outcome: 'aligned' | 'notAligned'): void {
    const { metrics, policy, scope } = this.#deps;
    if (policy.name === 'single-numa-node') metrics[outcome]({ scope, boundary: 'numa_node' });
  }
}

function rejectionOf(err: unknown): Rejection {
  if (err instanceof KubeletError && admissionErrorReasons.has(err.reason))
    return { reason: err.reason, message: err.message };
  return {
    reason: 'UnexpectedAdmissionError',
    message: `Allocate failed due to ${describeError(err)}, which is unexpected`,
  };
}

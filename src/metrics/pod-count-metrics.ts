// Counts pods by lifecycle and source at each scrape. Upstream: HandlePodCleanups in pkg/kubelet/kubelet_pods.go and
// pkg/kubelet/pod/pod_manager.go.
import type { Pod } from '../api/k8s/types.ts';
import { isActivePod } from '../api/pod/active-pod.ts';
import type { PodLifecycle } from '../api/pod/pod-lifecycle.ts';
import type { Metrics } from '../base/metrics.ts';

interface PodCountDeps {
  readonly registry: Metrics;
  readonly desired: {
    all(): readonly { readonly uid: string; readonly source: string; readonly pod: Pod }[];
  };
  readonly observed: { all(): ReadonlyMap<string, unknown> };
  readonly lifecycles: { all(): ReadonlyMap<string, PodLifecycle> };
}

/** Upstream's label values for a worker's states. */
const lifecycleNames: Readonly<Record<PodLifecycle['state'], string>> = {
  syncing: 'sync',
  terminating: 'terminating',
  terminated: 'terminated',
  rejected: 'terminated',
};
const configs = ['desired', 'orphan', 'runtime_only'];

export function podCountMetrics({ desired, lifecycles, observed, registry }: PodCountDeps): void {
  const active = registry.gauge({
    name: 'kubelet_active_pods',
    help: 'Active pods assigned to this node, by whether they are static.',
    labels: ['static'],
  });
  const working = registry.gauge({
    name: 'kubelet_working_pods',
    help: 'Pods with a worker, by lifecycle, source of the configuration, and whether they are static.',
    labels: ['lifecycle', 'config', 'static'],
  });
  const ephemeral = registry.gauge({
    name: 'kubelet_managed_ephemeral_containers',
    help: 'Ephemeral containers of the pods assigned to this node.',
  });
  registry.onCollect(() => {
    const desiredPods = desired.all();
    const states = lifecycles.all();
    for (const isStatic of [false, true]) {
      const activePods = desiredPods.filter(
        ({ pod, source, uid }) => (source !== 'api') === isStatic && isActivePod(pod, states.get(uid)),
      );
      active.set({ static: isStatic ? 'true' : '' }, activePods.length);
    }
    const sum = desiredPods.reduce(
      (total, { pod }) => total + (pod.spec?.ephemeralContainers?.length ?? 0),
      0,
    );
    ephemeral.set({}, sum);
    working.clear();
    for (const [key, count] of countWorking(desiredPods, states, observed.all())) {
      const [lifecycle = '', config = '', isStatic = ''] = key.split('/');
      working.set({ lifecycle, config, static: isStatic }, count);
    }
  });
}

/** Every combination has a series, as upstream. Whether a pod that is only in the runtime is static is unknown. */
function countWorking(
  desiredPods: ReturnType<PodCountDeps['desired']['all']>,
  states: ReadonlyMap<string, PodLifecycle>,
  observed: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, number> {
  const sources = new Map(desiredPods.map(({ source, uid }) => [uid, source]));
  const counts = new Map<string, number>();
  for (const lifecycle of new Set(Object.values(lifecycleNames))) {
    for (const config of configs) {
      for (const isStatic of config === 'runtime_only' ? ['unknown'] : ['', 'true'])
        counts.set(`${lifecycle}/${config}/${isStatic}`, 0);
    }
  }
  for (const [uid, { state }] of states) {
    const source = sources.get(uid);
    const removed = observed.has(uid) ? 'runtime_only/unknown' : 'orphan/';
    const config = source === undefined ? removed : `desired/${source === 'api' ? '' : 'true'}`;
    const key = `${lifecycleNames[state]}/${config}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

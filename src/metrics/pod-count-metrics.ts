// How many pods are where, counted when somebody asks. Upstream: HandlePodCleanups in pkg/kubelet/kubelet_pods.go and
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

/** A worker's states in upstream's words. */
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
    help: 'Pods that this node was given and that have not ended, by whether they are static.',
    labels: ['static'],
  });
  const working = registry.gauge({
    name: 'kubelet_working_pods',
    help: 'Pods with a worker, by what it does, whether the pod is still wanted, and whether it is static.',
    labels: ['lifecycle', 'config', 'static'],
  });
  const ephemeral = registry.gauge({
    name: 'kubelet_managed_ephemeral_containers',
    help: 'Ephemeral containers of the pods this node was given.',
  });
  registry.onCollect(() => {
    const wanted = desired.all();
    const states = lifecycles.all();
    for (const isStatic of [false, true]) {
      const alive = wanted.filter(
        ({ pod, source, uid }) => (source !== 'api') === isStatic && isActivePod(pod, states.get(uid)),
      );
      active.set({ static: isStatic ? 'true' : '' }, alive.length);
    }
    const sum = wanted.reduce((total, { pod }) => total + (pod.spec?.ephemeralContainers?.length ?? 0), 0);
    ephemeral.set({}, sum);
    working.clear();
    for (const [key, count] of countWorking(wanted, states, observed.all())) {
      const [lifecycle = '', config = '', isStatic = ''] = key.split('/');
      working.set({ lifecycle, config, static: isStatic }, count);
    }
  });
}

/** Every combination is there, as upstream; of a pod that is only on the runtime it is not known whether it was static. */
function countWorking(
  wanted: ReturnType<PodCountDeps['desired']['all']>,
  states: ReadonlyMap<string, PodLifecycle>,
  seen: ReadonlyMap<string, unknown>,
): ReadonlyMap<string, number> {
  const sources = new Map(wanted.map(({ source, uid }) => [uid, source]));
  const counts = new Map<string, number>();
  for (const lifecycle of new Set(Object.values(lifecycleNames))) {
    for (const config of configs) {
      for (const isStatic of config === 'runtime_only' ? ['unknown'] : ['', 'true'])
        counts.set(`${lifecycle}/${config}/${isStatic}`, 0);
    }
  }
  for (const [uid, { state }] of states) {
    const source = sources.get(uid);
    const gone = seen.has(uid) ? 'runtime_only/unknown' : 'orphan/';
    const where = source === undefined ? gone : `desired/${source === 'api' ? '' : 'true'}`;
    const key = `${lifecycleNames[state]}/${where}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

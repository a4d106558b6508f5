// The CPU manager's metrics. Upstream: pkg/kubelet/metrics, set by pkg/kubelet/cm/cpumanager/policy_static.go.
// differs from upstream: the gauges follow the assignments, so CPUs that containers of a pod have in turn count once, and a NUMA
// node whose last exclusive CPU was released returns to 0.
import type { Metrics } from '../../base/metrics.ts';
import type { CpuSet } from './cpu-set.ts';
import type { CpuTopology } from './cpu-topology.ts';

interface Alignment {
  readonly scope: 'container';
  readonly boundary: 'physical_cpu' | 'uncore_cache';
}

/** Registered with the topology manager's metrics, which count NUMA nodes in the same families. `by` 0 creates the series. */
interface AlignmentCounts {
  aligned(alignment: Alignment, by?: number): void;
  notAligned(alignment: Alignment, by?: number): void;
}

const cores = { scope: 'container', boundary: 'physical_cpu' } as const;
const caches = { scope: 'container', boundary: 'uncore_cache' } as const;

export class CpuManagerMetrics {
  readonly #requests;
  readonly #errors;
  readonly #sharedMilli;
  readonly #exclusive;
  readonly #perNuma;
  readonly #alignment: AlignmentCounts;

  constructor(registry: Metrics, alignment: AlignmentCounts) {
    this.#alignment = alignment;
    this.#requests = registry.counter({
      name: 'kubelet_cpu_manager_pinning_requests_total',
      help: 'Containers for which exclusive CPUs were requested.',
    });
    this.#errors = registry.counter({
      name: 'kubelet_cpu_manager_pinning_errors_total',
      help: 'Containers for which exclusive CPUs could not be allocated.',
    });
    this.#sharedMilli = registry.gauge({
      name: 'kubelet_cpu_manager_shared_pool_size_millicores',
      help: 'CPUs that are shared and not reserved, in millicores.',
    });
    this.#exclusive = registry.gauge({
      name: 'kubelet_cpu_manager_exclusive_cpu_allocation_count',
      help: 'CPUs that containers have exclusively.',
    });
    this.#perNuma = registry.gauge({
      name: 'kubelet_cpu_manager_allocation_per_numa',
      help: 'CPUs that containers have exclusively, by NUMA node.',
      labels: ['numa_node'],
    });
    this.#sharedMilli.set({}, 0);
    this.#exclusive.set({}, 0);
  }

  /** Creates the series of the static policy. */
  start(): void {
    this.#alignment.notAligned(cores, 0);
    this.#alignment.aligned(cores, 0);
    this.#alignment.aligned(caches, 0);
  }

  /** `wholeCores`: full-pcpus-only. `cpus`: newly allocated ones; undefined if the container had them. */
  allocated(wholeCores: boolean, cpus: CpuSet | undefined, topology: CpuTopology): void {
    this.#requests.inc({});
    if (wholeCores) this.#alignment.aligned(cores);
    if (cpus !== undefined && topology.isUncoreAligned(cpus)) this.#alignment.aligned(caches);
  }

  failed(wholeCores: boolean): void {
    this.#requests.inc({});
    this.#errors.inc({});
    if (wholeCores) this.#alignment.notAligned(cores);
  }

  /** `shared`: without reserved CPUs. */
  show(shared: CpuSet, exclusive: CpuSet, topology: CpuTopology): void {
    this.#sharedMilli.set({}, shared.size * 1000);
    this.#exclusive.set({}, exclusive.size);
    for (const [node, cpus] of topology.units.numaNode)
      this.#perNuma.set({ numa_node: `${node}` }, cpus.intersection(exclusive).size);
  }
}

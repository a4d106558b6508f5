// Builds the static policy from the configuration and the machine. A wrong configuration keeps the kubelet from starting.
// Upstream: NewManager and NewStaticPolicy in pkg/kubelet/cm/cpumanager.
import { KubeletError } from '../../base/errors.ts';
import type { NumaNodes } from '../topology/numa-nodes.ts';
import { type CpuOptions, cpuStrategyOf, parseCpuOptions } from './cpu-options.ts';
import type { CpuSet } from './cpu-set.ts';
import type { CpuTopology } from './cpu-topology.ts';
import { type CpuReservation, computeReservedCpus } from './reserved-cpus.ts';
import { StaticPolicy } from './static-policy.ts';
import { takeCpus } from './take-cpus.ts';

interface CreatedPolicy {
  readonly policy: StaticPolicy;
  readonly reserved: CpuSet;
  readonly options: CpuOptions;
}

export function createStaticPolicy(
  { numa, topology }: { readonly numa: NumaNodes; readonly topology: CpuTopology },
  config: { readonly options: Readonly<Record<string, string>>; readonly reservation: CpuReservation },
): CreatedPolicy {
  if (topology.numCpus === 0) throw new KubeletError('invalid', 'NoCpus', 'could not detect number of cpus');
  const options = parseCpuOptions(config.options);
  const strategy = cpuStrategyOf(options, topology);
  const reserved = computeReservedCpus(config.reservation, topology.cpus, (count) =>
    takeCpus(topology, topology.cpus, count, strategy),
  );
  return { policy: new StaticPolicy({ topology, numa, options, strategy, reserved }), reserved, options };
}

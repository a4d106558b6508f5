// The options of the static policy (cpuManagerPolicyOptions). Pure. Names, stages, values and combinations were validated with the
// configuration (src/config/validation/manager-rules.ts), so this only reads them.
// Upstream: pkg/kubelet/cm/cpumanager/policy_options.go.
import { KubeletError } from '../../base/errors.ts';
import type { CpuTopology } from './cpu-topology.ts';
import type { CpuStrategy } from './take-cpus.ts';

export interface CpuOptions {
  readonly fullPcpusOnly: boolean;
  readonly distributeAcrossNuma: boolean;
  readonly alignBySocket: boolean;
  readonly distributeAcrossCores: boolean;
  readonly strictReservation: boolean;
  readonly preferAlignByUncoreCache: boolean;
}

/** As Go's strconv.ParseBool. */
const trueTexts: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);

export function parseCpuOptions(record: Readonly<Record<string, string>>): CpuOptions {
  const isOn = (name: string): boolean => Object.hasOwn(record, name) && trueTexts.has(record[name] ?? '');
  return {
    fullPcpusOnly: isOn('full-pcpus-only'),
    distributeAcrossNuma: isOn('distribute-cpus-across-numa'),
    alignBySocket: isOn('align-by-socket'),
    distributeAcrossCores: isOn('distribute-cpus-across-cores'),
    strictReservation: isOn('strict-cpu-reservation'),
    preferAlignByUncoreCache: isOn('prefer-align-cpus-by-uncorecache'),
  };
}

/** How to choose CPUs on this machine. Throws if an option does not suit the machine; the configuration alone cannot show it. */
export function cpuStrategyOf(options: CpuOptions, topology: CpuTopology): CpuStrategy {
  if (options.alignBySocket && topology.numSockets > topology.numNumaNodes)
    throw new KubeletError(
      'invalid',
      'InvalidCpuOptions',
      'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
    );
  return {
    sort: options.distributeAcrossCores ? 'spread' : 'packed',
    preferAlignByUncoreCache: options.preferAlignByUncoreCache,
    ...(options.distributeAcrossNuma && {
      distribute: {
        groupSize: options.fullPcpusOnly ? topology.cpusPerCore : 1,
        alignBySocket: options.alignBySocket,
      },
    }),
  };
}

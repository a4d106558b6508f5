// Derives the settings of sandboxes and containers from the kubelet's configuration and the machine. Pure. What may change is read
// from the configuration for each pod, so that pods that start later have what it is then.
import type { Pod, ResourceList } from '../../api/k8s/types.ts';
import type { ExclusiveResources } from '../../api/ports/exclusive-resources.ts';
import { containerLogsDirectory } from '../paths.ts';
import type { PodConfigSettings, RuntimeGates } from './sandbox-config.ts';

const pageBytes = 4096n;

interface PodConfigSettingsInput {
  readonly config: {
    readonly podLogsDir: string;
    readonly clusterDNS: readonly string[];
    readonly clusterDomain: string;
    readonly resolvConf: string;
    readonly cpuCFSQuota: boolean;
    readonly cpuCFSQuotaPeriod: { readonly ns: bigint };
    readonly singleProcessOOMKill?: boolean | undefined;
    readonly seccompDefault: boolean;
    readonly memorySwap?: { readonly swapBehavior?: string | undefined } | undefined;
    readonly memoryThrottlingFactor?: number | undefined;
    readonly memoryReservationPolicy?: string;
  };
  readonly flags: { readonly rootDir: string; readonly seccompDefault: boolean };
  readonly machine: {
    readonly addresses: readonly string[];
    readonly memoryBytes: bigint;
    readonly hugePageSizes: readonly string[];
    readonly cgroupVersion: 1 | 2;
    readonly cpus?: number;
    readonly selinux?: boolean;
    readonly swapController?: boolean;
    readonly swapBytes?: bigint;
  };
  readonly gates: RuntimeGates & { readonly MemoryQoS: boolean };
  /** The addresses of the Node object; undefined: the machine's. */
  readonly hostIps?: () => readonly string[];
  /** The node's allocatable; undefined: the machine's capacity. */
  readonly allocatable?: () => ResourceList;
  /** Allocatable memory without the eviction reserve; undefined: the machine's memory. */
  readonly maxMemoryBytes?: () => bigint;
  /** Undefined: pods have no cgroups of their own. */
  readonly cgroups?: { parentOf(pod: Pod): string } | undefined;
  /** Undefined: no container has CPUs of its own. */
  readonly exclusive?: Pick<ExclusiveResources, 'hasExclusiveCpus'>;
}

export function podConfigSettings(input: PodConfigSettingsInput): PodConfigSettings {
  const { cgroups, config, exclusive, flags, machine } = input;
  const allocatable = input.allocatable ?? (() => capacity(machine));
  return {
    podLogsDir: config.podLogsDir,
    rootDir: flags.rootDir,
    containerLogsDir: containerLogsDirectory(config.podLogsDir),
    hostIps: input.hostIps ?? (() => machine.addresses),
    allocatable,
    selinux: machine.selinux === true,
    gates: input.gates,
    dns: {
      get clusterDns() {
        return config.clusterDNS;
      },
      get clusterDomain() {
        return config.clusterDomain;
      },
      get resolvConf() {
        return config.resolvConf;
      },
      nodeIps: machine.addresses,
    },
    resources: {
      get cpuCfsQuota() {
        return config.cpuCFSQuota;
      },
      get cpuCfsQuotaPeriodUs() {
        return Number(config.cpuCFSQuotaPeriod.ns / 1_000n);
      },
      memoryCapacityBytes: machine.memoryBytes,
      hugePageSizes: machine.hugePageSizes,
      hasExclusiveCpus: (uid, container) => exclusive?.hasExclusiveCpus(uid, container) === true,
      cgroupVersion: machine.cgroupVersion,
      swap: {
        behavior: config.memorySwap?.swapBehavior === 'LimitedSwap' ? 'LimitedSwap' : 'NoSwap',
        controller: machine.swapController ?? true,
        capacityBytes: machine.swapBytes ?? 0n,
      },
      memoryQos: input.gates.MemoryQoS
        ? {
            get throttlingFactor() {
              return config.memoryThrottlingFactor;
            },
            reservesMemory: config.memoryReservationPolicy === 'TieredReservation',
            pageBytes,
          }
        : undefined,
      allocatableBytes: input.maxMemoryBytes ?? (() => machine.memoryBytes),
      get groupOomKill() {
        return machine.cgroupVersion === 2 && config.singleProcessOOMKill !== true;
      },
    },
    seccomp: {
      profileRoot: `${flags.rootDir}/seccomp`,
      get defaultToRuntime() {
        return config.seccompDefault || flags.seccompDefault;
      },
    },
    cgroupParent: (pod) => cgroups?.parentOf(pod) ?? '',
  };
}

function capacity(machine: PodConfigSettingsInput['machine']): ResourceList {
  return {
    ...(machine.cpus === undefined ? {} : { cpu: String(machine.cpus) }),
    memory: String(machine.memoryBytes),
  };
}

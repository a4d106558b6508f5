// What the node's configuration and the machine mean for the sandboxes and containers of pods. Pure.
import type { PodConfigSettings } from './sandbox-config.ts';

export interface PodConfigSettingsInput {
  readonly config: {
    readonly podLogsDir: string;
    readonly clusterDNS: readonly string[];
    readonly clusterDomain: string;
    readonly resolvConf: string;
    readonly cpuCFSQuota: boolean;
    readonly cpuCFSQuotaPeriod: { readonly ms: number };
    readonly singleProcessOOMKill?: boolean | undefined;
    readonly seccompDefault: boolean;
  };
  readonly flags: { readonly rootDir: string; readonly seccompDefault: boolean };
  readonly machine: {
    readonly addresses: readonly string[];
    readonly memoryBytes: bigint;
    readonly hugePageSizes: readonly string[];
    readonly cgroupVersion: 1 | 2;
  };
  readonly cgroupParent: PodConfigSettings['cgroupParent'];
}

export function podConfigSettings(input: PodConfigSettingsInput): PodConfigSettings {
  const { cgroupParent, config, flags, machine } = input;
  return {
    podLogsDir: config.podLogsDir,
    rootDir: flags.rootDir,
    dns: {
      clusterDns: config.clusterDNS,
      clusterDomain: config.clusterDomain,
      resolvConf: config.resolvConf,
      nodeIps: machine.addresses,
    },
    resources: {
      cpuCfsQuota: config.cpuCFSQuota,
      cpuCfsQuotaPeriodUs: config.cpuCFSQuotaPeriod.ms * 1_000,
      memoryCapacityBytes: machine.memoryBytes,
      hugePageSizes: machine.hugePageSizes,
      groupOomKill: machine.cgroupVersion === 2 && config.singleProcessOOMKill !== true,
    },
    seccomp: {
      profileRoot: `${flags.rootDir}/seccomp`,
      defaultToRuntime: config.seccompDefault || flags.seccompDefault,
    },
    cgroupParent,
  };
}

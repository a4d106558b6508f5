// The settings and the rules of the start that kubelet doctor judges by, from a loaded command line.
import { resolve } from 'node:path';
import type { RunOutcome } from '../../config/command-line/load-command-line.ts';
import { type ParsedArgs, parseArgs } from '../../config/command-line/parse-args.ts';
import { neededPrograms } from '../../config/needed-programs.ts';
import { kubeletFlags } from '../../config/table/kubelet-flags.ts';
import { versionNumbers } from '../../config/version.ts';
import type { DoctorSettings, KubeletProcess, ServedPort, StartupRules } from '../../doctor/facts.ts';
import { reservationFault } from '../../resources/allocatable/node-allocatable.ts';
import { NodeBudget } from '../../resources/allocatable/node-budget.ts';
import { canKeepOutOfSwap, reservedCpusFault } from '../../resources/allocatable/node-checks.ts';
import { admissionFault } from '../../server/auth/build-admission.ts';
import { nodeIpProblem, parseNodeIps } from '../../startup/node-ips.ts';
import { nodeName } from '../../startup/node-name.ts';
import { kernelSettings, requiredControllers } from '../../startup/node-requirements.ts';

export function doctorSettings(
  { args, config, flags, settingWarnings, warnings }: RunOutcome,
  settingProblems: readonly string[],
): DoctorSettings {
  return {
    ...config,
    rootDir: resolve(flags.rootDir),
    isDefault: fileFlags.every((name) => !isUsed(args, name)),
    runtimeEndpoint: config.containerRuntimeEndpoint,
    swapBehavior: config.memorySwap.swapBehavior,
    ports: servedPorts(config, flags),
    programs: neededPrograms(config),
    settingWarnings: [
      ...settingWarnings.map(({ message, values }) => `${message}: ${Object.values(values).join(', ')}`),
      ...warnings,
    ],
    settingProblems,
    nodeIp: flags.nodeIP,
    version: versionNumbers,
  };
}

/** The flags that name the files with a kubelet's settings. */
const fileFlags = ['config', 'config-dir', 'bootstrap-kubeconfig', 'kubeconfig'];

/** The last value of a flag, which is the one in force. */
function lastUse({ uses }: ParsedArgs, name: string): string | undefined {
  return [...uses].find(([entry]) => entry.name === name)?.[1].at(-1);
}

function isUsed(args: ParsedArgs, name: string): boolean {
  return (lastUse(args, name) ?? '') !== '';
}

/** A running kubelet by its command line. */
export function runningKubelet(pid: number, argv: readonly string[]): KubeletProcess {
  const args = parseArgs(argv);
  return {
    pid,
    rootDir: resolve(lastUse(args, 'root-dir') ?? kubeletFlags.rootDir.default),
    files: fileFlags.filter((name) => isUsed(args, name)).map((name) => `--${name}=${lastUse(args, name)}`),
  };
}

function servedPorts(config: RunOutcome['config'], flags: RunOutcome['flags']): readonly ServedPort[] {
  const { address, enableServer, healthzBindAddress, healthzPort, port, readOnlyPort } = config;
  return [
    { setting: 'port', port: enableServer ? port : 0, address },
    { setting: 'readOnlyPort', port: readOnlyPort, address },
    { setting: 'healthzPort', port: healthzPort, address: healthzBindAddress },
    { setting: '--dashboard-port', port: flags.dashboardPort, address: flags.dashboardAddress },
  ];
}

export function startupRules({ config, flags }: RunOutcome): StartupRules {
  const { cloudProvider, hostnameOverride, nodeIP } = flags;
  return {
    kernelSettings,
    requiredControllers,
    admissionFault: (hasApi) => admissionFault(config, hasApi),
    canKeepOutOfSwap,
    reservationFault: (machine) => {
      const budget = new NodeBudget(machine, config, flags);
      return (
        reservedCpusFault(config.reservedSystemCPUs, machine.onlineCpus) ??
        reservationFault(budget.capacity(), budget.reservation())
      );
    },
    nodeName: (hostname) => nodeName(hostname, hostnameOverride),
    nodeIpProblems: (addresses) =>
      parseNodeIps(nodeIP, { cloudProvider })
        .ips.filter((ip) => ip !== '0.0.0.0' && ip !== '::')
        .flatMap((ip) => {
          const problem = nodeIpProblem(ip, addresses);
          return problem === undefined ? [] : [`${ip} ${problem}`];
        }),
  };
}

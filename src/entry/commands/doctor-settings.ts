// The settings and the rules of the start that kubelet doctor judges by, from a loaded command line.
import type { RunOutcome } from '../../config/command-line/load-command-line.ts';
import { neededPrograms } from '../../config/needed-programs.ts';
import { versionNumbers } from '../../config/version.ts';
import type { DoctorSettings, ServedPort, StartupRules } from '../../doctor/facts.ts';
import { nodeIpProblem, parseNodeIps } from '../../startup/node-ips.ts';
import { nodeName } from '../../startup/node-name.ts';
import { kernelSettings, requiredControllers } from '../../startup/node-requirements.ts';

export function doctorSettings(
  { config, flags, settingWarnings, warnings }: RunOutcome,
  settingProblems: readonly string[],
): DoctorSettings {
  return {
    ...config,
    rootDir: flags.rootDir,
    runtimeEndpoint: config.containerRuntimeEndpoint,
    swapBehavior: config.memorySwap.swapBehavior,
    ports: servedPorts(config),
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

function servedPorts(config: RunOutcome['config']): readonly ServedPort[] {
  const { address, enableServer, healthzBindAddress, healthzPort, port, readOnlyPort } = config;
  return [
    { setting: 'port', port: enableServer ? port : 0, address },
    { setting: 'readOnlyPort', port: readOnlyPort, address },
    { setting: 'healthzPort', port: healthzPort, address: healthzBindAddress },
  ];
}

export function startupRules({ flags }: RunOutcome): StartupRules {
  const { cloudProvider, hostnameOverride, nodeIP } = flags;
  return {
    kernelSettings,
    requiredControllers,
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

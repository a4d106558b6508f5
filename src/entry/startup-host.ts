// Plugs the edges into the start-up steps: what start-up needs of the process, the machine and the runtime.
import { networkInterfaces } from 'node:os';
import type { OpenCluster } from '../assemble/cluster-api.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log/log.ts';
import type { RunOutcome } from '../config/command-line/load-command-line.ts';
import type { Hierarchies } from '../edge/cgroup/hierarchies.ts';
import { criClient } from '../edge/cri/client.ts';
import { acquireLockFile, watchLockFile } from '../edge/files/lock-file.ts';
import { createNodeDirectories } from '../edge/files/node-directories.ts';
import { kernelHost } from '../edge/machine/kernel-host.ts';
import type { MachineFacts } from '../edge/machine/machine.ts';
import { applyOomScore } from '../edge/machine/oom-score.ts';
import { setOpenFiles } from '../edge/machine/open-files.ts';
import { shareMount } from '../edge/mount/shared-mount.ts';
import { containerLogsDirectory } from '../runtime/paths.ts';
import type { StartupHost, StartupSettings } from '../startup/startup-steps.ts';
import { loadCluster } from './open-cluster.ts';

const runtimeConfigTimeoutMs = 5_000;

export function startupSettings(
  { config, flags, gates }: RunOutcome,
  machine: Pick<MachineFacts, 'inUserNamespace'>,
): StartupSettings {
  return {
    ...flags,
    ...config,
    nodeIp: flags.nodeIP,
    systemdWatchdog: gates.SystemdWatchdog,
    ignoreKernelSettings: gates.KubeletInUserNamespace && machine.inUserNamespace === true,
  };
}

interface StartupHostInput {
  readonly outcome: RunOutcome;
  readonly machine: MachineFacts;
  /** Undefined on a machine without cgroups. */
  readonly hierarchies: Hierarchies | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
}

export function startupHost(input: StartupHostInput): StartupHost<OpenCluster> {
  const { clock, hierarchies, log, machine, outcome, random } = input;
  const { config, flags, gates } = outcome;
  return {
    hostname: machine.hostname,
    uid: process.getuid?.() ?? -1,
    pid: process.pid,
    env: process.env,
    addresses: Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).map(({ address }) => address),
    ),
    acquireLock: (path, options) => acquireLockFile(path, { clock, ...options }),
    watchLock: watchLockFile,
    applyOomScore: (score) => applyOomScore(score),
    setOpenFiles: (limit) => setOpenFiles(limit),
    shareMount,
    ...kernelHost,
    controllers: async () => (hierarchies?.version === 1 ? [...hierarchies.mountPoints.keys()] : undefined),
    createDirectories: () =>
      createNodeDirectories({
        rootDir: flags.rootDir,
        podLogsDir: config.podLogsDir,
        containerLogsDir: containerLogsDirectory(config.podLogsDir),
        checkpoints: gates.ContainerCheckpoint,
      }),
    loadCluster: (nodeName) => loadCluster({ ...outcome, nodeName, clock, random, log }),
    runtimeConfig: async (signal) => {
      const cri = criClient({ runtimeEndpoint: config.containerRuntimeEndpoint, clock });
      try {
        return await cri.runtimeConfig({}, { signal, timeoutMs: runtimeConfigTimeoutMs });
      } finally {
        cri.close();
      }
    },
  };
}

// argv → configuration → start-up steps → assemble → run until a signal → exit code. Upstream: cmd/kubelet/app/server.go.
// Like assemble.ts it knows everyone; what it adds is the process around the kubelet: streams, environment, systemd.
import { readdir, readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { assemble, type Kubelet } from '../assemble/kubelet.ts';
import { loadCluster } from '../assemble/open-cluster.ts';
import { realClock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import { Aborted, KubeletError } from '../base/errors.ts';
import { type Logger, Verbosity } from '../base/log/log.ts';
import { jsonLogger } from '../base/log/log-json.ts';
import { textLogger } from '../base/log/log-text.ts';
import { Supervisor } from '../base/supervisor.ts';
import { loadCommandLine, type RunOutcome } from '../config/command-line/load-command-line.ts';
import { maskedConfiguration } from '../config/configz.ts';
import type { ConfigurationFiles } from '../config/load/read-files.ts';
import { findHierarchies, type Hierarchies } from '../edge/cgroup/hierarchies.ts';
import { criClient } from '../edge/cri/client.ts';
import { acquireLockFile, watchLockFile } from '../edge/files/lock-file.ts';
import { createNodeDirectories } from '../edge/files/node-directories.ts';
import { kernelHost } from '../edge/machine/kernel-host.ts';
import { type MachineFacts, readMachine } from '../edge/machine/machine.ts';
import { readMachineCapacity } from '../edge/machine/machine-capacity.ts';
import { applyOomScore } from '../edge/machine/oom-score.ts';
import { setOpenFiles } from '../edge/machine/open-files.ts';
import { shareMount } from '../edge/mount/shared-mount.ts';
import { realEdges } from '../edge/real-edges.ts';
import { SdNotify } from '../edge/systemd/sd-notify.ts';
import { containerLogsDirectory } from '../runtime/paths.ts';
import { findCgroupDriver } from '../startup/cgroup-driver.ts';
import { logEffectiveConfiguration } from '../startup/effective-config.ts';
import { RunOnce } from '../startup/run-once-loop.ts';
import { runStartup } from '../startup/run-startup.ts';
import { startupSteps } from '../startup/startup-steps.ts';
import { SystemdReady } from '../startup/systemd-ready.ts';
import { Watchdog, watchdogIntervalMs } from '../startup/watchdog.ts';

const startDeadlineMs = 60_000;
const stopDeadlineMs = 10_000;
const runtimeAnswerMs = 5_000;
const clock = realClock;
const random = Math.random;

/**
 * The exit code. `stop` is aborted by signals; the command aborts it itself when it is done by itself. `beside` is the
 * address of the file that was run: other entry points lie beside it.
 */
export async function runCommand(
  argv: readonly string[],
  stop: AbortController,
  beside: string,
): Promise<number> {
  const outcome = await loadCommandLine({
    argv,
    files: configurationFiles(),
    host: async () => ({ cgroupVersion: (await readMachine()).cgroupVersion }),
  });
  if (outcome.kind === 'run') return await run(outcome, stop, beside);
  const stream = outcome.kind === 'print' ? process.stdout : process.stderr;
  stream.write(outcome.text);
  return outcome.exitCode;
}

async function run(outcome: RunOutcome, stop: AbortController, beside: string): Promise<number> {
  const { config, settingWarnings, version, warnings } = outcome;
  const verbosity = new Verbosity(config.logging.verbosity);
  const log = makeLogger(config.logging.format, verbosity);
  for (const warning of warnings) log.warn(warning);
  for (const { message, values } of settingWarnings) log.warn(message, values);
  log.info('Kubelet version', { kubeletVersion: version, node: process.version });
  logEffectiveConfiguration(log, () => maskedConfiguration(config));
  try {
    const code = await startAndServe(outcome, { log, verbosity }, stop, beside);
    log.info('Kubelet stopped; containers go on running');
    return code;
  } catch (err) {
    log.error('Kubelet failed', { err });
    return 1;
  }
}

async function startAndServe(
  outcome: RunOutcome,
  { log, verbosity }: { readonly log: Logger; readonly verbosity: Verbosity },
  stop: AbortController,
  beside: string,
): Promise<number> {
  const { args, config, credentialProviders, flags, gates } = outcome;
  const watchdogMs = gates.SystemdWatchdog ? watchdogIntervalMs(process.env, process.pid) : undefined;
  const machine = await readMachine();
  const mounted = await hierarchies(log);
  const steps = startupSteps({
    settings: { ...flags, ...config, nodeIp: flags.nodeIP },
    host: startupHost(outcome, machine, mounted),
    registerConfigz: () => undefined,
    onLockContention: () => stop.abort(new Aborted('another process wants the lock file')),
    log,
  });
  const started = await runStartup(steps, { log, clock, signal: stop.signal });
  if (started.kind === 'stopped') return 0;
  const { nodeIps, nodeName, standalone } = started;
  const cluster = standalone ? undefined : await loadCluster({ ...outcome, nodeName, clock, random, log });
  const cgroupDriver = await runtimesCgroupDriver(config, stop.signal, log);
  const kubelet = assemble({
    args,
    config: { ...config, cgroupDriver },
    flags,
    gates,
    credentialProviders,
    machine,
    nodeName,
    nodeIps,
    cluster,
    capacity: await readMachineCapacity(flags.rootDir),
    edges: realEdges(clock, beside, mounted),
    clock,
    random,
    log,
    verbosity,
  });
  try {
    return await supervise({ config, watchdogMs }, kubelet, log, stop);
  } finally {
    kubelet.close();
    started.close();
  }
}

async function supervise(
  { config, watchdogMs }: Pick<RunOutcome, 'config'> & { readonly watchdogMs: number | undefined },
  kubelet: Kubelet,
  log: Logger,
  stop: AbortController,
): Promise<number> {
  const runOnce = config.runOnce ? new RunOnce({ ...kubelet.stores, clock, log }) : undefined;
  let code = 0;
  void runOnce?.outcome.then(({ exit }) => {
    code = exit;
    stop.abort(new Aborted('every pod was run once'));
    return undefined;
  });
  const supervisor = new Supervisor({
    components: [
      ...systemdWatchdog(watchdogMs, kubelet, log),
      ...kubelet.components,
      ...(runOnce === undefined ? [] : [runOnce]),
      new SystemdReady({ notify: (state) => systemd().notify(state), log }),
    ],
    clock,
    log,
    startDeadlineMs,
    stopDeadlineMs,
  });
  await supervisor.run(stop.signal);
  return code;
}

/** First in the list, so that systemd hears of us until everything else has stopped. */
function systemdWatchdog(
  intervalMs: number | undefined,
  kubelet: Kubelet,
  log: Logger,
): readonly Component[] {
  if (intervalMs === undefined) return [];
  const notifier = systemd();
  return [
    new Watchdog({
      intervalMs,
      check: () => {
        const problem = kubelet.checks.find(({ name }) => name === 'syncloop')?.check();
        if (problem !== undefined) throw new KubeletError('unavailable', 'SyncLoop', problem);
      },
      notify: (state, signal) => notifier.notify(state, signal),
      clock,
      log,
      random,
    }),
  ];
}

function systemd(): SdNotify {
  return new SdNotify({ socket: process.env['NOTIFY_SOCKET'], clock });
}

function startupHost(
  { config, flags, gates }: RunOutcome,
  machine: MachineFacts,
  mounted: Hierarchies | undefined,
): Parameters<typeof startupSteps>[0]['host'] {
  const { podLogsDir } = config;
  return {
    hostname: machine.hostname,
    uid: process.getuid?.() ?? -1,
    addresses: Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).map(({ address }) => address),
    ),
    acquireLock: (path, options) => acquireLockFile(path, { clock, ...options }),
    watchLock: watchLockFile,
    applyOomScore: (score) => applyOomScore(score),
    setOpenFiles: (limit) => setOpenFiles(limit),
    shareMount,
    ...kernelHost,
    controllers: async () => (mounted?.version === 1 ? [...mounted.mountPoints.keys()] : undefined),
    createDirectories: () =>
      createNodeDirectories({
        rootDir: flags.rootDir,
        podLogsDir,
        containerLogsDir: containerLogsDirectory(podLogsDir),
        checkpoints: gates.ContainerCheckpoint,
      }),
  };
}

async function runtimesCgroupDriver(
  config: RunOutcome['config'],
  signal: AbortSignal,
  log: Logger,
): Promise<string> {
  const cri = criClient({ runtimeEndpoint: config.containerRuntimeEndpoint, clock });
  try {
    return await findCgroupDriver({
      runtimeConfig: (each) => cri.runtimeConfig({}, { signal: each, timeoutMs: runtimeAnswerMs }),
      configured: config.cgroupDriver,
      clock,
      signal,
      log,
    });
  } finally {
    cri.close();
  }
}

/** A machine without cgroups can still run pods, each in whatever the runtime makes of it. */
async function hierarchies(log: Logger): Promise<Hierarchies | undefined> {
  try {
    return await findHierarchies();
  } catch (err) {
    log.error('Pods get no cgroups of their own', { err });
    return undefined;
  }
}

function configurationFiles(): ConfigurationFiles {
  return {
    read: (path) => readFile(path, 'utf8'),
    list: async (path) =>
      (await readdir(path, { withFileTypes: true })).map((entry) => ({
        name: entry.name,
        isDirectory: entry.isDirectory(),
      })),
    workingDirectory: process.cwd(),
  };
}

function makeLogger(format: string, verbosity: Verbosity): Logger {
  const options = {
    write: (line: string) => process.stderr.write(line),
    clock,
    verbosity,
    pid: process.pid,
  };
  return format === 'json' ? jsonLogger(options) : textLogger(options);
}

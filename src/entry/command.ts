// The kubelet command: argv → configuration → start-up steps → assemble → run until a signal → exit code.
// Upstream: cmd/kubelet/app/server.go. Owns what belongs to the process: its streams, environment and exit code.
import { readdir, readFile } from 'node:fs/promises';
import { assemble, type Kubelet } from '../assemble/kubelet.ts';
import { realClock } from '../base/clock.ts';
import { Aborted } from '../base/errors.ts';
import { type Logger, Verbosity } from '../base/log/log.ts';
import { jsonLogger } from '../base/log/log-json.ts';
import { textLogger } from '../base/log/log-text.ts';
import { Supervisor } from '../base/supervisor.ts';
import { loadCommandLine, type RunOutcome } from '../config/command-line/load-command-line.ts';
import { maskedConfiguration } from '../config/configz.ts';
import type { ConfigurationFiles } from '../config/load/read-files.ts';
import { findHierarchies, type Hierarchies } from '../edge/cgroup/hierarchies.ts';
import { hasTlsGroup } from '../edge/http/tls-groups.ts';
import { readMachine } from '../edge/machine/machine.ts';
import { readMachineCapacity } from '../edge/machine/machine-capacity.ts';
import { flatTopology, readMachineTopology } from '../edge/machine/machine-topology.ts';
import { realEdges } from '../edge/real-edges.ts';
import { SdNotify } from '../edge/systemd/sd-notify.ts';
import { openTracing } from '../edge/tracing/open-tracing.ts';
import { needsTopology } from '../resources/topology/topology-policy.ts';
import { logEffectiveConfiguration } from '../startup/effective-config.ts';
import { RunOnce } from '../startup/run-once-loop.ts';
import { runStartup } from '../startup/run-startup.ts';
import { startupSteps } from '../startup/startup-steps.ts';
import { SystemdReady } from '../startup/systemd-ready.ts';
import { checkSyncLoop, Watchdog } from '../startup/watchdog.ts';
import { logOutput } from './log-output.ts';
import { startupHost, startupSettings } from './startup-host.ts';

const startDeadlineMs = 60_000;
const stopDeadlineMs = 10_000;
const clock = realClock;
const random = Math.random;

interface Run {
  readonly outcome: RunOutcome;
  readonly log: Logger;
  readonly verbosity: Verbosity;
  readonly stop: AbortController;
  readonly entryUrl: string;
}

/**
 * Returns the exit code. Signals abort `stop`; so does the kubelet itself when it has nothing left to do. `entryUrl` is the URL
 * of the entry file; the entry files of threads lie beside it.
 */
export async function runCommand(
  argv: readonly string[],
  stop: AbortController,
  entryUrl: string,
): Promise<number> {
  const outcome = await loadCommandLine({
    argv,
    files: configurationFiles(),
    host: async () => ({ cgroupVersion: (await readMachine()).cgroupVersion, hasTlsGroup }),
  });
  if (outcome.kind !== 'run') {
    const stream = outcome.kind === 'print' ? process.stdout : process.stderr;
    stream.write(outcome.text);
    return outcome.exitCode;
  }
  const verbosity = new Verbosity(outcome.config.logging.verbosity);
  const log = createLogger(outcome.config.logging.format, verbosity);
  logSettings(outcome, log);
  try {
    const exitCode = await runKubelet({ outcome, log, verbosity, stop, entryUrl });
    log.info('Kubelet stopped; containers keep running');
    return exitCode;
  } catch (err) {
    log.error('Kubelet failed', { err });
    return 1;
  }
}

function logSettings(outcome: RunOutcome, log: Logger): void {
  const { config, settingWarnings, skippedFiles, version, warnings } = outcome;
  for (const warning of warnings) log.warn(warning);
  for (const { message, values } of settingWarnings) log.warn(message, values);
  for (const file of skippedFiles)
    log.v(4).info('Skipped file in drop-in directory (does not have .conf extension)', { file });
  log.info('Kubelet version', { kubeletVersion: version, node: process.version });
  logEffectiveConfiguration(log, maskedConfiguration(config));
}

async function runKubelet(run: Run): Promise<number> {
  const { entryUrl, log, outcome, stop, verbosity } = run;
  const { args, config, credentialProviders, flags, gates } = outcome;
  const machine = await readMachine();
  const hierarchies = await findHierarchiesIfAny(log);
  const steps = startupSteps({
    settings: startupSettings(outcome, machine),
    host: startupHost({ outcome, machine, hierarchies, clock, random, log }),
    onLockContention: () => stop.abort(new Aborted('another process wants the lock file')),
    clock,
    log,
  });
  const started = await runStartup(steps, { log, clock, signal: stop.signal });
  if (started.kind === 'stopped') return 0;
  const { cgroupDriver, cluster, nodeIps, nodeName, runtimeReportsConfig, watchdogIntervalMs } = started;
  const tracing = await openTracing({ tracing: config.tracing, hostName: nodeName, clock, log });
  const kubelet = assemble({
    args,
    config: { ...config, cgroupDriver },
    flags,
    gates,
    credentialProviders,
    machine,
    nodeName,
    runtimeReportsConfig,
    nodeIps,
    cluster,
    capacity: await readMachineCapacity(flags.rootDir),
    topology: needsTopology(config) ? await readMachineTopology() : flatTopology(machine.onlineCpus ?? ''),
    edges: realEdges(clock, entryUrl, hierarchies),
    clock,
    random,
    log,
    tracer: tracing?.tracer,
    verbosity,
  });
  try {
    return await supervise(run, kubelet, watchdogIntervalMs);
  } finally {
    kubelet.close();
    started.close();
    await tracing?.close();
  }
}

/** Runs the components until `stop` is aborted. The watchdog is the first to start and the last to stop. */
async function supervise(
  { log, outcome, stop }: Run,
  kubelet: Kubelet,
  watchdogIntervalMs: number | undefined,
): Promise<number> {
  const systemd = new SdNotify({ socket: process.env['NOTIFY_SOCKET'], clock });
  const notify = (state: string, signal?: AbortSignal): Promise<boolean> => systemd.notify(state, signal);
  const watchdog =
    watchdogIntervalMs === undefined
      ? undefined
      : new Watchdog({
          intervalMs: watchdogIntervalMs,
          check: () => checkSyncLoop(kubelet.checks),
          notify,
          clock,
          log,
          random,
        });
  const stopWhenDone = (): void => stop.abort(new Aborted('all pods were run once'));
  const { desired, statuses } = kubelet.stores;
  const runOnce = outcome.config.runOnce
    ? new RunOnce({ desired, statuses, stop: stopWhenDone, clock, log })
    : undefined;
  const components = [watchdog, ...kubelet.components, runOnce, new SystemdReady({ notify, log })];
  const supervisor = new Supervisor({
    components: components.filter((component) => component !== undefined),
    clock,
    log,
    startDeadlineMs,
    stopDeadlineMs,
  });
  await supervisor.run(stop.signal);
  return runOnce?.end?.exit ?? 0;
}

/** Pods can run without cgroups; the runtime then places them where it wants. */
async function findHierarchiesIfAny(log: Logger): Promise<Hierarchies | undefined> {
  try {
    return await findHierarchies();
  } catch (err) {
    log.error('Failed to find the cgroup hierarchies, running pods without cgroups of their own', { err });
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

function createLogger(format: string, verbosity: Verbosity): Logger {
  const options = {
    write: logOutput(),
    clock,
    verbosity,
    pid: process.pid,
  };
  return format === 'json' ? jsonLogger(options) : textLogger(options);
}

// The kubelet command: argv → configuration → start-up steps → assemble → run until a signal → exit code.
// Upstream: cmd/kubelet/app/server.go. Owns what belongs to the process: its streams, environment and exit code.
import { assemble, type Kubelet } from '../assemble/kubelet.ts';
import { realClock } from '../base/clock.ts';
import { Aborted } from '../base/errors.ts';
import { type Logger, Verbosity } from '../base/log/log.ts';
import { jsonLogger } from '../base/log/log-json.ts';
import { textLogger } from '../base/log/log-text.ts';
import { Supervisor } from '../base/supervisor.ts';
import { loadCommandLine, type RunOutcome } from '../config/command-line/load-command-line.ts';
import { maskedConfiguration } from '../config/configz.ts';
import type { HostFacts } from '../config/validation/context.ts';
import { findHierarchies, type Hierarchies } from '../edge/cgroup/hierarchies.ts';
import { ConfigurationDirectory } from '../edge/files/configuration-files.ts';
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
import { configurationFiles } from './configuration-files.ts';
import { type LiveCommandRun, type LiveRun, liveConfigFlags, runLiveCommand } from './live-command.ts';
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
  /** With --live-config: what follows this kubelet. */
  readonly live?: LiveRun;
}

interface ProcessInput {
  /** The URL of the entry file; the entry files of threads lie beside it. */
  readonly entryUrl: string;
  readonly onHangup: (listener: () => void) => void;
}

/** Returns the exit code. Signals abort `stop`; so does the kubelet itself when it has nothing left to do. */
export async function runCommand(
  argv: readonly string[],
  stop: AbortController,
  { entryUrl, onHangup }: ProcessInput,
): Promise<number> {
  const host = async (): Promise<HostFacts> => ({
    cgroupVersion: (await readMachine()).cgroupVersion,
    hasTlsGroup,
  });
  const flags = liveConfigFlags(argv);
  if (flags !== undefined) {
    const verbosity = new Verbosity(0);
    const write = logOutput();
    const loggerOf = (format: string): Logger => createLogger(format, verbosity, write);
    const run: LiveCommandRun = (outcome, log, live, life) => {
      verbosity.set(outcome.config.logging.verbosity);
      logSettings(outcome, log);
      return runKubelet({ outcome, log, verbosity, stop: life, entryUrl, ...(live && { live }) });
    };
    const files = new ConfigurationDirectory(process.cwd(), clock);
    return await runLiveCommand({ argv, flags, files, host, run, loggerOf, onHangup, clock, random }, stop);
  }
  const outcome = await loadCommandLine({ argv, files: configurationFiles(), host });
  if (outcome.kind !== 'run') {
    const stream = outcome.kind === 'print' ? process.stdout : process.stderr;
    stream.write(outcome.text);
    return outcome.exitCode;
  }
  const verbosity = new Verbosity(outcome.config.logging.verbosity);
  const log = createLogger(outcome.config.logging.format, verbosity, logOutput());
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
  const { entryUrl, live, log, outcome, stop, verbosity } = run;
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
  const inForce = live?.kubelet.begin({ ...config, cgroupDriver });
  const tracing = await openTracing({ tracing: config.tracing, hostName: nodeName, clock, log });
  const kubelet = assemble({
    args,
    config: inForce?.view ?? { ...config, cgroupDriver },
    live: inForce,
    configStatus: live?.status,
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
  live?.kubelet.assembled(kubelet);
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
  { live, log, outcome, stop }: Run,
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
  const ready = new SystemdReady({ notify, log, ...(live && { stopState: live.stopState }) });
  const components = [watchdog, ...kubelet.components, runOnce, live?.started, ready];
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

function createLogger(format: string, verbosity: Verbosity, write: (line: string) => void): Logger {
  const options = {
    write,
    clock,
    verbosity,
    pid: process.pid,
  };
  return format === 'json' ? jsonLogger(options) : textLogger(options);
}

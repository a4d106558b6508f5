// The list of start-up steps, from a valid configuration to the first component, in order.
// Upstream: run and RunKubelet in cmd/kubelet/app/server.go, setupDataDirs in pkg/kubelet/kubelet.go.
// Invariant: building the list does nothing; docs/start-up.md has the same steps in the same order, which a test checks.
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { findCgroupDriver, type RuntimeConfigCall } from './cgroup-driver.ts';
import { nodeIpProblem, parseNodeIps } from './node-ips.ts';
import { nodeName } from './node-name.ts';
import { type RequirementHost, type RequirementSettings, requirementSteps } from './node-requirements.ts';
import type { Closable, StartupStep, StepResult } from './startup-step.ts';
import { type WatchdogEnvironment, watchdogIntervalMs } from './watchdog.ts';

/** From the flags (f), the configuration (c) and the feature gates (g). */
export interface StartupSettings extends RequirementSettings {
  /** g SystemdWatchdog */
  readonly systemdWatchdog: boolean;
  /** f --lock-file; empty: none. */
  readonly lockFile: string;
  /** f --exit-on-lock-contention */
  readonly exitOnLockContention: boolean;
  /** f --kubeconfig; empty: standalone. */
  readonly kubeconfig: string;
  /** f --hostname-override */
  readonly hostnameOverride: string;
  /** f --node-ip */
  readonly nodeIp: string;
  /** f --cloud-provider */
  readonly cloudProvider: string;
  /** c oomScoreAdj */
  readonly oomScoreAdj: number;
  /** c maxOpenFiles */
  readonly maxOpenFiles: number;
  /** f --root-dir */
  readonly rootDir: string;
  /** c cgroupDriver */
  readonly cgroupDriver: string;
}

/** The host, as far as start-up touches it. */
export interface StartupHost<Cluster> extends RequirementHost {
  readonly hostname: string;
  /** Of every interface. */
  readonly addresses: readonly string[];
  readonly uid: number;
  readonly pid: number;
  readonly env: WatchdogEnvironment;
  acquireLock(path: string, options: { signal: AbortSignal; onWait(): void }): Promise<Closable>;
  watchLock(path: string, onContention: (event: string) => void): Promise<Closable>;
  applyOomScore(score: number): Promise<void>;
  setOpenFiles(limit: number): Promise<void>;
  createDirectories(): Promise<void>;
  /** Returns what had to be done, for the log. */
  shareMount(directory: string): Promise<string>;
  /** Rejects when the kubeconfig cannot be used. Does not wait for the API server. */
  loadCluster(nodeName: string): Promise<Cluster>;
  readonly runtimeConfig: RuntimeConfigCall;
}

export interface StartupInput<Cluster> {
  readonly settings: StartupSettings;
  readonly host: StartupHost<Cluster>;
  /** Stops the kubelet cleanly: another process wants the lock file. */
  readonly onLockContention: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export function startupSteps<Cluster>(input: StartupInput<Cluster>): readonly StartupStep<Cluster>[] {
  const { settings, host, log } = input;
  return [
    watchdogStep(input),
    ...lockSteps(input),
    {
      name: 'node name',
      setting: '--hostname-override',
      onFailure: 'fail',
      run: async () => ({ nodeName: nodeName(host.hostname, settings.hostnameOverride) }),
    },
    ...nodeIpSteps(input),
    { name: 'permissions', onFailure: 'warn', run: async () => checkUser(host.uid) },
    ...requirementSteps(settings, host, log),
    {
      name: 'OOM score',
      setting: 'oomScoreAdj (--oom-score-adj)',
      onFailure: 'warn',
      run: async () => {
        await host.applyOomScore(settings.oomScoreAdj);
        return {};
      },
    },
    {
      name: 'open files',
      setting: 'maxOpenFiles (--max-open-files)',
      onFailure: 'warn',
      run: async () => {
        await host.setOpenFiles(settings.maxOpenFiles);
        return {};
      },
    },
    ...directorySteps(input),
    clusterStep(input),
    cgroupDriverStep(input),
  ];
}

function watchdogStep<Cluster>({ settings, host }: StartupInput<Cluster>): StartupStep<Cluster> {
  return {
    name: 'systemd watchdog',
    setting: 'WATCHDOG_USEC',
    onFailure: 'fail',
    run: async () => ({
      watchdogIntervalMs: settings.systemdWatchdog ? watchdogIntervalMs(host.env, host.pid) : undefined,
    }),
  };
}

function lockSteps<Cluster>(input: StartupInput<Cluster>): readonly StartupStep<Cluster>[] {
  const { settings, host, log, onLockContention } = input;
  const { lockFile: path, exitOnLockContention } = settings;
  const acquire = async (signal: AbortSignal): Promise<StepResult<Cluster>> => {
    if (path === '') throw noLockFile();
    log.info('Acquiring file lock', { path });
    const onWait = (): void => log.info('Waiting for the process that holds the file lock', { path });
    return { hold: await host.acquireLock(path, { signal, onWait }) };
  };
  const watch = async (): Promise<StepResult<Cluster>> => {
    log.info('Watching the lock file', { path });
    const hold = await host.watchLock(path, (event) => {
      log.info('Stopping because another process wants the lock file', { path, event });
      onLockContention();
    });
    return { hold };
  };
  const contention = '--exit-on-lock-contention';
  if (path === '' && exitOnLockContention)
    return [{ name: 'lock file', setting: contention, onFailure: 'fail', run: acquire }];
  if (path === '') return [];
  const lock = { name: 'lock file', setting: '--lock-file', onFailure: 'fail', run: acquire } as const;
  if (!exitOnLockContention) return [lock];
  return [lock, { name: 'lock contention', setting: contention, onFailure: 'fail', run: watch }];
}

function noLockFile(): KubeletError {
  return new KubeletError('invalid', 'NoLockFile', '--exit-on-lock-contention needs --lock-file');
}

function nodeIpSteps<Cluster>({
  settings,
  host,
  log,
}: StartupInput<Cluster>): readonly StartupStep<Cluster>[] {
  const { nodeIp: flag, cloudProvider } = settings;
  const run = async (): Promise<StepResult<Cluster>> => {
    const { ips, ignored } = parseNodeIps(flag, { cloudProvider });
    if (ignored.length > 0) log.warn('Ignoring entries of --node-ip that are not IP addresses', { ignored });
    return { nodeIps: ips };
  };
  // Every node status checks this again, since an interface may come up later. A mistyped address is best reported early.
  const onHost = async (): Promise<StepResult<Cluster>> => {
    const { ips } = parseNodeIps(flag, { cloudProvider });
    const addresses = ips.filter((ip) => ip !== '0.0.0.0' && ip !== '::');
    const problems = addresses.flatMap((ip) => {
      const problem = nodeIpProblem(ip, host.addresses);
      return problem === undefined ? [] : [`${ip} ${problem}`];
    });
    if (problems.length === 0) return {};
    throw new KubeletError('invalid', 'NodeIPNotOnHost', problems.join('; '), { details: { nodeIP: flag } });
  };
  const parse = { name: 'node IPs', setting: '--node-ip', onFailure: 'fail', run } as const;
  if (flag === '') return [parse];
  return [parse, { name: 'node IPs on this host', setting: '--node-ip', onFailure: 'warn', run: onHost }];
}

/** Only a warning: another user may be root in a user namespace with all the permissions that are needed. */
function checkUser(uid: number): StepResult<never> {
  if (uid === 0) return {};
  throw new KubeletError(
    'forbidden',
    'NotRoot',
    `the kubelet needs to run as user 0, but runs as user ${uid}`,
  );
}

function directorySteps<Cluster>({
  settings,
  host,
  log,
}: StartupInput<Cluster>): readonly StartupStep<Cluster>[] {
  const { rootDir } = settings;
  const create = async (): Promise<StepResult<Cluster>> => {
    if (rootDir === '') throw new KubeletError('invalid', 'NoRootDirectory', '--root-dir is empty');
    log.v(2).info('Using root directory', { path: rootDir });
    await host.createDirectories();
    return {};
  };
  const share = async (): Promise<StepResult<Cluster>> => {
    const done = await host.shareMount(rootDir);
    log.v(2).info('Root directory is on a shared mount', { path: rootDir, done });
    return {};
  };
  return [
    { name: 'directories', setting: '--root-dir', onFailure: 'fail', run: create },
    // differs from upstream, which fails: only mounts that containers propagate to the host need the shared mount.
    { name: 'shared mount', setting: '--root-dir', onFailure: 'warn', run: share },
  ];
}

function clusterStep<Cluster>({ settings, host, log }: StartupInput<Cluster>): StartupStep<Cluster> {
  return {
    name: 'API server access',
    setting: '--kubeconfig',
    onFailure: 'fail',
    run: async (_signal, facts) => {
      if (settings.kubeconfig !== '') return { cluster: await host.loadCluster(facts.nodeName) };
      log.info('Standalone mode, no API client');
      return {};
    },
  };
}

function cgroupDriverStep<Cluster>(input: StartupInput<Cluster>): StartupStep<Cluster> {
  const { clock, host, log, settings } = input;
  const { cgroupDriver: configured } = settings;
  return {
    name: 'cgroup driver',
    setting: 'cgroupDriver (--cgroup-driver)',
    onFailure: 'fail',
    run: (signal) => findCgroupDriver({ runtimeConfig: host.runtimeConfig, configured, clock, signal, log }),
  };
}

// What happens between valid configuration and the first component, in order. Upstream: run and RunKubelet in
// cmd/kubelet/app/server.go, setupDataDirs in pkg/kubelet/kubelet.go. Nothing is done here, only listed.
import { KubeletError } from '../base/errors.ts';
import type { Logger } from '../base/log/log.ts';
import { nodeIpProblem, parseNodeIps } from './node-ips.ts';
import { nodeName } from './node-name.ts';
import { type RequirementHost, type RequirementSettings, requirementSteps } from './node-requirements.ts';
import type { Closable, StartupStep, StepResult } from './startup-step.ts';

/** From the flags (f) and the configuration (c). */
export interface StartupSettings extends RequirementSettings {
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
}

/** The host, as far as start-up touches it. */
export interface StartupHost extends RequirementHost {
  readonly hostname: string;
  /** Of every interface. */
  readonly addresses: readonly string[];
  readonly uid: number;
  acquireLock(path: string, options: { signal: AbortSignal; onWait(): void }): Promise<Closable>;
  watchLock(path: string, onContention: (what: string) => void): Promise<Closable>;
  applyOomScore(score: number): Promise<void>;
  setOpenFiles(limit: number): Promise<void>;
  createDirectories(): Promise<void>;
  /** Says what had to be done. */
  shareMount(directory: string): Promise<string>;
}

export interface StartupInput {
  readonly settings: StartupSettings;
  readonly host: StartupHost;
  /** Makes the configuration readable at /configz. */
  readonly registerConfigz: () => void;
  /** Stops the kubelet, cleanly: another process wants the lock file. */
  readonly onLockContention: () => void;
  readonly log: Logger;
}

const nothing: Readonly<StepResult> = {};

export function startupSteps(input: StartupInput): readonly StartupStep[] {
  const { settings, host, log } = input;
  return [
    ...lockSteps(input),
    {
      name: 'configz',
      onFailure: 'warn',
      run: async () => {
        input.registerConfigz();
        return nothing;
      },
    },
    {
      name: 'standalone or cluster',
      setting: '--kubeconfig',
      onFailure: 'fail',
      run: async () => {
        const standalone = settings.kubeconfig === '';
        if (standalone) log.info('Standalone mode, no API client');
        return { standalone };
      },
    },
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
        return nothing;
      },
    },
    {
      name: 'open files',
      setting: 'maxOpenFiles (--max-open-files)',
      onFailure: 'warn',
      run: async () => {
        await host.setOpenFiles(settings.maxOpenFiles);
        return nothing;
      },
    },
    ...directorySteps(input),
  ];
}

function lockSteps({ settings, host, log, onLockContention }: StartupInput): readonly StartupStep[] {
  const { lockFile: path, exitOnLockContention } = settings;
  const acquire = async (signal: AbortSignal): Promise<StepResult> => {
    if (path === '') throw noLockFile();
    log.info('Acquiring file lock', { path });
    const onWait = (): void => log.info('Waiting for the process that holds the file lock', { path });
    return { hold: await host.acquireLock(path, { signal, onWait }) };
  };
  const watch = async (): Promise<StepResult> => {
    log.info('Watching the lock file', { path });
    const hold = await host.watchLock(path, (event) => {
      log.info('Another process wants the lock file, stopping', { path, event });
      onLockContention();
    });
    return { hold };
  };
  const contention = '--exit-on-lock-contention';
  if (path === '' && exitOnLockContention)
    return [{ name: 'lock file', setting: contention, onFailure: 'fail', run: acquire }];
  if (path === '') return [];
  const lock: StartupStep = { name: 'lock file', setting: '--lock-file', onFailure: 'fail', run: acquire };
  if (!exitOnLockContention) return [lock];
  return [lock, { name: 'lock contention', setting: contention, onFailure: 'fail', run: watch }];
}

function noLockFile(): KubeletError {
  return new KubeletError('invalid', 'NoLockFile', 'there is no lock file to exit on the contention of');
}

function nodeIpSteps({ settings, host, log }: StartupInput): readonly StartupStep[] {
  const { nodeIp: flag, cloudProvider } = settings;
  const run = async (): Promise<StepResult> => {
    const { ips, ignored } = parseNodeIps(flag, { cloudProvider });
    if (ignored.length > 0) log.warn('What is no IP address in --node-ip is ignored', { ignored });
    return { nodeIps: ips };
  };
  // An interface may come up later, so that this is asked again with every node status; but an address that is
  // mistyped is best seen in the first lines of the log.
  const onHost = async (): Promise<StepResult> => {
    const { ips } = parseNodeIps(flag, { cloudProvider });
    const named = ips.filter((ip) => ip !== '0.0.0.0' && ip !== '::');
    const problems = named.flatMap((ip) => {
      const problem = nodeIpProblem(ip, host.addresses);
      return problem === undefined ? [] : [`${ip} ${problem}`];
    });
    if (problems.length === 0) return nothing;
    throw new KubeletError('invalid', 'NodeIPNotOnHost', problems.join('; '), { details: { nodeIP: flag } });
  };
  const parse: StartupStep = { name: 'node IPs', setting: '--node-ip', onFailure: 'fail', run };
  if (flag === '') return [parse];
  return [parse, { name: 'node IPs on this host', setting: '--node-ip', onFailure: 'warn', run: onHost }];
}

/** Who is not root in the host's eyes may still be in a user namespace that allows what is needed. */
function checkUser(uid: number): StepResult {
  if (uid === 0) return nothing;
  throw new KubeletError(
    'forbidden',
    'NotRoot',
    `the kubelet needs to run as user 0 and runs as user ${uid}`,
  );
}

function directorySteps({ settings, host, log }: StartupInput): readonly StartupStep[] {
  const { rootDir } = settings;
  const create = async (): Promise<StepResult> => {
    if (rootDir === '')
      throw new KubeletError('invalid', 'NoRootDirectory', 'the root directory has no name');
    log.v(2).info('Using root directory', { path: rootDir });
    await host.createDirectories();
    return nothing;
  };
  const share = async (): Promise<StepResult> => {
    const done = await host.shareMount(rootDir);
    log.v(2).info('Root directory is on a shared mount', { path: rootDir, done });
    return nothing;
  };
  return [
    { name: 'directories', setting: '--root-dir', onFailure: 'fail', run: create },
    // differs from upstream, which gives up: without it volumes that containers mount for others are not seen, and all
    // else works.
    { name: 'shared mount', setting: '--root-dir', onFailure: 'warn', run: share },
  ];
}

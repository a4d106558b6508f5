// Plugs the edges into kubelet doctor: every fact about the machine, gathered on demand.
// Invariant: one connection to the runtime for all facts, and close() leaves none.
import { networkInterfaces } from 'node:os';
import { join, resolve } from 'node:path';
import type { ClusterAccess } from '../../api/ports/cluster-access.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { silentLogger } from '../../base/log/log.ts';
import type { RunOutcome } from '../../config/command-line/load-command-line.ts';
import { findSubcommand } from '../../config/command-line/subcommands.ts';
import { isSelfSigned } from '../../config/load/load.ts';
import type { ClusterFacts, DoctorSettings, KubeletProcess, ServingFacts } from '../../doctor/facts.ts';
import { bridgeSetting, forwardSettings } from '../../doctor/kernel.ts';
import type { DoctorHost } from '../../doctor/run-checks.ts';
import { readKubeconfig, userAgentOf } from '../../edge/apiserver/open-api-server.ts';
import { bootstrapReason } from '../../edge/certs/bootstrap-kubeconfig.ts';
import { type CriClient, criClient } from '../../edge/cri/client.ts';
import { filesOf, untilAnswers } from '../../edge/doctor/answering-file.ts';
import { askApiServer } from '../../edge/doctor/api-server-answer.ts';
import { readBundle, readCombinedFile, readIdentity } from '../../edge/doctor/certificate-files.ts';
import { readCgroups } from '../../edge/doctor/cgroup-state.ts';
import { readDisk } from '../../edge/doctor/disk.ts';
import { readKernel } from '../../edge/doctor/kernel.ts';
import { findKubelets } from '../../edge/doctor/kubelet-processes.ts';
import { findListeners } from '../../edge/doctor/listeners.ts';
import { readPrivileges } from '../../edge/doctor/privileges.ts';
import { readNameServers } from '../../edge/doctor/resolv-conf-state.ts';
import { imageDirectory, probeSocket, readRuntimeState } from '../../edge/doctor/runtime-state.ts';
import { NodePrograms } from '../../edge/host-programs/host-programs.ts';
import { kernelHost } from '../../edge/machine/kernel-host.ts';
import { readMachine } from '../../edge/machine/machine.ts';
import { readMachineCapacity } from '../../edge/machine/machine-capacity.ts';
import { nodeHost } from '../../edge/machine/node-host.ts';
import { loadSyscalls } from '../../edge/syscalls/syscalls.ts';
import { reportedCgroupDriver } from '../../startup/cgroup-driver.ts';
import { kernelSettings } from '../../startup/node-requirements.ts';
import { runningKubelet } from './doctor-settings.ts';

interface DoctorHostInput {
  readonly outcome: RunOutcome;
  readonly settings: DoctorSettings;
  readonly clock: Clock;
}

interface ClosableHost {
  readonly facts: DoctorHost;
  close(): void;
}

export function doctorHost(input: DoctorHostInput): ClosableHost {
  const { settings } = input;
  const cri = lazily(() => criClient({ runtimeEndpoint: settings.runtimeEndpoint, clock: input.clock }));
  return {
    facts: { ...machineFacts(input), ...runtimeFacts(settings, cri.get), ...clusterFacts(input) },
    close: () => cri.created()?.close(),
  };
}

/** An endpoint that is not valid throws where it is used first, so that the error is that of a fact. */
function lazily<T>(create: () => T): { readonly get: () => T; readonly created: () => T | undefined } {
  let value: T | undefined;
  return { get: () => (value ??= create()), created: () => value };
}

/** One call for all facts that need its result. They are gathered together, so the signal of the first serves all. */
function once<T>(call: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let answer: Promise<T> | undefined;
  return (signal) => (answer ??= call(signal));
}

type RuntimeKeys =
  | 'runtimeSocket'
  | 'runtimeVersion'
  | 'runtimeStatus'
  | 'runtimeCgroupDriver'
  | 'hasSandboxImage'
  | 'imageDisk';
type ClusterKeys = 'cluster' | 'clientCertificate' | 'serverAuthority' | 'apiServer';

function runtimeFacts(settings: DoctorSettings, cri: () => CriClient): Pick<DoctorHost, RuntimeKeys> {
  const status = once((signal) => readRuntimeState(cri(), signal));
  return {
    runtimeSocket: async (signal) => ({ state: await probeSocket(settings.runtimeEndpoint, signal) }),
    runtimeVersion: async (signal) => {
      const { runtimeName, runtimeVersion } = await cri().version({ version: 'v1' }, { signal });
      return { name: runtimeName, version: runtimeVersion };
    },
    runtimeStatus: async (signal) => await status(signal),
    runtimeCgroupDriver: async (signal) =>
      await reportedCgroupDriver(() => cri().runtimeConfig({}, { signal })),
    hasSandboxImage: async (signal) => {
      const { sandboxImage } = await status(signal);
      if (sandboxImage === undefined || sandboxImage === '') return undefined;
      const { image } = await cri().imageStatus({ image: { image: sandboxImage } }, { signal });
      return image !== undefined;
    },
    imageDisk: async (signal) => {
      const directory = await imageDirectory(cri(), signal);
      return directory === undefined ? undefined : await readDisk(directory, signal);
    },
  };
}

function machineFacts({
  clock,
  outcome,
  settings,
}: DoctorHostInput): Omit<DoctorHost, RuntimeKeys | ClusterKeys> {
  const { clientCAFile } = outcome.config.authentication.x509;
  return {
    cgroups: readCgroups,
    swap: async () => ({
      // The first line is the header.
      devices: ((await kernelHost.swaps()) ?? '')
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.split(/\s/)[0] ?? ''),
      kernelRelease: (await readMachine()).kernelRelease ?? '',
    }),
    listeners: () => findListeners(settings.ports.map(({ port }) => port)),
    kubelets: runningKubelets,
    kernel: () =>
      readKernel({
        sysctls: [...Object.keys(kernelSettings), ...forwardSettings, bridgeSetting],
        modules: ['overlay', 'br_netfilter'],
      }),
    clock: async () => ({
      nowMs: clock.now(),
      isSynchronized: await loadSyscalls().then(
        (syscalls) => syscalls.isClockSynchronized(),
        () => undefined,
      ),
    }),
    rootDisk: (signal) => readDisk(resolve(settings.rootDir), signal),
    logsDisk: (signal) => readDisk(resolve(settings.podLogsDir), signal),
    privileges: readPrivileges,
    programs: async () => {
      const programs = new NodePrograms();
      const found = await Promise.all(
        settings.programs.map(async ({ program }) =>
          (await programs.find(program)) === undefined ? [] : [program],
        ),
      );
      return found.flat();
    },
    identity: async () => {
      const { machineID, systemUUID } = await nodeHost.identity();
      return {
        hostname: (await readMachine()).hostname,
        addresses: Object.values(networkInterfaces()).flatMap((list) =>
          (list ?? []).map(({ address }) => address),
        ),
        machineId: machineID,
        productUuid: systemUUID,
      };
    },
    // Without the size of the disk: reading that can block.
    capacity: async () => ({
      ...(await readMachineCapacity('/proc')),
      onlineCpus: (await readMachine()).onlineCpus ?? '',
    }),
    resolvConf: (signal) => readNameServers(settings.resolvConf, signal),
    clientAuthority: (signal) =>
      readBundle(clientCAFile === '' ? undefined : { file: clientCAFile }, '', signal),
    serving: (signal) => servingFacts(outcome, signal),
  };
}

async function runningKubelets(): Promise<readonly KubeletProcess[]> {
  const found = await findKubelets(process.pid);
  return found
    .filter(({ args }) => findSubcommand(args) === undefined)
    .map(({ args, pid }) => runningKubelet(pid, args));
}

async function servingFacts({ config, flags }: RunOutcome, signal: AbortSignal): Promise<ServingFacts> {
  const { serverTLSBootstrap, tlsCertFile: cert, tlsPrivateKeyFile: key } = config;
  if (serverTLSBootstrap)
    return {
      kind: 'requested',
      file: await readCombinedFile(join(flags.certDir, 'kubelet-server-current.pem'), signal),
    };
  const file = await readIdentity({ cert: { file: cert }, key: { file: key } }, '', signal);
  return { kind: isSelfSigned(config, flags) ? 'self-signed' : 'set', file };
}

interface FoundAccess {
  readonly source: ClusterFacts['source'];
  readonly path: string;
  readonly access: ClusterAccess | undefined;
}

function clusterFacts({ clock, outcome }: DoctorHostInput): Pick<DoctorHost, ClusterKeys> {
  const found = once((signal) => findAccess(outcome.flags, clock.now(), signal));
  return {
    cluster: async (signal) => {
      const { access, path, source } = await found(signal);
      return {
        source,
        path,
        server: access?.server.href ?? '',
        isInsecure: access?.insecureSkipTlsVerify === true,
        credentials: access === undefined ? 'none' : credentialsOf(access),
      };
    },
    clientCertificate: async (signal) => {
      const { access, path } = await found(signal);
      return await readIdentity(access?.clientCertificate, path, signal);
    },
    serverAuthority: async (signal) => {
      const { access, path } = await found(signal);
      return await readBundle(access?.ca, path, signal);
    },
    apiServer: async (signal) => {
      const { access } = await found(signal);
      if (access === undefined) throw new KubeletError('not-found', 'Standalone', 'there is no API server');
      const userAgent = userAgentOf(outcome.version, '');
      return await askApiServer({ access, clock, log: silentLogger, userAgent, signal });
    },
  };
}

/** As the start does it: the bootstrap kubeconfig if the other one cannot be used. */
async function findAccess(
  { bootstrapKubeconfig, kubeconfig }: RunOutcome['flags'],
  nowMs: number,
  signal: AbortSignal,
): Promise<FoundAccess> {
  if (kubeconfig === '' && bootstrapKubeconfig === '')
    return { source: 'standalone', path: '', access: undefined };
  const until = async (files: readonly string[]): Promise<void> => {
    await Promise.all(files.filter((path) => path !== '').map((path) => untilAnswers(path, signal)));
  };
  await until([kubeconfig, bootstrapKubeconfig]);
  const named = await readKubeconfig(kubeconfig).catch(() => undefined);
  if (named !== undefined) await until(filesOf(named));
  if (bootstrapKubeconfig !== '' && (await bootstrapReason(kubeconfig, nowMs)) !== undefined) {
    const access = await readKubeconfig(bootstrapKubeconfig);
    return { source: 'bootstrap', path: bootstrapKubeconfig, access };
  }
  return { source: 'kubeconfig', path: kubeconfig, access: await readKubeconfig(kubeconfig) };
}

function credentialsOf(access: ClusterAccess): ClusterFacts['credentials'] {
  if (access.clientCertificate !== undefined) return 'certificate';
  if (access.token !== undefined || access.tokenFile !== undefined || access.basic !== undefined)
    return 'token';
  return access.exec === undefined ? 'none' : 'plugin';
}

// The edges of a real node, which src/assemble plugs into the rooms. Tests plug in doubles of the same shape.

import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { CsiDialer } from '../api/ports/csi.ts';
import type { Clock } from '../base/clock.ts';
import { InFlightCalls } from '../base/in-flight-calls.ts';
import type { Logger } from '../base/log/log.ts';
import { durableFiles, readMachineId } from './autonomy/durable-files.ts';
import { KeptRecords, type KeptRecordsOptions } from './autonomy/kept-records.ts';
import { certificateHost } from './certs/certificate-host.ts';
import { podKeys } from './certs/pod-key.ts';
import { cgroupfsSpelling, systemdSpelling } from './cgroup/cgroup-spelling.ts';
import { CgroupFs } from './cgroup/cgroups.ts';
import type { Hierarchies } from './cgroup/hierarchies.ts';
import { systemProcesses } from './cgroup/system-processes.ts';
import { systemdCgroups } from './cgroup/systemd-cgroups.ts';
import { PluginPrograms } from './credential-provider/run-plugin.ts';
import { type CriClientOptions, criClient } from './cri/client.ts';
import { csiDialer } from './csi/csi-dialer.ts';
import { devicePluginDialer } from './device-plugin/dial-device-plugin.ts';
import { readPageFile } from './files/page-directory.ts';
import { PodFiles } from './files/pod-files.ts';
import { recordFiles } from './files/record-files.ts';
import { textFile } from './files/text-file.ts';
import { DriverDirectory } from './flex-volume/driver-directory.ts';
import { type ListenGrpcOptions, listenGrpc } from './grpc-server/listen-grpc.ts';
import { HistoryDirectory } from './history/history-files.ts';
import { NodeHostDevices } from './host-programs/host-devices.ts';
import { NodePrograms } from './host-programs/host-programs.ts';
import type { ProxyUpgrade } from './http/http-exchange.ts';
import { listenHttp } from './http/listen-http.ts';
import { listenHttps } from './http/listen-https.ts';
import { listenUnix } from './http/listen-unix.ts';
import { hookHttp } from './http-client/hook-http.ts';
import { httpGet } from './http-client/http-get.ts';
import { IpTablesPrograms } from './iptables/iptables-programs.ts';
import { journal } from './logs/journal.ts';
import { logDirectory } from './logs/log-directory.ts';
import { logEdges } from './logs/log-edges.ts';
import { readLogTail, readTail } from './logs/read-tail.ts';
import { RotationFiles } from './logs/rotation-files.ts';
import { kubeletIdRange } from './machine/id-range.ts';
import { followKernelLog, type KernelLogListener } from './machine/kernel-log.ts';
import { killProcess } from './machine/kill-process.ts';
import { LoopDelayMonitor } from './machine/loop-delay.ts';
import { nodeHost } from './machine/node-host.ts';
import { processProfiler } from './machine/profiler.ts';
import { residentBytes, trimMemory } from './machine/trim-memory.ts';
import { DecodeWorker } from './manifests/decode-worker-client.ts';
import { listManifests, readManifestFile } from './manifests/read-manifest.ts';
import { watchManifests } from './manifests/watch-manifests.ts';
import { devicePluginDirectory } from './plugins/device-plugin-directory.ts';
import { registrationDialer } from './plugins/registration-client.ts';
import { watchSockets } from './plugins/watch-sockets.ts';
import { memoryPressure } from './pressure/memory-watch.ts';
import { probeEdges } from './probe/probe-edges.ts';
import { resultFile } from './probe/result-file.ts';
import { type StatsHostOptions, statsHost } from './stats/stats-host.ts';
import { StreamProxy } from './streams/stream-proxy.ts';
import type { UpgradeProxyOptions } from './streams/upgrade-proxy.ts';
import { logind } from './systemd/logind.ts';
import { SystemdUnits } from './systemd/systemd-units.ts';
import { VolumeFiles } from './volumes/volume-files.ts';

export type RealEdges = ReturnType<typeof realEdges>;

/** Time and memory to decode a manifest. A manifest that needs more is rejected. */
const decodeLimits = { deadlineMs: 20_000, memoryMb: 512 };

/** `entryUrl`: the URL of the command's entry file. The entry files of the threads are in the same directory. */
export function realEdges(clock: Clock, entryUrl: string, hierarchies: Hierarchies | undefined) {
  const decoder = new DecodeWorker({
    script: new URL('decode-worker.mjs', entryUrl),
    clock,
    ...decodeLimits,
  });
  const programs = new NodePrograms();
  const pageDirectory = fileURLToPath(new URL('ui', entryUrl));
  const calls = new InFlightCalls(clock);
  return {
    /** The calls in flight of the clients below and of the API server's. */
    calls,
    cri: (options: Omit<CriClientOptions, 'clock'>) => criClient({ ...options, clock }),
    files: new PodFiles(),
    /** Undefined on a machine without cgroups. */
    cgroups: ({ driver, pageSizes }: { readonly driver: string; readonly pageSizes: readonly string[] }) => {
      if (hierarchies === undefined) return undefined;
      const isSystemd = driver === 'systemd';
      const spelling = isSystemd ? systemdSpelling : cgroupfsSpelling;
      const files = new CgroupFs({ hierarchies, spelling, pageSizes, clock, killProcess });
      return isSystemd ? systemdCgroups(files, new SystemdUnits({ clock })) : files;
    },
    /** Processes outside pods. Undefined on a machine without cgroups. */
    systemProcesses: (pageSizes: readonly string[]) =>
      hierarchies && systemProcesses({ hierarchies, pageSizes, clock, killProcess }),
    memoryPressure: memoryPressure(hierarchies),
    kernelLog: (listener: KernelLogListener) => followKernelLog(listener),
    manifests: {
      list: listManifests,
      read: readManifestFile,
      watch: watchManifests(clock),
    },
    /** Decodes large manifests outside the event loop. */
    decode: <Part>(work: unknown, signal: AbortSignal) => decoder.call<Part>(work, signal),
    httpGet,
    trimMemory,
    residentBytes,
    hookHttp,
    idRange: (idsPerPod: number) => kubeletIdRange(idsPerPod),
    tails: { readTail, readLogTail },
    /** What is kept for a cut-off from the API server. */
    keptRecords: (options: Omit<KeptRecordsOptions, 'files' | 'machineId'>) =>
      new KeptRecords({ ...options, files: durableFiles, machineId: () => readMachineId() }),
    /** The history of ends. */
    historyFiles: (directory: string) => new HistoryDirectory(directory, clock),
    imageHost: {
      records: recordFiles,
      programs: (directory: string) => new PluginPrograms(directory),
      workingDirectory: process.cwd(),
      home: process.env['HOME'] ?? '',
    },
    /** Checkpoints, one small file each. */
    stateFiles: recordFiles as Omit<typeof recordFiles, 'list' | 'remove'>,
    /** Sockets of plugins, and the connections to them. */
    plugins: {
      watch: watchSockets,
      dial: registrationDialer(clock, calls),
      devicePlugins: devicePluginDialer(clock, calls),
      deviceDirectory: devicePluginDirectory,
    },
    /** The node services of CSI drivers. */
    csi: (options: Pick<Parameters<typeof csiDialer>[0], 'calls' | 'observe'>): CsiDialer =>
      csiDialer({ ...options, clock }),
    /** Programs and devices for volumes that the host attaches. */
    hostPrograms: programs,
    hostDevices: new NodeHostDevices({ programs }),
    flexDrivers: (directory: string, log: Logger) => new DriverDirectory({ directory, clock, log }),
    iptables: new IpTablesPrograms(programs),
    logind: logind({ clock }),
    probes: probeEdges,
    probeResultFile: resultFile,
    listen: listenHttp,
    listenUnix,
    upgradeProxy: (options: UpgradeProxyOptions): ProxyUpgrade => {
      const proxy = new StreamProxy(options);
      return (...args) => proxy.proxy(...args);
    },
    listenSecure: listenHttps,
    listenGrpc: (options: Omit<ListenGrpcOptions, 'clock' | 'limits'>) => listenGrpc({ ...options, clock }),
    /** A file of the node's page, which is built beside the command. */
    pageFile: (name: string) => readPageFile(pageDirectory, name),
    /** Resolves after other pending work has run. */
    pause: () => new Promise<void>((resolve) => void setImmediate(resolve)),
    textFile: textFile(clock),
    logs: logEdges(),
    logRotation: (podLogsDir: string) => new RotationFiles(podLogsDir),
    systemLogs: { files: logDirectory, journal },
    profiler: processProfiler(clock),
    loopDelay: new LoopDelayMonitor(() => clock.monotonic()),
    nodeVersion: process.version,
    ownPid: process.pid,
    /** Cryptographically secure, unlike the `random` of jitter. */
    randomBytes: (count: number): Uint8Array => randomBytes(count),
    nodeHost,
    certs: certificateHost(clock),
    podKey: podKeys(clock),
    stats: (options: StatsHostOptions) => statsHost(clock, hierarchies, options),
    volumes: (podsDir: string) =>
      new VolumeFiles({
        podsDir,
        now: () => clock.now(),
        usageThread: new URL('usage-thread.mjs', entryUrl),
      }),
  };
}

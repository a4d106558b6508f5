// The input of the composition root: settings, facts about the machine, edges. Types only.

import type { CgroupReader } from '../api/ports/cgroup-usage.ts';
import type { Cgroups } from '../api/ports/cgroups.ts';
import type { HostDevices, HostPrograms } from '../api/ports/host-programs.ts';
import type { CpuTopology } from '../api/ports/host-usage.ts';
import type { IpTables } from '../api/ports/iptables.ts';
import type { Logind } from '../api/ports/logind.ts';
import type { LoopDelaySteps } from '../api/ports/loop-delay.ts';
import type { MachineTopology } from '../api/ports/machine-topology.ts';
import type { PodObjects } from '../api/ports/pod-objects.ts';
import type { ProcessLoad } from '../api/ports/process-figures.ts';
import type { VolumeHost } from '../api/ports/volume-host.ts';
import type { KeptRecords } from '../autonomy/load-records.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger, Verbosity } from '../base/log/log.ts';
import type { Tracer } from '../base/tracer.ts';
import type { CertificateHost } from '../certs/serving-certificate.ts';
import type { ParsedArgs } from '../config/command-line/parse-args.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { LiveConfiguration } from '../config/live/live-configuration.ts';
import type { CredentialProviders } from '../config/load/credential-providers.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import type { MachineFacts } from '../edge/machine/machine.ts';
import type { RealEdges } from '../edge/real-edges.ts';
import type { HistoryFiles } from '../history/segments.ts';
import type { PluginPrograms } from '../images/credentials/plugin-providers.ts';
import type { RecordFiles } from '../images/records/record-store.ts';
import type { ConfigStatus } from '../live-config/config-status.ts';
import type { RotationHost } from '../logs/rotation-host.ts';
import type { LoopDelaySource } from '../metrics/loop-delay-metrics.ts';
import type { ProcessFiguresSource } from '../metrics/process-metrics.ts';
import type { NodeHost } from '../node/gather-node-facts.ts';
import type { MachineCapacity } from '../resources/allocatable/node-allocatable.ts';
import type { RuntimeFiles } from '../runtime/runtime-deps.ts';
import type { LogHost } from '../server/logs/log-handlers.ts';
import type { DecodeInWorker } from '../sources/build-pods.ts';
import type { ManifestFiles } from '../sources/file-source.ts';
import type { NodeLoadDeps } from '../stats/load/node-load.ts';
import type { StatsDeps } from '../stats/stats.ts';
import type { DriverFiles } from '../volumes/flex-volume/drivers.ts';
import type { OpenCluster } from './cluster-api.ts';

/** What image pulls use besides the runtime. */
interface ImageHost {
  /** Small files that are replaced atomically. */
  readonly records: RecordFiles;
  readonly programs: (directory: string) => PluginPrograms;
  readonly workingDirectory: string;
  /** The kubelet's home directory; empty if it has none. */
  readonly home: string;
}

/** The sources of statistics. */
export interface StatsEdge {
  readonly cgroups: CgroupReader | undefined;
  readonly host: StatsDeps['readers']['host'] &
    NodeLoadDeps['host'] & {
      ownCgroup(version: 1 | 2): string | undefined;
      topology(): Promise<CpuTopology>;
    };
  readonly own: ProcessFiguresSource & { load(): ProcessLoad; close(): void };
  /** When the machine booted, by the wall clock; 0 if unknown. */
  readonly bootedAtMs: number;
  pause(): Promise<void>;
}

/** Every edge. Narrowed to the methods that are called, so that a test need not build a whole client. */
export interface Edges
  extends Omit<
    RealEdges,
    | 'cri'
    | 'files'
    | 'cgroups'
    | 'manifests'
    | 'decode'
    | 'imageHost'
    | 'nodeHost'
    | 'volumes'
    | 'certs'
    | 'stats'
    | 'logs'
    | 'logRotation'
    | 'loopDelay'
    | 'historyFiles'
    | 'keptRecords'
    | 'hostPrograms'
    | 'hostDevices'
    | 'flexDrivers'
    | 'iptables'
    | 'logind'
  > {
  readonly volumes: (podsDir: string) => VolumeHost;
  readonly cri: (...args: Parameters<RealEdges['cri']>) => Omit<ReturnType<RealEdges['cri']>, 'connected'>;
  readonly files: RuntimeFiles;
  readonly cgroups: (...args: Parameters<RealEdges['cgroups']>) => Cgroups | undefined;
  readonly manifests: ManifestFiles;
  readonly decode: DecodeInWorker;
  readonly imageHost: ImageHost;
  readonly nodeHost: NodeHost;
  readonly certs: CertificateHost;
  readonly stats: (...args: Parameters<RealEdges['stats']>) => StatsEdge;
  readonly logs: LogHost;
  readonly logRotation: (podLogsDir: string) => RotationHost;
  readonly loopDelay: LoopDelaySource & LoopDelaySteps;
  readonly historyFiles: (directory: string) => HistoryFiles;
  readonly keptRecords: (...args: Parameters<RealEdges['keptRecords']>) => KeptRecords;
  readonly hostPrograms: HostPrograms;
  readonly hostDevices: HostDevices;
  readonly logind: Logind;
  readonly flexDrivers: (directory: string, log: Logger) => DriverFiles;
  readonly iptables: IpTables;
}

export interface AssembleInput {
  /** What is in force. With live configuration its properties change: read a field where it is used, not once. */
  readonly config: KubeletConfiguration;
  /** Announces the fields of `config` that changed; undefined without live configuration. */
  readonly live?: LiveConfiguration | undefined;
  /** The configurations of this node over time; undefined without live configuration. */
  readonly configStatus?: ConfigStatus | undefined;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  /** Credential provider plugins; undefined if none are configured. */
  readonly credentialProviders?: CredentialProviders | undefined;
  /** The parsed command line, for /flagz. */
  readonly args: ParsedArgs;
  readonly machine: MachineFacts;
  readonly capacity: MachineCapacity;
  /** NUMA nodes and CPUs; one node without details unless a manager needs them. */
  readonly topology: MachineTopology;
  readonly nodeName: string;
  /** False if the runtime lacks the CRI call RuntimeConfig, so that the configured cgroup driver applies. */
  readonly runtimeReportsConfig?: boolean;
  /** Opens the connection to the API server; undefined on a standalone node. */
  readonly cluster?: OpenCluster | undefined;
  /** --node-ip, parsed. */
  readonly nodeIps?: readonly string[];
  readonly edges: Edges;
  /** Replaces the objects of the API server, for tests. */
  readonly objects?: PodObjects;
  readonly clock: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  readonly log: Logger;
  /** Undefined: no traces. */
  readonly tracer?: Tracer | undefined;
  /** The verbosity of the log, which can be changed while the kubelet runs. */
  readonly verbosity?: Verbosity;
}

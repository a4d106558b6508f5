// The facts that checks judge, and the settings that they judge them by. Types only; src/entry/commands/doctor.ts gathers them.
// Invariant: every text of a fact may come from outside, so it is only shown by report.ts, which bounds and escapes it.
import type { CertificateFacts } from '../api/ports/certificates.ts';

export interface CgroupFacts {
  readonly version: 1 | 2;
  readonly controllers: readonly string[];
  /** The lowest memory limit of the cgroups that this process is in; undefined without one. */
  readonly memoryLimit: { readonly cgroup: string; readonly bytes: bigint } | undefined;
  readonly machineMemoryBytes: bigint;
  /** Whether systemd is process 1, which then owns the cgroup hierarchy. */
  readonly isSystemd: boolean;
}

export interface SwapFacts {
  /** The devices and files in use. */
  readonly devices: readonly string[];
  /** As uname reports it: 6.1.0-31-amd64. */
  readonly kernelRelease: string;
}

export interface RuntimeStatusFacts {
  readonly conditions: readonly {
    readonly type: string;
    readonly status: boolean;
    readonly reason: string;
    readonly message: string;
  }[];
  /** From the runtime's verbose status, as far as it reports them. */
  readonly sandboxImage: string | undefined;
  readonly cgroupDriver: string | undefined;
  readonly cniConfDir: string | undefined;
  readonly cniBinDir: string | undefined;
}

export type SocketFacts =
  | { readonly state: 'open' }
  | { readonly state: 'missing' | 'refused' | 'no-socket' | 'forbidden' };

export interface Listener {
  readonly port: number;
  /** 0.0.0.0 and :: are every address. */
  readonly address: string;
  /** Undefined if the process cannot be found, as without root. */
  readonly pid: number | undefined;
  readonly program: string | undefined;
}

export interface KubeletProcess {
  readonly pid: number;
  readonly rootDir: string;
  /** The flags that name its files: --config, --config-dir, --kubeconfig, --bootstrap-kubeconfig. */
  readonly files: readonly string[];
}

export interface ClusterFacts {
  readonly source: 'standalone' | 'kubeconfig' | 'bootstrap';
  readonly path: string;
  /** The API server's URL; empty in standalone mode. */
  readonly server: string;
  /** Whether the API server's certificate is not verified. */
  readonly isInsecure: boolean;
  readonly credentials: 'certificate' | 'token' | 'plugin' | 'none';
}

/** A certificate or a bundle of authorities in a file or a kubeconfig. */
export type CertificateFile =
  | { readonly state: 'none' }
  | { readonly state: 'missing' | 'invalid'; readonly where: string; readonly problem: string }
  | { readonly state: 'found'; readonly where: string; readonly certificates: readonly CertificateFacts[] };

export interface ServingFacts {
  /** set: tlsCertFile; requested: serverTLSBootstrap; self-signed: otherwise. */
  readonly kind: 'set' | 'requested' | 'self-signed';
  readonly file: CertificateFile;
}

export interface KernelFacts {
  /** By path below /proc/sys; undefined if the kernel does not have it. */
  readonly sysctls: Readonly<Record<string, string | undefined>>;
  readonly canWrite: boolean;
  readonly fileSystems: readonly string[];
  /** Modules that are not loaded but can be. */
  readonly loadable: readonly string[];
}

export interface ClockFacts {
  readonly nowMs: number;
  /** Whether the kernel's clock is kept by NTP; undefined if unknown. */
  readonly isSynchronized: boolean | undefined;
}

export interface ApiServerFacts {
  readonly status: number;
  /** Such as v1.37.2; undefined if the response has none. */
  readonly version: string | undefined;
  /** The Date header. */
  readonly dateMs: number | undefined;
  /** This machine's clock in the middle of the request. */
  readonly nowMs: number;
  readonly roundTripMs: number;
}

export interface DiskFacts {
  /** The directory, or the nearest one above it that exists. */
  readonly path: string;
  readonly exists: boolean;
  readonly mountPoint: string;
  readonly availableBytes: bigint;
  readonly totalBytes: bigint;
  readonly inodesFree: bigint;
  /** 0: the file system has no fixed number. */
  readonly inodes: bigint;
  readonly isReadOnly: boolean;
  /** Whether mounts below it propagate. */
  readonly isShared: boolean;
}

export interface PrivilegeFacts {
  readonly uid: number;
  /** The capabilities that the kubelet needs and this process lacks. */
  readonly missing: readonly string[];
}

export interface IdentityFacts {
  readonly hostname: string;
  readonly addresses: readonly string[];
  /** Empty if there is none. */
  readonly machineId: string;
  readonly productUuid: string;
}

export interface ResolvConfFacts {
  readonly isMissing: boolean;
  readonly servers: readonly string[];
}

export interface CapacityFacts {
  readonly cpus: number;
  readonly memoryBytes: bigint;
  readonly hugePages: readonly { readonly sizeBytes: bigint; readonly count: bigint }[];
  readonly maxProcesses: bigint | undefined;
  /** As the kernel lists them: `0-3,7`; empty if unknown. */
  readonly onlineCpus: string;
}

export interface HostFacts {
  readonly cgroups: CgroupFacts;
  readonly swap: SwapFacts;
  readonly runtimeSocket: SocketFacts;
  readonly runtimeVersion: { readonly name: string; readonly version: string };
  readonly runtimeStatus: RuntimeStatusFacts;
  /** Undefined if the runtime does not report it (CRI call RuntimeConfig). */
  readonly runtimeCgroupDriver: string | undefined;
  /** Whether the sandbox image is on the node; undefined if the runtime does not name it. */
  readonly hasSandboxImage: boolean | undefined;
  readonly listeners: readonly Listener[];
  readonly kubelets: readonly KubeletProcess[];
  readonly cluster: ClusterFacts;
  readonly clientCertificate: CertificateFile;
  readonly serverAuthority: CertificateFile;
  readonly clientAuthority: CertificateFile;
  readonly serving: ServingFacts;
  readonly kernel: KernelFacts;
  readonly clock: ClockFacts;
  readonly apiServer: ApiServerFacts;
  readonly rootDisk: DiskFacts;
  readonly logsDisk: DiskFacts;
  /** Undefined if the runtime does not name the directory of its images. */
  readonly imageDisk: DiskFacts | undefined;
  readonly privileges: PrivilegeFacts;
  /** The programs of `DoctorSettings.programs` that the machine has. */
  readonly programs: readonly string[];
  readonly identity: IdentityFacts;
  readonly resolvConf: ResolvConfFacts;
  readonly capacity: CapacityFacts;
}

export interface DoctorSettings {
  readonly rootDir: string;
  /** Whether no flag names a file, so that the defaults are judged. */
  readonly isDefault: boolean;
  readonly podLogsDir: string;
  readonly runtimeEndpoint: string;
  readonly cgroupDriver: string;
  readonly failCgroupV1: boolean;
  readonly failSwapOn: boolean;
  readonly swapBehavior: string;
  readonly protectKernelDefaults: boolean;
  readonly ports: readonly ServedPort[];
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly rotateCertificates: boolean;
  readonly programs: readonly NeededProgram[];
  /** The settings that have no effect, and the deprecated ones. */
  readonly settingWarnings: readonly string[];
  /** What is wrong with the settings on this machine. */
  readonly settingProblems: readonly string[];
  readonly nodeIp: string;
  readonly resolvConf: string;
  readonly version: { readonly major: number; readonly minor: number };
}

export interface ServedPort {
  /** A port of the kubelet by its setting. */
  readonly setting: 'port' | 'readOnlyPort' | 'healthzPort' | '--dashboard-port';
  /** 0: not served. */
  readonly port: number;
  readonly address: string;
}

export interface NeededProgram {
  readonly program: string;
  readonly why: string;
  readonly package: string;
}

/** Rules of the start of the kubelet, which the doctor applies without starting it. */
export interface StartupRules {
  readonly requiredControllers: readonly string[];
  readonly kernelSettings: Readonly<Record<string, number>>;
  /** Throws if the name cannot be used. */
  readonly nodeName: (hostname: string) => string;
  /** Each problem of --node-ip on a machine with these addresses. Throws if the flag is malformed. */
  readonly nodeIpProblems: (addresses: readonly string[]) => readonly string[];
  /** Why this machine cannot hold what is reserved; undefined if it can. */
  readonly reservationFault: (
    machine: CapacityFacts & { readonly storageBytes: bigint | undefined },
  ) => string | undefined;
  /** Why clients of the kubelet cannot be authenticated or authorized, with or without an API server; undefined if they can. */
  readonly admissionFault: (hasApi: boolean) => string | undefined;
  /** Whether the kernel can keep the memory of a tmpfs out of swap. */
  readonly canKeepOutOfSwap: (kernelRelease: string) => boolean;
}

// What the node's page shows, as the kubelet sends it to the browser and to `kubelet ps`, `explain` and `top`. Types only: the server
// (src/dashboard), the page (dashboard/) and the commands (src/entry/commands) share them. Every text may be hostile.
// Times are milliseconds of the wall clock.
import type { PodUid } from '../pod/pod-ref.ts';

/** The first message of the stream, and again whenever access or the configuration changes. */
export interface Hello {
  /** New for every process: the page forgets what an earlier one sent. */
  readonly instance: string;
  readonly nodeName: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly nowMs: number;
  readonly samplePeriodMs: number;
  /** What this viewer may do. */
  readonly may: { readonly logs: boolean; readonly exec: boolean };
}

/** The strip of the node. */
export interface NodeView {
  readonly ready: { readonly ok: boolean; readonly why: string };
  readonly cpu: { readonly capacityMillis: number; readonly allocatableMillis: number };
  readonly memory: {
    readonly capacityBytes: number;
    readonly availableBytes: number | undefined;
    readonly thresholds: readonly ThresholdMark[];
  };
  /** One entry per file system: nodefs, imagefs, containerfs where they differ. */
  readonly disks: readonly DiskView[];
  /** Pressure conditions that are true: MemoryPressure, DiskPressure, PIDPressure. */
  readonly pressure: readonly string[];
  readonly processes: { readonly current: number; readonly max: number } | undefined;
  readonly pods: { readonly running: number; readonly total: number; readonly max: number };
  readonly runtime: {
    readonly name: string;
    readonly version: string;
    readonly ok: boolean;
    readonly problem?: string;
  };
  readonly certificates: readonly { readonly name: string; readonly notAfterMs: number }[];
  readonly configuration: { readonly state: string; readonly pending: readonly string[] };
}

/** Eviction begins when available falls below it. */
export interface ThresholdMark {
  readonly kind: 'hard' | 'soft';
  readonly signal: string;
  /** Bytes, or inodes for the signals of inodes. */
  readonly available: number;
}

export interface DiskView {
  readonly name: string;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
  readonly thresholds: readonly ThresholdMark[];
}

/** A row of the table of pods. */
export interface PodRow {
  readonly uid: PodUid;
  readonly namespace: string;
  readonly name: string;
  /** As kubectl's STATUS column: Running, CrashLoopBackOff, Init:0/1, Terminating … */
  readonly status: string;
  readonly tone: 'good' | 'busy' | 'bad' | 'done';
  /** The sentence of /explain. */
  readonly sentence: string;
  readonly sinceMs: number | undefined;
  readonly ready: number;
  readonly containers: number;
  readonly restarts: number;
  readonly lastRestartMs: number | undefined;
  readonly createdMs: number | undefined;
  readonly ip: string;
  readonly source: string;
}

export interface PodsChange {
  /** True in the first message: rows that are not in it are gone. */
  readonly all: boolean;
  readonly rows: readonly PodRow[];
  readonly gone: readonly PodUid[];
}

/** One sample, of all pods at once. */
export interface UsageSample {
  readonly atMs: number;
  readonly node: Usage;
  readonly pods: Readonly<Record<string, Usage>>;
}

/** CPU in thousandths of a core since the sample before, and the working set in bytes; null: not measured. */
export type Usage = readonly [cpuMillis: number | null, memoryBytes: number | null];

export type StageName =
  | 'admit'
  | 'volumes'
  | 'sandbox'
  | 'pull'
  | 'create'
  | 'start'
  | 'postStart'
  | 'run'
  | 'first-probe'
  | 'ready';

export interface StartStage {
  readonly stage: StageName;
  /** Absent for stages of the pod as a whole. */
  readonly container?: string;
  readonly beginMs: number;
  /** Absent while it is in progress. */
  readonly endMs?: number;
  /** Why it failed, bounded. */
  readonly error?: string;
  /** For example the image of a pull. */
  readonly detail?: string;
}

/** One start of a pod, or of a container that was restarted. */
export interface PodStart {
  /** When the kubelet first saw the pod, or when the restart began. */
  readonly beginMs: number;
  readonly readyMs?: number;
  /** `status`: made of the times in status and runtime, since an earlier kubelet started it. */
  readonly from: 'recorded' | 'status';
  /** The container that was restarted; absent for the start of the pod. */
  readonly restartOf?: string;
  readonly stages: readonly StartStage[];
}

export type ProbeKind = 'startup' | 'readiness' | 'liveness';

/** Consecutive results that were alike. */
export interface ProbeRun {
  readonly result: 'success' | 'failure' | 'unknown';
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly slowestMs: number;
  /** Of the newest failure, bounded. */
  readonly output?: string;
}

export interface ProbeStrip {
  readonly container: string;
  readonly kind: ProbeKind;
  readonly periodSeconds: number;
  /** Oldest first. */
  readonly runs: readonly ProbeRun[];
}

export interface ContainerView {
  readonly name: string;
  readonly role: 'init' | 'sidecar' | 'regular' | 'ephemeral';
  readonly image: string;
  readonly id: string;
  readonly state: string;
  readonly tone: PodRow['tone'];
  readonly sinceMs: number | undefined;
  readonly ready: boolean;
  readonly restarts: number;
  /** While it waits for its restart. */
  readonly backoffUntilMs?: number;
  readonly lastEnd?: string;
  readonly hasPrevious: boolean;
}

export interface VolumeView {
  readonly name: string;
  readonly kind: string;
  readonly mounted: boolean;
  readonly detail: string;
}

export interface EventView {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly lastMs: number;
  readonly about: string;
}

/** Of an EndRecord of the history. */
export interface EndView {
  readonly id: string;
  readonly atMs: number;
  readonly kind: string;
  readonly container: string | undefined;
  readonly cause: string;
  readonly rule: string | undefined;
  readonly exitCode: number | undefined;
  readonly lastLines: readonly string[] | undefined;
}

export interface PodDetail {
  readonly row: PodRow;
  /** Newest first. */
  readonly starts: readonly PodStart[];
  readonly probes: readonly ProbeStrip[];
  readonly ends: readonly EndView[];
  readonly containers: readonly ContainerView[];
  readonly volumes: readonly VolumeView[];
  readonly events: readonly EventView[];
  /** The pod with the status that the kubelet reports. */
  readonly pod: unknown;
  /** Which parts were left out because the detail would be too large. */
  readonly note?: string;
}

export interface LoopView {
  readonly name: string;
  readonly running: number;
  readonly queued: number;
  readonly backingOff: number;
  /** How long the oldest run has been in progress. */
  readonly oldestRunMs: number | undefined;
  /** The key of that run, as far as it has a name. */
  readonly oldestKey: string | undefined;
}

export interface InFlightCall {
  readonly to: 'runtime' | 'images' | 'api-server' | 'csi' | 'plugin';
  readonly method: string;
  readonly sinceMs: number;
  readonly deadlineMs?: number;
}

export interface KubeletHealth {
  readonly checks: readonly { readonly name: string; readonly problem?: string }[];
  readonly loops: readonly LoopView[];
  readonly calls: readonly InFlightCall[];
  readonly loopDelayMs: { readonly p50: number; readonly p99: number; readonly max: number };
  readonly cpuMillis: number | null;
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly openFiles: number | undefined;
  readonly viewers: number;
}

/** The stream GET /ui/api/stream?pod=UID&health=1: the name of each server-sent event and its data. */
export interface StreamEvents {
  readonly hello: Hello;
  readonly node: NodeView;
  readonly pods: PodsChange;
  /** Samples since the first viewer came, oldest first, at most 300; sent once. */
  readonly samples: readonly UsageSample[];
  readonly usage: UsageSample;
  /** Only with `pod`; null once the pod is gone. */
  readonly pod: PodDetail | null;
  /** Only with `health`. */
  readonly health: KubeletHealth;
  /** The stream ends; the page reconnects after so many milliseconds. */
  readonly bye: { readonly why: string; readonly retryMs: number };
}

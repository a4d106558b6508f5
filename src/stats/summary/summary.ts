// The JSON of /stats/summary. Types only, with fields in Go's order.
// Upstream: staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1.

interface PsiLineJson {
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface PsiJson {
  readonly full: PsiLineJson;
  readonly some: PsiLineJson;
}

export interface CpuJson {
  readonly time: string;
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds?: number;
  readonly psi?: PsiJson;
}

export interface MemoryJson {
  readonly time: string;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: PsiJson;
}

export interface IoJson {
  readonly time: string;
  readonly psi?: PsiJson;
}

export interface SwapJson {
  readonly time: string;
  readonly swapAvailableBytes?: number;
  readonly swapUsageBytes?: number;
}

export interface InterfaceJson {
  readonly name: string;
  readonly rxBytes?: number;
  readonly rxErrors?: number;
  readonly txBytes?: number;
  readonly txErrors?: number;
}

export interface NetworkJson extends InterfaceJson {
  readonly time: string;
  readonly interfaces?: readonly InterfaceJson[];
}

export interface FsJson {
  readonly time: string;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}

export interface VolumeJson extends FsJson {
  readonly name: string;
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
}

export interface ContainerJson {
  readonly name: string;
  readonly startTime: string;
  readonly cpu?: CpuJson;
  readonly memory?: MemoryJson;
  readonly io?: IoJson;
  readonly rootfs?: FsJson;
  readonly logs?: FsJson;
  readonly swap?: SwapJson;
}

export interface PodJson {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly startTime: string;
  readonly containers: readonly ContainerJson[];
  readonly cpu?: CpuJson;
  readonly memory?: MemoryJson;
  readonly io?: IoJson;
  readonly network?: NetworkJson;
  readonly volume?: readonly VolumeJson[];
  readonly 'ephemeral-storage'?: FsJson;
  readonly process_stats?: { readonly process_count: number };
  readonly swap?: SwapJson;
}

interface NodeJson {
  readonly nodeName: string;
  readonly systemContainers?: readonly ContainerJson[];
  readonly startTime: string;
  readonly cpu?: CpuJson;
  readonly memory?: MemoryJson;
  readonly io?: IoJson;
  readonly network?: NetworkJson;
  readonly fs?: FsJson;
  readonly runtime?: { readonly imageFs?: FsJson; readonly containerFs?: FsJson };
  readonly rlimit?: { readonly time: string; readonly maxpid?: number; readonly curproc?: number };
  readonly swap?: SwapJson;
}

export interface Summary {
  readonly node: NodeJson;
  readonly pods: readonly PodJson[];
}

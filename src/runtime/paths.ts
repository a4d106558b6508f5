// Where a pod's and a container's files are. Pure spelling. Upstream: kuberuntime/helpers.go (BuildPodLogsDirectory …).
import type { Pod } from '../api/k8s.ts';
import { podUid } from '../api/pod-ref.ts';

/** `<podLogsDir>/<namespace>_<name>_<uid>`. */
export function podLogDirectory(podLogsDir: string, pod: Pod): string {
  return podLogDirectoryOf(podLogsDir, pod.metadata?.namespace ?? '', pod.metadata?.name ?? '', podUid(pod));
}

export function podLogDirectoryOf(podLogsDir: string, namespace: string, name: string, uid: string): string {
  return `${podLogsDir}/${namespace}_${name}_${uid}`;
}

/** Relative to the pod's log directory, as the CRI wants it. */
export function containerLogPath(containerName: string, restartCount: number): string {
  return `${containerName}/${restartCount}.log`;
}

/** `<root>/pods/<uid>`. */
export function podDirectory(rootDir: string, uid: string): string {
  return `${rootDir}/pods/${uid}`;
}

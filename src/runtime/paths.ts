// Where a pod's and a container's files are. Pure spelling. Upstream: kuberuntime/helpers.go (BuildPodLogsDirectory …).
// Invariant: a path that is made from names lies in its directory. A UID may be written in a manifest, and names and UIDs
// come back from a runtime that others use as well: none of them may lead elsewhere, since these paths are deleted.
import { dirname } from 'node:path/posix';
import type { Pod } from '../api/k8s/types.ts';
import { asPodUid, type PodUid, podUid } from '../api/pod/pod-ref.ts';
import { KubeletError } from '../base/errors.ts';

/** What file systems can hold, in bytes; names of pods and containers are ASCII. */
const longestFileName = 255;

export interface PodName {
  readonly name: string;
  readonly namespace: string;
}

/** `<podLogsDir>/<namespace>_<name>_<uid>`. */
export function podLogDirectory(podLogsDir: string, pod: Pod): string {
  return podLogDirectoryOf(podLogsDir, pod.metadata?.namespace ?? '', pod.metadata?.name ?? '', podUid(pod));
}

export function podLogDirectoryOf(podLogsDir: string, namespace: string, name: string, uid: string): string {
  return `${podLogsDir}/${oneElement(`${namespace}_${name}_${uid}`)}`;
}

/** Relative to the pod's log directory, as the CRI wants it. */
export function containerLogPath(containerName: string, restartCount: number): string {
  return `${containerName}/${restartCount}.log`;
}

/** `<root>/pods/<uid>`. */
export function podDirectory(rootDir: string, uid: string): string {
  return `${podsDirectory(rootDir)}/${oneElement(uid)}`;
}

export function podsDirectory(rootDir: string): string {
  return `${rootDir}/pods`;
}

/** Whether a directory's name can be a pod's UID. Others put things beside ours that are none. */
export function isUid(name: string): boolean {
  return /^[0-9A-Za-z][0-9A-Za-z-]*$/.test(name);
}

/** Whose logs lie in a directory of this name; undefined when it is not one of ours. */
export function podOfLogDirectory(
  directory: string,
): { readonly namespace: string; readonly name: string; readonly uid: PodUid } | undefined {
  const [namespace = '', name = '', uid = '', ...rest] = directory.split('_');
  if (namespace === '' || name === '' || !isUid(uid) || rest.length > 0) return undefined;
  return { namespace, name, uid: asPodUid(uid) };
}

/** `<root>/pods/<uid>/containers/<name>`. */
export function containerDirectory(rootDir: string, uid: string, containerName: string): string {
  return `${podDirectory(rootDir, uid)}/containers/${oneElement(containerName)}`;
}

/**
 * Where links to the containers' logs lie.
 * differs from upstream: where the pod logs have a place of their own, so have the links to them.
 */
export function containerLogsDirectory(podLogsDir: string): string {
  return podLogsDir === '/var/log/pods' ? '/var/log/containers' : `${dirname(podLogsDir)}/containers`;
}

/** The old name of a container's log, by which collectors of logs find it: `<pod>_<namespace>_<container>-<id>.log`. */
export function logLinkPath(
  containerLogsDir: string,
  pod: PodName,
  containerName: string,
  id: string,
): string {
  const suffix = '.log';
  const name = `${pod.name}_${pod.namespace}_${containerName}-${id}`;
  return `${containerLogsDir}/${oneElement(name.slice(0, longestFileName - suffix.length))}${suffix}`;
}

export function oneElement(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) {
    throw new KubeletError(
      'invalid',
      'InvalidPath',
      `${JSON.stringify(name)} cannot be the name of a directory`,
    );
  }
  return name;
}

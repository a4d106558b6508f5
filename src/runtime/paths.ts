// The paths of a pod's and a container's files. Pure. Upstream: kuberuntime/helpers.go (BuildPodLogsDirectory …).
// Invariant: a path that is built from names stays in its directory. A manifest may contain any UID, and the runtime returns names
// and UIDs of other clients, too. None of them may escape the directory, because these paths are deleted.
import { dirname } from 'node:path/posix';
import type { Pod } from '../api/k8s/types.ts';
import { asPodUid, type PodUid, podUid } from '../api/pod/pod-ref.ts';
import { KubeletError } from '../base/errors.ts';

/** Linux' limit, in bytes; names of pods and containers are ASCII. */
const maxFileNameBytes = 255;

export interface PodName {
  readonly name: string;
  readonly namespace: string;
}

/** `<podLogsDir>/<namespace>_<name>_<uid>`. */
export function podLogDirectory(podLogsDir: string, pod: Pod): string {
  return podLogDirectoryOf(podLogsDir, pod.metadata?.namespace ?? '', pod.metadata?.name ?? '', podUid(pod));
}

export function podLogDirectoryOf(podLogsDir: string, namespace: string, name: string, uid: string): string {
  return `${podLogsDir}/${pathElement(`${namespace}_${name}_${uid}`)}`;
}

/** Relative to the pod's log directory, as the CRI requires. */
export function containerLogPath(containerName: string, restartCount: number): string {
  return `${containerName}/${restartCount}.log`;
}

/** `<root>/pods/<uid>`. */
export function podDirectory(rootDir: string, uid: string): string {
  return `${podsDirectory(rootDir)}/${pathElement(uid)}`;
}

export function podsDirectory(rootDir: string): string {
  return `${rootDir}/pods`;
}

/** Whether a directory's name can be a pod's UID. Other programs may put directories beside the kubelet's. */
export function isUid(name: string): boolean {
  return /^[0-9A-Za-z][0-9A-Za-z-]*$/.test(name);
}

/** The pod that a log directory of this name belongs to; undefined when it is not a pod's log directory. */
export function podOfLogDirectory(
  directory: string,
): { readonly namespace: string; readonly name: string; readonly uid: PodUid } | undefined {
  const [namespace = '', name = '', uid = '', ...rest] = directory.split('_');
  if (namespace === '' || name === '' || !isUid(uid) || rest.length > 0) return undefined;
  return { namespace, name, uid: asPodUid(uid) };
}

/** `<root>/pods/<uid>/containers/<name>`. */
export function containerDirectory(rootDir: string, uid: string, containerName: string): string {
  return `${podDirectory(rootDir, uid)}/containers/${pathElement(containerName)}`;
}

/**
 * The directory of the symbolic links to container logs.
 * differs from upstream: if the pod logs are not in /var/log/pods, the links are in a directory beside them.
 */
export function containerLogsDirectory(podLogsDir: string): string {
  return podLogsDir === '/var/log/pods' ? '/var/log/containers' : `${dirname(podLogsDir)}/containers`;
}

export const linkSuffix = '.log';

/** The legacy name of a container's log, which log collectors watch: `<pod>_<namespace>_<container>-<id>.log`. */
export function logLinkPath(
  containerLogsDir: string,
  pod: PodName,
  containerName: string,
  id: string,
): string {
  const name = `${pod.name}_${pod.namespace}_${containerName}-${id}`;
  return `${containerLogsDir}/${pathElement(name.slice(0, maxFileNameBytes - linkSuffix.length))}${linkSuffix}`;
}

export function pathElement(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) {
    throw new KubeletError(
      'invalid',
      'InvalidPath',
      `${JSON.stringify(name)} cannot be used as a directory name`,
    );
  }
  return name;
}

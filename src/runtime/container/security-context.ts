// The CRI security context of sandboxes and containers, from the pod's and the container's own. Pure.
// Upstream: pkg/securitycontext, kuberuntime/security_context.go, kuberuntime/util (namespaces), helpers.go (seccomp).
import { join } from 'node:path/posix';
import {
  type LinuxContainerSecurityContext,
  type LinuxSandboxSecurityContext,
  NamespaceMode,
  type NamespaceOption,
  type SecurityProfile,
  SecurityProfile_ProfileType,
  SupplementalGroupsPolicy,
  type UserNamespace,
} from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import type { Container, Pod, SeccompProfile, SecurityContext } from '../../api/k8s/types.ts';
import { allContainers } from '../../api/pod/find-container.ts';
import { KubeletError } from '../../base/errors.ts';
import { appArmorProfile } from './app-armor.ts';

/** The image's user: its numeric ID, or its name. */
export interface ImageUser {
  readonly uid: bigint | undefined;
  readonly username: string;
}

export interface SeccompSettings {
  /** `<root>/seccomp`, the directory of Localhost profiles. */
  readonly profileRoot: string;
  readonly defaultToRuntime: boolean;
}

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

/** Undefined: the request has no user namespace options, as without the gate. */
export type PodUserNamespace = CriRequest<UserNamespace> | undefined;

export function namespaceOptions(pod: Pod, users: PodUserNamespace): CriRequest<NamespaceOption> {
  const spec = pod.spec;
  const ofPod = (host: boolean | undefined): NamespaceMode =>
    host === true ? NamespaceMode.NODE : NamespaceMode.POD;
  const shared = spec?.shareProcessNamespace === true ? NamespaceMode.POD : NamespaceMode.CONTAINER;
  return {
    network: ofPod(spec?.hostNetwork),
    ipc: ofPod(spec?.hostIPC),
    pid: spec?.hostPID === true ? NamespaceMode.NODE : shared,
    usernsOptions: users,
  };
}

export function sandboxSecurityContext(
  pod: Pod,
  users: PodUserNamespace,
  volumeGroups: readonly number[] = [],
): CriRequest<LinuxSandboxSecurityContext> {
  const podContext = pod.spec?.securityContext;
  return {
    namespaceOptions: namespaceOptions(pod, users),
    privileged: allContainers(pod).some((container) => container.securityContext?.privileged === true),
    seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault },
    runAsUser: int64(podContext?.runAsUser),
    runAsGroup: int64(podContext?.runAsGroup),
    supplementalGroups: supplementalGroups(pod, volumeGroups),
    supplementalGroupsPolicy: groupsPolicy(pod),
    selinuxOptions: podContext?.seLinuxOptions,
  };
}

export interface SecurityInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly imageUser: ImageUser;
  readonly users: PodUserNamespace;
  /** The groups that persistent volumes add. Default: none. */
  readonly volumeGroups?: readonly number[];
  /** The target container of an ephemeral container, whose PID namespace it joins. */
  readonly targetId?: string | undefined;
}

export function containerSecurityContext(
  input: SecurityInput,
  seccomp: SeccompSettings,
): CriRequest<LinuxContainerSecurityContext> {
  const { pod, container, imageUser } = input;
  const own = container.securityContext ?? {};
  const podContext = pod.spec?.securityContext ?? {};
  const runAsUser = own.runAsUser ?? podContext.runAsUser;
  const unmasked = own.procMount === 'Unmasked';
  return {
    namespaceOptions: containerNamespaces(input),
    privileged: own.privileged === true,
    capabilities:
      own.capabilities === undefined
        ? undefined
        : { addCapabilities: own.capabilities.add ?? [], dropCapabilities: own.capabilities.drop ?? [] },
    runAsUser: runAsUser === undefined ? int64(imageUser.uid) : int64(runAsUser),
    runAsUsername: runAsUser === undefined ? imageUser.username : '',
    runAsGroup: int64(own.runAsGroup ?? podContext.runAsGroup),
    readonlyRootfs: own.readOnlyRootFilesystem === true,
    supplementalGroups: supplementalGroups(pod, input.volumeGroups ?? []),
    supplementalGroupsPolicy: groupsPolicy(pod),
    selinuxOptions: own.seLinuxOptions ?? podContext.seLinuxOptions,
    noNewPrivs: own.allowPrivilegeEscalation === false,
    maskedPaths: unmasked ? [] : maskedPaths,
    readonlyPaths: unmasked ? [] : readonlyPaths,
    seccomp: seccompProfile(own.seccompProfile ?? podContext.seccompProfile, seccomp),
    ...appArmorProfile(pod, container),
  };
}

function containerNamespaces({ pod, targetId, users }: SecurityInput): CriRequest<NamespaceOption> {
  const options = namespaceOptions(pod, users);
  if (targetId === undefined || options.pid !== NamespaceMode.CONTAINER) return options;
  return { ...options, pid: NamespaceMode.TARGET, targetId };
}

/**
 * Why the container's user violates runAsNonRoot; undefined when it does not.
 * Only numeric users can be checked, as in upstream.
 */
export function runAsNonRootViolation(
  pod: Pod,
  container: Container,
  imageUser: ImageUser,
): string | undefined {
  const podContext = pod.spec?.securityContext;
  const own: SecurityContext | undefined = container.securityContext;
  if ((own?.runAsNonRoot ?? podContext?.runAsNonRoot) !== true) return undefined;
  const named = `(pod: "${podFormat(pod)}", container: ${container.name})`;
  const runAsUser = own?.runAsUser ?? podContext?.runAsUser;
  if (runAsUser !== undefined) {
    return runAsUser === 0 ? `container's runAsUser breaks non-root policy ${named}` : undefined;
  }
  if (imageUser.uid === 0n) return `container has runAsNonRoot and image will run as root ${named}`;
  if (imageUser.uid === undefined && imageUser.username !== '') {
    return `container has runAsNonRoot and image has non-numeric user (${imageUser.username}), cannot verify user is non-root ${named}`;
  }
  return undefined;
}

/** `name_namespace(uid)`, the form of upstream's messages. */
export function podFormat(pod: Pod): string {
  return `${pod.metadata?.name ?? ''}_${pod.metadata?.namespace ?? ''}(${pod.metadata?.uid ?? ''})`;
}

function seccompProfile(
  profile: SeccompProfile | undefined,
  settings: SeccompSettings,
): CriRequest<SecurityProfile> {
  switch (profile?.type) {
    case 'RuntimeDefault':
      return { profileType: SecurityProfile_ProfileType.RuntimeDefault };
    case 'Localhost':
      return {
        profileType: SecurityProfile_ProfileType.Localhost,
        localhostRef: localhostProfile(settings.profileRoot, profile.localhostProfile ?? ''),
      };
    case undefined:
      return {
        profileType: settings.defaultToRuntime
          ? SecurityProfile_ProfileType.RuntimeDefault
          : SecurityProfile_ProfileType.Unconfined,
      };
    default:
      return { profileType: SecurityProfile_ProfileType.Unconfined };
  }
}

function localhostProfile(root: string, name: string): string {
  if (name === '') {
    const message = 'localhostProfile must be set if seccompProfile type is Localhost.';
    throw new KubeletError('invalid', 'CreateContainerConfigError', message);
  }
  return join(root, name);
}

function supplementalGroups(pod: Pod, volumeGroups: readonly number[]): bigint[] {
  const context = pod.spec?.securityContext;
  const fsGroup = context?.fsGroup === undefined ? [] : [BigInt(context.fsGroup)];
  const groups = [...(context?.supplementalGroups ?? []), ...volumeGroups];
  return [...fsGroup, ...groups.map((group) => BigInt(group))];
}

function groupsPolicy(pod: Pod): SupplementalGroupsPolicy {
  const policy = pod.spec?.securityContext?.supplementalGroupsPolicy ?? 'Merge';
  if (policy === 'Strict') return SupplementalGroupsPolicy.Strict;
  if (policy === 'Merge') return SupplementalGroupsPolicy.Merge;
  throw new KubeletError(
    'invalid',
    'CreateContainerConfigError',
    `unsupported supplementalGroupsPolicy: ${policy}`,
  );
}

function int64(value: number | bigint | undefined): { value: bigint } | undefined {
  return value === undefined ? undefined : { value: BigInt(value) };
}

// Who a container runs as and what it may do, from the pod's and its own security context. Pure.
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

/** The numeric user an image asks for, or its name where it has one. */
export interface ImageUser {
  readonly uid: bigint | undefined;
  readonly username: string;
}

export interface SeccompSettings {
  /** `<root>/seccomp`, where Localhost profiles live. */
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

/** Undefined: nothing is said of users, as a kubelet without the gate does. */
export type Users = CriRequest<UserNamespace> | undefined;

export function namespaceOptions(pod: Pod, users: Users): CriRequest<NamespaceOption> {
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

export function sandboxSecurityContext(pod: Pod, users: Users): CriRequest<LinuxSandboxSecurityContext> {
  const podContext = pod.spec?.securityContext;
  return {
    namespaceOptions: namespaceOptions(pod, users),
    privileged: allContainers(pod).some((container) => container.securityContext?.privileged === true),
    seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault },
    runAsUser: int64(podContext?.runAsUser),
    runAsGroup: int64(podContext?.runAsGroup),
    supplementalGroups: supplementalGroups(pod),
    supplementalGroupsPolicy: groupsPolicy(pod),
    selinuxOptions: podContext?.seLinuxOptions,
  };
}

export interface SecurityInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly imageUser: ImageUser;
  readonly users: Users;
  /** The container whose processes an ephemeral container is to see. */
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
    supplementalGroups: supplementalGroups(pod),
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
 * Why this container must not run as the user it would run as; undefined when it may.
 * Only numeric users can be checked, as upstream.
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

/** `name_namespace(uid)`, as upstream's messages name a pod. */
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

function supplementalGroups(pod: Pod): bigint[] {
  const context = pod.spec?.securityContext;
  const fsGroup = context?.fsGroup === undefined ? [] : [BigInt(context.fsGroup)];
  return [...fsGroup, ...(context?.supplementalGroups ?? []).map((group) => BigInt(group))];
}

function groupsPolicy(pod: Pod): SupplementalGroupsPolicy {
  const asked = pod.spec?.securityContext?.supplementalGroupsPolicy ?? 'Merge';
  if (asked === 'Strict') return SupplementalGroupsPolicy.Strict;
  if (asked === 'Merge') return SupplementalGroupsPolicy.Merge;
  throw new KubeletError(
    'invalid',
    'CreateContainerConfigError',
    `unsupported supplementalGroupsPolicy: ${asked}`,
  );
}

function int64(value: number | bigint | undefined): { value: bigint } | undefined {
  return value === undefined ? undefined : { value: BigInt(value) };
}

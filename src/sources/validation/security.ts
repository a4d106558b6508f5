// Validates the security contexts of pods and containers.
// Upstream: pkg/apis/core/validation (validatePodSpecSecurityContext, ValidateSecurityContext).

import { isUserOrGroupId } from '../../api/k8s/names.ts';
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
} from '../../api/k8s/types.ts';
import { checkSysctls } from './sysctls.ts';
import { bytesOf, type Violations } from './violation.ts';
import { checkDescendingPath } from './volumes/paths.ts';
import { checkWindowsOptions } from './windows-options.ts';

const profileTypes = ['Localhost', 'RuntimeDefault', 'Unconfined'];
const pathBytes = 4095;

export function checkPodSecurity(v: Violations, path: string, spec: PodSpec, seLinuxMount: boolean): void {
  const context: PodSecurityContext = spec.securityContext ?? {};
  checkId(v, `${path}.fsGroup`, context.fsGroup);
  checkId(v, `${path}.runAsUser`, context.runAsUser);
  checkId(v, `${path}.runAsGroup`, context.runAsGroup);
  for (const [index, group] of (context.supplementalGroups ?? []).entries())
    checkId(v, `${path}.supplementalGroups[${index}]`, group);
  if (spec.shareProcessNamespace === true && spec.hostPID === true)
    v.invalid('spec.shareProcessNamespace', true, 'must not be true when hostPID is');
  checkSysctls(v, `${path}.sysctls`, context.sysctls ?? [], spec);
  v.word(`${path}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  checkSeccompProfile(v, `${path}.seccompProfile`, context.seccompProfile);
  checkWindowsOptions(v, `${path}.windowsOptions`, context.windowsOptions);
  checkAppArmorProfile(v, `${path}.appArmorProfile`, context.appArmorProfile);
  v.word(`${path}.supplementalGroupsPolicy`, context.supplementalGroupsPolicy, ['Merge', 'Strict']);
  const changePolicies = seLinuxMount ? ['MountOption', 'Recursive'] : ['Recursive'];
  v.word(`${path}.seLinuxChangePolicy`, context.seLinuxChangePolicy, changePolicies);
}

export function checkSecurityContext(
  v: Violations,
  path: string,
  context: SecurityContext | undefined,
  hostUsers: boolean,
): void {
  if (context === undefined) return;
  checkId(v, `${path}.runAsUser`, context.runAsUser);
  checkId(v, `${path}.runAsGroup`, context.runAsGroup);
  v.word(`${path}.procMount`, context.procMount, ['Default', 'Unmasked']);
  if (context.procMount === 'Unmasked' && hostUsers)
    v.invalid(`${path}.procMount`, context.procMount, 'needs hostUsers to be false');
  checkSeccompProfile(v, `${path}.seccompProfile`, context.seccompProfile);
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged === true)
      v.invalid(path, context, 'allowPrivilegeEscalation cannot be false when privileged is true');
    if (context.capabilities?.add?.includes('CAP_SYS_ADMIN') === true)
      v.invalid(path, context, 'allowPrivilegeEscalation cannot be false when CAP_SYS_ADMIN is added');
  }
  checkWindowsOptions(v, `${path}.windowsOptions`, context.windowsOptions);
  checkAppArmorProfile(v, `${path}.appArmorProfile`, context.appArmorProfile);
}

function checkId(v: Violations, field: string, id: number | undefined): void {
  if (id !== undefined) for (const detail of isUserOrGroupId(id)) v.invalid(field, id, detail);
}

function checkSeccompProfile(v: Violations, path: string, profile: SeccompProfile | undefined): void {
  if (profile === undefined) return;
  v.requiredWord(`${path}.type`, profile.type, profileTypes);
  const { localhostProfile } = profile;
  if (profile.type !== 'Localhost') {
    if (localhostProfile !== undefined)
      v.invalid(`${path}.localhostProfile`, localhostProfile, 'is only for the type Localhost');
  } else if (localhostProfile === undefined)
    v.required(`${path}.localhostProfile`, 'is needed for the type Localhost');
  else checkDescendingPath(v, `${path}.localhostProfile`, localhostProfile);
}

function checkAppArmorProfile(v: Violations, path: string, profile: AppArmorProfile | undefined): void {
  if (profile === undefined) return;
  v.requiredWord(`${path}.type`, profile.type, profileTypes);
  const { localhostProfile } = profile;
  const field = `${path}.localhostProfile`;
  if (profile.type === 'Localhost') {
    if (!localhostProfile) v.required(field, 'is needed for the type Localhost');
    else if (localhostProfile.trim() !== localhostProfile)
      v.invalid(field, localhostProfile, 'must not have blanks at its ends');
    if (bytesOf(localhostProfile ?? '') > pathBytes) v.tooLong(field, pathBytes);
  } else if (localhostProfile !== undefined && profileTypes.includes(profile.type))
    v.invalid(field, localhostProfile, 'is only for the type Localhost');
}

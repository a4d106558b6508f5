// Validates the fields that depend on the operating system of a pod.
// Upstream: pkg/apis/core/validation (validateOS, validateLinux, validateWindows).
import type { PodSpec } from '../../api/k8s/types.ts';
import type { Violations } from './violation.ts';

const notForWindows = 'cannot be set for a windows pod';
const notForLinux = 'cannot be set for a linux pod';

const linuxOnly = ['appArmorProfile', 'seLinuxOptions', 'seccompProfile', 'runAsUser', 'runAsGroup'] as const;
const linuxOnlyOfPods = [
  ...linuxOnly,
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const;
const linuxOnlyOfContainers = [
  ...linuxOnly,
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
] as const;

export function checkOperatingSystem(v: Violations, spec: PodSpec): void {
  if (spec.os === undefined) return;
  if (!spec.os.name) v.required('spec.os.name');
  else v.word('spec.os', spec.os.name, ['linux', 'windows']);
  const contexts = containerContexts(spec);
  if (spec.os.name === 'linux')
    for (const [path, context] of [
      ['spec.securityContext', spec.securityContext ?? {}] as const,
      ...contexts,
    ])
      forbid(v, path, context, ['windowsOptions'], notForLinux);
  if (spec.os.name !== 'windows') return;
  forbid(v, 'spec', spec, ['hostUsers', 'shareProcessNamespace'], notForWindows);
  v.unset({ 'spec.hostPID': spec.hostPID, 'spec.hostIPC': spec.hostIPC }, notForWindows);
  forbid(v, 'spec.securityContext', spec.securityContext ?? {}, linuxOnlyOfPods, notForWindows);
  for (const [path, context] of contexts) forbid(v, path, context, linuxOnlyOfContainers, notForWindows);
}

function containerContexts(spec: PodSpec): (readonly [string, object])[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return Object.entries({ containers, initContainers, ephemeralContainers }).flatMap(([list, each]) =>
    each.map(
      ({ securityContext }, index) =>
        [`spec.${list}[${index}].securityContext`, securityContext ?? {}] as const,
    ),
  );
}

function forbid(v: Violations, path: string, context: object, keys: readonly string[], detail: string): void {
  for (const [key, value] of Object.entries(context)) {
    const empty = value === undefined || (key === 'sysctls' && Array.isArray(value) && value.length === 0);
    if (keys.includes(key) && !empty) v.forbidden(`${path}.${key}`, detail);
  }
}

// Validates well-known annotations, and that they agree with the fields that replaced them.
// Upstream: pkg/apis/core/validation (ValidatePodSpecificAnnotations and the checks on create).
import type { AppArmorProfile, Pod, PodSpec, SeccompProfile, Toleration } from '../../api/k8s/types.ts';
import { configMirrorAnnotation as mirror } from '../../api/ports/pod-source.ts';
import { checkTolerations } from './scheduling.ts';
import type { Violations } from './violation.ts';
import { checkDescendingPath } from './volumes/paths.ts';

const tolerations = 'scheduler.alpha.kubernetes.io/tolerations';
const deletionCost = 'controller.kubernetes.io/pod-deletion-cost';
const seccompOfPod = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompOfContainer = 'container.seccomp.security.alpha.kubernetes.io/';
const appArmorOfContainer = 'container.apparmor.security.beta.kubernetes.io/';
const path = 'metadata.annotations';

type Annotations = Readonly<Record<string, string>>;
type Named = readonly [
  path: string,
  container: { readonly name: string; readonly securityContext?: Profiles },
];
interface Profiles {
  readonly seccompProfile?: SeccompProfile;
  readonly appArmorProfile?: AppArmorProfile;
}

export function checkPodAnnotations(v: Violations, pod: Pod, spec: PodSpec): void {
  const annotations = pod.metadata?.annotations ?? {};
  const containers = namedContainers(spec);
  if (annotations[mirror] !== undefined && !spec.nodeName)
    v.invalid(`${path}[${mirror}]`, annotations[mirror], 'a mirror pod must have spec.nodeName');
  if (annotations[tolerations]) checkTolerationsText(v, annotations[tolerations]);
  const cost = annotations[deletionCost];
  if (cost !== undefined && !isInt32(cost))
    v.invalid(`${path}[${deletionCost}]`, cost, 'must be a 32-bit number');
  for (const [key, value] of Object.entries(annotations)) {
    if (key === seccompOfPod || key.startsWith(seccompOfContainer))
      checkSeccompName(v, `${path}.${key}`, value);
    if (key.startsWith(appArmorOfContainer)) checkAppArmorName(v, key, value, containers);
  }
  checkAgreement(v, annotations, spec, containers);
}

function namedContainers(spec: PodSpec): Named[] {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return Object.entries({ containers, initContainers, ephemeralContainers }).flatMap(([list, each]) =>
    each.map((container, index): Named => [`spec.${list}[${index}]`, container]),
  );
}

function checkTolerationsText(v: Violations, text: string): void {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    parsed = undefined;
  }
  if (!Array.isArray(parsed)) v.invalid(path, tolerations, 'must be a list of tolerations in JSON');
  else checkTolerations(v, `${path}.${tolerations}`, parsed as Toleration[]);
}

function isInt32(text: string): boolean {
  return /^(0|-?[0-9]+)$/.test(text) && !/^0./.test(text) && Math.abs(Number(text) + 0.5) < 2 ** 31;
}

function checkSeccompName(v: Violations, field: string, name: string): void {
  if (name === 'runtime/default' || name === 'docker/default' || name === 'unconfined') return;
  if (name.startsWith('localhost/')) checkDescendingPath(v, field, name.slice('localhost/'.length));
  else v.invalid(field, name, 'must be a seccomp profile');
}

function checkAppArmorName(v: Violations, key: string, name: string, containers: readonly Named[]): void {
  const container = key.slice(appArmorOfContainer.length);
  if (!containers.some(([, each]) => each.name === container))
    v.invalid(`${path}[${key}]`, container, 'there is no such container');
  if (name !== '' && name !== 'runtime/default' && name !== 'unconfined' && !name.startsWith('localhost/'))
    v.invalid(`${path}[${key}]`, name, 'must be an AppArmor profile');
}

function checkAgreement(
  v: Violations,
  annotations: Annotations,
  spec: PodSpec,
  containers: readonly Named[],
): void {
  const ofPod = spec.securityContext;
  checkProfile(v, 'spec.securityContext.seccompProfile', annotations[seccompOfPod], ofPod?.seccompProfile);
  for (const [at, { name, securityContext }] of containers) {
    const seccomp = `${at}.securityContext.seccompProfile`;
    checkProfile(v, seccomp, annotations[seccompOfContainer + name], securityContext?.seccompProfile);
    if (spec.os?.name === 'windows') continue;
    const appArmor = securityContext?.appArmorProfile ?? ofPod?.appArmorProfile;
    checkProfile(
      v,
      `${at}.securityContext.appArmorProfile`,
      annotations[appArmorOfContainer + name],
      appArmor,
    );
  }
}

/** An annotation and a field must name the same profile. */
function checkProfile(
  v: Violations,
  at: string,
  annotation: string | undefined,
  profile: SeccompProfile | AppArmorProfile | undefined,
): void {
  if (annotation === undefined || profile === undefined) return;
  const typeOf: Readonly<Record<string, string>> = {
    unconfined: 'Unconfined',
    'runtime/default': 'RuntimeDefault',
    ...(at.endsWith('seccompProfile') ? { 'docker/default': 'RuntimeDefault' } : {}),
  };
  const local = annotation.startsWith('localhost/') ? annotation.slice('localhost/'.length) : undefined;
  const type = local === undefined ? typeOf[annotation] : 'Localhost';
  if (!['Localhost', 'RuntimeDefault', 'Unconfined'].includes(profile.type)) return;
  if (type !== profile.type) v.forbidden(`${at}.type`, 'must agree with the annotation');
  else if (type === 'Localhost' && local !== profile.localhostProfile)
    v.forbidden(`${at}.localhostProfile`, 'must agree with the annotation');
}

// Which AppArmor profile a container runs under. Pure. Upstream: pkg/security/apparmor, getAppArmorProfile in
// kuberuntime/helpers.go. Invariant: the field of the container, then its annotation, then the field of the pod.
import type { CriRequest } from '../api/cri.ts';
import { type SecurityProfile, SecurityProfile_ProfileType } from '../api/generated/runtime/v1/api.ts';
import type { AppArmorProfile, Container, Pod } from '../api/k8s.ts';
import { KubeletError } from '../base/errors.ts';

export interface AppArmorFields {
  readonly apparmor?: CriRequest<SecurityProfile>;
  /** The older form of the same, for runtimes that know no other. */
  readonly apparmorProfile?: string;
}

const annotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';
const localhostPrefix = 'localhost/';

export function appArmorProfile(pod: Pod, container: Container): AppArmorFields {
  const profile =
    container.securityContext?.appArmorProfile ??
    annotated(pod.metadata?.annotations?.[`${annotationPrefix}${container.name}`]) ??
    pod.spec?.securityContext?.appArmorProfile;
  switch (profile?.type) {
    case undefined:
      return {};
    case 'RuntimeDefault':
      return {
        apparmor: { profileType: SecurityProfile_ProfileType.RuntimeDefault },
        apparmorProfile: 'runtime/default',
      };
    case 'Unconfined':
      return {
        apparmor: { profileType: SecurityProfile_ProfileType.Unconfined },
        apparmorProfile: 'unconfined',
      };
    case 'Localhost':
      return localhost(profile.localhostProfile);
    default:
      throw invalid(`unknown apparmor profile type: "${profile?.type}"`);
  }
}

function localhost(name: string | undefined): AppArmorFields {
  if (name === undefined) throw invalid('missing localhost apparmor profile name');
  return {
    apparmor: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: name },
    apparmorProfile: `${localhostPrefix}${name}`,
  };
}

/** An annotation that says nothing known counts as none. */
function annotated(value: string | undefined): AppArmorProfile | undefined {
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  if (value?.startsWith(localhostPrefix) === true) {
    return { type: 'Localhost', localhostProfile: value.slice(localhostPrefix.length) };
  }
  return undefined;
}

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'CreateContainerConfigError', message);
}

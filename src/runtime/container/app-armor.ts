// The AppArmor profile of a container in the CRI's terms. Pure. Upstream: getAppArmorProfile in kuberuntime/helpers.go.

import { type SecurityProfile, SecurityProfile_ProfileType } from '../../api/cri/generated/runtime/v1/api.ts';
import type { CriRequest } from '../../api/cri/runtime.ts';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { localhostPrefix, requestedAppArmorProfile } from '../../api/pod/app-armor.ts';
import { KubeletError } from '../../base/errors.ts';

interface AppArmorFields {
  readonly apparmor?: CriRequest<SecurityProfile>;
  /** The legacy form, for runtimes that do not support `apparmor`. */
  readonly apparmorProfile?: string;
}

export function appArmorProfile(pod: Pod, container: Container): AppArmorFields {
  const profile = requestedAppArmorProfile(pod, container);
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

function invalid(message: string): KubeletError {
  return new KubeletError('invalid', 'CreateContainerConfigError', message);
}

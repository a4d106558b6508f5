// Which AppArmor profile a container asks for. Pure. Upstream: GetProfile in pkg/security/apparmor.
// Invariant: the field of the container, then its annotation (static pods may have no more), then the field of the pod.
import type { AppArmorProfile, Container, Pod } from '../k8s/types.ts';

const annotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';
export const localhostPrefix = 'localhost/';

export function askedAppArmorProfile(pod: Pod, container: Container): AppArmorProfile | undefined {
  return (
    container.securityContext?.appArmorProfile ??
    annotated(pod.metadata?.annotations?.[`${annotationPrefix}${container.name}`]) ??
    pod.spec?.securityContext?.appArmorProfile
  );
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

// The AppArmor profile of a container. Pure. Upstream: GetProfile in pkg/security/apparmor.
// Invariant: the container's field wins over its annotation (static pods may only have that), which wins over the pod's field.
import type { AppArmorProfile, Container, Pod } from '../k8s/types.ts';

const annotationPrefix = 'container.apparmor.security.beta.kubernetes.io/';
export const localhostPrefix = 'localhost/';

export function requestedAppArmorProfile(pod: Pod, container: Container): AppArmorProfile | undefined {
  return (
    container.securityContext?.appArmorProfile ??
    annotated(pod.metadata?.annotations?.[`${annotationPrefix}${container.name}`]) ??
    pod.spec?.securityContext?.appArmorProfile
  );
}

/** An unknown value of the annotation is ignored. */
function annotated(value: string | undefined): AppArmorProfile | undefined {
  if (value === 'runtime/default') return { type: 'RuntimeDefault' };
  if (value === 'unconfined') return { type: 'Unconfined' };
  if (value?.startsWith(localhostPrefix) === true) {
    return { type: 'Localhost', localhostProfile: value.slice(localhostPrefix.length) };
  }
  return undefined;
}

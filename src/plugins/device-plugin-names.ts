// What a device plugin may register, and upstream's messages if it is not allowed.
// Upstream: server.go and handler.go in pkg/kubelet/cm/devicemanager/plugin/v1beta1.
import { isQualifiedName } from '../api/k8s/names.ts';
import { isExtendedResource } from '../api/quantity/extended-resources.ts';
import { goQuote } from '../base/log/log-value.ts';

export const deviceApiVersion = 'v1beta1';

/** A name from a plugin has any length. */
const shownChars = 512;

const quoted = (text: string): string => goQuote(text.slice(0, shownChars));

export function versionFault(version: string): string | undefined {
  if (version === deviceApiVersion) return undefined;
  return `requested API version ${quoted(version)} is not supported by kubelet. Supported version is ["${deviceApiVersion}"]`;
}

export function resourceFault(resource: string): string | undefined {
  // A quota prefixes the name, which has to stay valid.
  const isValid =
    resource.length <= shownChars &&
    isExtendedResource(resource) &&
    isQualifiedName(`requests.${resource}`).length === 0;
  return isValid ? undefined : `the ResourceName ${quoted(resource)} is invalid`;
}

/** differs from upstream: there the name may lead out of the directory. */
export function endpointFault(endpoint: string): string | undefined {
  const isName = endpoint !== '' && !endpoint.includes('/') && !endpoint.includes('\0');
  if (isName && endpoint !== '.' && endpoint !== '..' && endpoint !== 'kubelet.sock') return undefined;
  return `the endpoint ${quoted(endpoint)} is not the name of a socket in the directory of device plugins`;
}

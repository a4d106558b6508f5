// Validates Windows options. This kubelet runs no Windows pods, but manifests must still be valid.
// Upstream: pkg/apis/core/validation (validateWindowsSecurityContextOptions, validateWindowsHostProcessPod).

import { isDns1123Subdomain } from '../../api/k8s/names.ts';
import type { PodSpec, WindowsSecurityContextOptions } from '../../api/k8s/types.ts';
import { bytesOf, type Violations } from './violation.ts';

const specBytes = 64 * 1024;
const domainLimit = 256;
const userLimit = 104;
const netBiosDomain = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const dnsDomain =
  /^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;

export function checkWindowsOptions(
  v: Violations,
  path: string,
  options: WindowsSecurityContextOptions | undefined,
): void {
  const { gmsaCredentialSpec: spec, gmsaCredentialSpecName: name, runAsUserName } = options ?? {};
  if (name !== undefined)
    for (const detail of isDns1123Subdomain(name)) v.invalid(`${path}.gmsaCredentialSpecName`, name, detail);
  if (spec !== undefined && (spec === '' || bytesOf(spec) > specBytes))
    v.invalid(`${path}.gmsaCredentialSpec`, spec, 'must not be empty nor larger than 64 KiB');
  if (runAsUserName !== undefined)
    for (const detail of isUserName(runAsUserName)) v.invalid(`${path}.runAsUserName`, runAsUserName, detail);
}

/** `user` or `domain\user`. */
function isUserName(name: string): string[] {
  if (name === '') return ['must not be empty'];
  if (/\p{Cc}/u.test(name)) return ['must not have control characters'];
  const parts = name.split('\\');
  if (parts.length > 2) return ['must not have more than one backslash'];
  const user = parts.at(-1) ?? '';
  const domain = parts.length === 2 ? (parts[0] ?? '') : undefined;
  const wrong: string[] = [];
  if (bytesOf(domain ?? '') >= domainLimit)
    wrong.push(`the domain must be shorter than ${domainLimit} characters`);
  if (domain !== undefined && !netBiosDomain.test(domain) && !dnsDomain.test(domain))
    wrong.push('the domain must be a NetBIOS or a DNS name');
  if (user === '') wrong.push('the user must not be empty');
  else if (bytesOf(user) > userLimit) wrong.push(`the user must not be longer than ${userLimit} characters`);
  if (/^[. ]+$/.test(user)) wrong.push('the user must not be made of periods and blanks only');
  if (/["/\\:;|=,+*?<>@[\]]/.test(user)) wrong.push('the user must not have any of "/\\:;|=,+*?<>@[]');
  return wrong;
}

/** Either all containers are HostProcess containers, with host network, or none is. */
export function checkHostProcesses(v: Violations, spec: PodSpec): void {
  const lists = {
    containers: spec.containers,
    initContainers: spec.initContainers ?? [],
    ephemeralContainers: spec.ephemeralContainers ?? [],
  };
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  let all = 0;
  let hostProcesses = 0;
  for (const [list, containers] of Object.entries(lists))
    for (const [index, container] of containers.entries()) {
      const own = container.securityContext?.windowsOptions?.hostProcess;
      all += 1;
      if (own ?? ofPod ?? false) hostProcesses += 1;
      if (own !== undefined && ofPod !== undefined && own !== ofPod)
        v.invalid(
          `spec.${list}[${index}].securityContext.windowsOptions.hostProcess`,
          own,
          `must be ${ofPod}, as it is for the pod`,
        );
    }
  if (hostProcesses === 0) return;
  if (hostProcesses !== all) v.invalid('spec', '', 'when one container is a host process, all must be');
  if (spec.hostNetwork !== true)
    v.invalid('spec.hostNetwork', false, 'must be true when there are host process containers');
}

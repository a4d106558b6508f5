// Validates the pod spec, except for containers and volumes.
// Upstream: pkg/apis/core/validation (ValidatePodSpec).
import { parseIp, strictIpProblem } from '../../api/k8s/ip-address.ts';
import { isDns1123Label, isDns1123Subdomain, isQualifiedName } from '../../api/k8s/names.ts';
import type { PodSpec } from '../../api/k8s/types.ts';
import { checkOverhead } from './containers/resources.ts';
import { checkLabels } from './metadata.ts';
import { bytesOf, type Violations } from './violation.ts';

const maxInt32 = 2 ** 31 - 1;
const maxNameservers = 3;
const maxSearches = 32;
const maxSearchBytes = 2048;
const hostnameBytes = 64;
const looseSubdomain = /^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/;

export function checkSpecFields(v: Violations, spec: PodSpec, strictIps: boolean): void {
  if (spec.terminationGracePeriodSeconds === undefined) v.required('spec.terminationGracePeriodSeconds');
  v.requiredWord('spec.restartPolicy', spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  v.requiredWord('spec.dnsPolicy', spec.dnsPolicy, [
    'ClusterFirstWithHostNet',
    'ClusterFirst',
    'Default',
    'None',
  ]);
  checkLabels(v, 'spec.nodeSelector', spec.nodeSelector);
  v.text('spec.serviceAccountName', spec.serviceAccountName, isDns1123Subdomain);
  v.text('spec.nodeName', spec.nodeName, isDns1123Subdomain);
  v.range('spec.activeDeadlineSeconds', spec.activeDeadlineSeconds, 1, maxInt32);
  v.text('spec.hostname', spec.hostname, isDns1123Label);
  v.text('spec.subdomain', spec.subdomain, isDns1123Label);
  v.text('spec.priorityClassName', spec.priorityClassName, isDns1123Subdomain);
  if (spec.runtimeClassName !== undefined)
    for (const detail of isDns1123Subdomain(spec.runtimeClassName))
      v.invalid('spec.runtimeClassName', spec.runtimeClassName, detail);
  if (spec.preemptionPolicy !== undefined)
    v.requiredWord('spec.preemptionPolicy', spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  checkOverhead(v, 'spec.overhead', spec.overhead);
  checkGates(v, spec);
  checkHostAliases(v, spec, strictIps);
}

function checkGates(v: Violations, spec: PodSpec): void {
  for (const [index, { conditionType }] of (spec.readinessGates ?? []).entries())
    for (const detail of isQualifiedName(conditionType ?? ''))
      v.invalid(`spec.readinessGates[${index}].conditionType`, conditionType, detail);
  const gates = spec.schedulingGates ?? [];
  const names = new Set<string>();
  for (const [index, { name }] of gates.entries()) {
    for (const detail of isQualifiedName(name ?? ''))
      v.invalid(`spec.schedulingGates[${index}]`, name, detail);
    if (names.has(name)) v.duplicate(`spec.schedulingGates[${index}]`, name);
    names.add(name);
  }
  if (gates.length > 0 && spec.nodeName)
    v.forbidden('spec.nodeName', 'must not be set while there are schedulingGates');
}

function checkHostAliases(v: Violations, spec: PodSpec, strictIps: boolean): void {
  for (const [index, { ip, hostnames }] of (spec.hostAliases ?? []).entries()) {
    const at = `spec.hostAliases[${index}]`;
    for (const detail of isIp(ip ?? '', strictIps)) v.invalid(`${at}.ip`, ip, detail);
    for (const [place, name] of (hostnames ?? []).entries())
      for (const detail of isDns1123Subdomain(name)) v.invalid(`${at}.hostnames[${place}]`, name, detail);
  }
}

export function checkDns(v: Violations, spec: PodSpec, strictIps: boolean): void {
  const config = spec.dnsConfig;
  const path = 'spec.dnsConfig';
  const nameservers = config?.nameservers ?? [];
  if (spec.dnsPolicy === 'None' && nameservers.length === 0) {
    v.required(config === undefined ? path : `${path}.nameservers`, 'is needed when dnsPolicy is None');
    return;
  }
  if (nameservers.length > maxNameservers)
    v.invalid(`${path}.nameservers`, nameservers, `must not have more than ${maxNameservers} name servers`);
  for (const [index, ip] of nameservers.entries())
    for (const detail of isIp(ip, strictIps)) v.invalid(`${path}.nameservers[${index}]`, ip, detail);
  const searches = config?.searches ?? [];
  if (searches.length > maxSearches)
    v.invalid(`${path}.searches`, searches, `must not have more than ${maxSearches} domains`);
  if (bytesOf(searches.join(' ')) > maxSearchBytes)
    v.invalid(`${path}.searches`, searches, `must not be longer than ${maxSearchBytes} characters together`);
  for (const [index, domain] of searches.entries())
    if (domain !== '.')
      for (const detail of isSearchDomain(domain.replace(/\.$/, '')))
        v.invalid(`${path}.searches[${index}]`, domain, detail);
  for (const [index, option] of (config?.options ?? []).entries())
    if (!option.name) v.required(`${path}.options[${index}]`, 'must have a name');
}

/** A DNS name whose labels may contain underscores, as in SRV records. */
function isSearchDomain(domain: string): string[] {
  const wrong = bytesOf(domain) > 253 ? ['must be no longer than 253 characters'] : [];
  if (!looseSubdomain.test(domain))
    wrong.push("must be lower-case letters, digits, '-', '_' or '.', each part ending in a letter or digit");
  return wrong;
}

export function checkHostNamespaces(v: Violations, spec: PodSpec): void {
  checkHostname(v, spec);
  if (spec.hostNetwork === true)
    for (const [index, { ports = [] }] of spec.containers.entries())
      for (const [place, { hostPort, containerPort }] of ports.entries())
        if ((hostPort ?? 0) !== (containerPort ?? 0))
          v.invalid(
            `spec.containers[${index}].ports[${place}].hostPort`,
            hostPort ?? 0,
            'must be the containerPort when hostNetwork is true',
          );
  if (spec.hostUsers !== false) return;
  const { hostIPC, hostNetwork, hostPID } = spec;
  const detail = 'must not be set when hostUsers is false';
  v.unset({ 'spec.hostNetwork': hostNetwork, 'spec.hostPID': hostPID, 'spec.hostIPC': hostIPC }, detail);
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  for (const [list, each] of Object.entries({ containers, initContainers, ephemeralContainers }))
    for (const [index, { volumeDevices }] of each.entries())
      v.unset({ [`spec.${list}[${index}].volumeDevices`]: volumeDevices }, detail);
}

function checkHostname(v: Violations, spec: PodSpec): void {
  const name = spec.hostnameOverride;
  const field = 'spec.hostnameOverride';
  if (name === undefined) return;
  if (spec.setHostnameAsFQDN === true) v.forbidden(field, 'must not be set when setHostnameAsFQDN is true');
  if (spec.hostNetwork === true) v.forbidden(field, 'must not be set when hostNetwork is true');
  if (bytesOf(name) > hostnameBytes) v.tooLong(field, hostnameBytes);
  for (const detail of isDns1123Subdomain(name)) v.invalid(field, name, detail);
}

/** The problem of the address; empty if it is valid. `isStrict`: the gate StrictIPCIDRValidation. */
function isIp(text: string, isStrict: boolean): readonly string[] {
  if (parseIp(text) === undefined) return ['must be an IP address, such as 10.9.8.7 or 2001:db8::ffff'];
  const problem = isStrict ? strictIpProblem(text) : undefined;
  return problem === undefined ? [] : [problem];
}

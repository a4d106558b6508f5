// What a CSI driver reports of itself, checked. Pure. A driver is a pod that an administrator installed, but its answers end up in
// objects of the API: nothing is passed on that the API server would reject, or that is larger than it accepts.
// Upstream: ValidatePlugin in pkg/volume/csi/csi_plugin.go; the API's limits: pkg/apis/storage/validation.
import type { NodeGetInfoResponse } from '../api/csi/generated/csi/v1/csi.ts';
import { isDns1123Subdomain, isLabelValue, isQualifiedName } from '../api/k8s/names.ts';
import type { CsiRegistration } from '../api/ports/csi.ts';
import { KubeletError } from '../base/errors.ts';
import { goQuote } from '../base/log/log-value.ts';
import { versionsFault } from './driver-versions.ts';

export interface DriverInfo {
  readonly driver: string;
  readonly nodeId: string;
  /** As the driver reports it: 0 for no limit, any int64 otherwise. */
  readonly maxVolumes: bigint;
  readonly topology: Readonly<Record<string, string>>;
}

const longestName = 63;
const longestEndpoint = 4096;
const longestNodeId = 256;
const mostTopologyKeys = 64;
const shownChars = 128;

/** Why the driver cannot register; undefined if it can. */
export function registrationFault({ endpoint, name, versions }: CsiRegistration): string | undefined {
  const where = `validation failed for CSI Driver ${name.slice(0, shownChars)} at endpoint ${endpoint.slice(0, shownChars)}: `;
  const fault = nameFault(name) ?? endpointFault(endpoint) ?? versionsFault('ValidatePlugin', name, versions);
  return fault === undefined ? undefined : `${where}${fault}`;
}

/** As the API validates the name of a driver in CSINode. */
function nameFault(name: string): string | undefined {
  const faults =
    name.length > longestName
      ? [`must be no longer than ${longestName} characters`]
      : isDns1123Subdomain(name.toLowerCase());
  if (faults.length === 0) return undefined;
  return `the name of the driver, ${goQuote(name.slice(0, shownChars))}, is invalid: ${faults.join(', ')}`;
}

/** differs from upstream, which would resolve a relative path in the kubelet's working directory. */
function endpointFault(endpoint: string): string | undefined {
  if (endpoint.startsWith('/') && !endpoint.includes('\0') && endpoint.length <= longestEndpoint)
    return undefined;
  return 'the endpoint of the driver is not an absolute path';
}

/** Throws if the answer cannot be published. */
export function driverInfo(driver: string, response: NodeGetInfoResponse): DriverInfo {
  const { accessibleTopology, maxVolumesPerNode, nodeId } = response;
  const topology = accessibleTopology?.segments ?? {};
  const fault = nodeIdFault(nodeId) ?? topologyFault(topology);
  if (fault !== undefined)
    throw new KubeletError('invalid', 'InvalidNodeInfo', `error adding CSI driver node info: ${fault}`);
  return { driver, nodeId, maxVolumes: maxVolumesPerNode, topology: { ...topology } };
}

function nodeIdFault(nodeId: string): string | undefined {
  if (nodeId === '') return 'driverNodeID must not be empty';
  // The API counts bytes.
  if (new TextEncoder().encode(nodeId).length <= longestNodeId) return undefined;
  return `driverNodeID must be ${longestNodeId} characters or less`;
}

function topologyFault(topology: Readonly<Record<string, string>>): string | undefined {
  const segments = Object.entries(topology);
  if (segments.length > mostTopologyKeys)
    return `the driver reported ${segments.length} topology segments, more than ${mostTopologyKeys}`;
  for (const [key, value] of segments) {
    const faults = [...isQualifiedName(key.slice(0, 512)), ...isLabelValue(value.slice(0, 512))];
    if (faults.length > 0)
      return `the topology segment ${goQuote(key.slice(0, shownChars))}:${goQuote(value.slice(0, shownChars))} is not a valid label: ${faults.join(', ')}`;
  }
  return undefined;
}

// Generates the Node object from the API's object and the gathered facts. Pure: no clock, no I/O, no log.
// Invariant: fields owned by others (conditions, labels, annotations, extended resources, volumesAttached) are kept.
// Upstream: initialNode, updateNode and defaultNodeStatusFuncs in pkg/kubelet/kubelet_node_status.go, nodestatus/setters.go.

import { isNodeReady } from '../api/k8s/node-ready.ts';
import type { ContainerImage, Node, NodeStatus, NodeSystemInfo, Taint } from '../api/k8s/types.ts';
import type { EventText } from '../api/ports/events.ts';
import { computeAddresses, providedIpAnnotation } from './node-addresses.ts';
import { computeAmounts } from './node-capacity.ts';
import { computeConditions } from './node-conditions.ts';
import type { NodeFacts, NodeImage } from './node-facts.ts';
import type { NodeSettings } from './node-settings.ts';
import { runtimeVersion } from './runtime-version.ts';

export const attachDetachAnnotation = 'volumes.kubernetes.io/controller-managed-attach-detach';
const cloudTaint: Taint = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  value: 'true',
  effect: 'NoSchedule',
};
const maxNamesPerImage = 5;

interface GeneratedNode {
  readonly node: Node;
  /** To be emitted after the object has been written. */
  readonly events: readonly EventText[];
  /** Fields that could not be determined. */
  readonly problems: readonly string[];
}

/** The object to register. */
export function generateInitialNode(settings: NodeSettings, facts: NodeFacts, nowMs: number): GeneratedNode {
  const taints = [...settings.taints, ...(settings.externalCloudProvider ? [cloudTaint] : [])];
  const node: Node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: settings.nodeName,
      labels: { ...defaultLabels(settings), ...settings.labels },
      ...(settings.controllerAttachDetach ? { annotations: { [attachDetachAnnotation]: 'true' } } : {}),
    },
    spec: {
      ...(settings.providerID === '' ? {} : { providerID: settings.providerID }),
      ...(taints.length === 0 ? {} : { taints }),
    },
  };
  return generateNode(node, settings, facts, nowMs);
}

function defaultLabels({ architecture, hostname, operatingSystem }: NodeSettings): Record<string, string> {
  return {
    'beta.kubernetes.io/arch': architecture,
    'beta.kubernetes.io/os': operatingSystem,
    'kubernetes.io/arch': architecture,
    'kubernetes.io/hostname': hostname,
    'kubernetes.io/os': operatingSystem,
  };
}

/** The API's object with an up-to-date status. */
export function generateNode(
  before: Node,
  settings: NodeSettings,
  facts: NodeFacts,
  nowMs: number,
): GeneratedNode {
  const status = before.status ?? {};
  const addresses = computeAddresses(status.addresses ?? [], settings, facts.network);
  const amounts = computeAmounts(status, facts.resources, settings);
  const conditions = computeConditions({
    before: status.conditions ?? [],
    pressure: facts.pressure,
    problems: [...facts.problems, ...(wasReady(status, facts) ? [] : facts.startupProblems)],
    capacity: amounts.capacity,
    localStorageIsolation: settings.localStorageIsolation,
    now: apiTime(nowMs),
  });
  const rebooted = bootChanged(status, facts);
  const { declaredFeatures: _declared, volumesInUse: usedBefore, ...kept } = status;
  const volumesInUse = facts.volumesInUse ?? usedBefore ?? [];
  const generated: NodeStatus = {
    ...kept,
    addresses: [...addresses.addresses],
    ...amounts,
    conditions: [...conditions.conditions],
    daemonEndpoints: { kubeletEndpoint: { Port: settings.kubeletPort } },
    nodeInfo: systemInfo(settings, facts),
    ...(facts.images === undefined ? {} : { images: imagesOf(facts.images, settings.maxImages) }),
    ...(volumesInUse.length === 0 ? {} : { volumesInUse: [...volumesInUse] }),
    ...(facts.runtimeHandlers.length === 0 ? {} : { runtimeHandlers: [...facts.runtimeHandlers] }),
    ...(facts.features === undefined ? {} : { features: facts.features }),
    ...(settings.declaredFeatures.length === 0 ? {} : { declaredFeatures: [...settings.declaredFeatures] }),
  };
  return {
    node: { ...before, metadata: metadataOf(before, settings, addresses.providedIps), status: generated },
    events: [
      ...(rebooted ? [rebootEvent(settings.nodeName, facts.identity.bootID)] : []),
      ...conditions.transitions.map((reason) => statusEvent(settings.nodeName, reason)),
    ],
    problems: addresses.problem === undefined ? [] : [addresses.problem],
  };
}

function metadataOf(
  before: Node,
  settings: NodeSettings,
  providedIps: string | undefined,
): NonNullable<Node['metadata']> {
  const { [providedIpAnnotation]: _stale, ...annotations } = before.metadata?.annotations ?? {};
  if (providedIps !== undefined) annotations[providedIpAnnotation] = providedIps;
  const labels = {
    ...before.metadata?.labels,
    'kubernetes.io/os': settings.operatingSystem,
    'kubernetes.io/arch': settings.architecture,
  };
  return { ...before.metadata, labels, ...(Object.keys(annotations).length === 0 ? {} : { annotations }) };
}

function systemInfo(settings: NodeSettings, { identity, runtime }: NodeFacts): NodeSystemInfo {
  return {
    machineID: identity.machineID,
    systemUUID: identity.systemUUID,
    bootID: identity.bootID,
    kernelVersion: identity.kernelVersion,
    osImage: identity.osImage,
    containerRuntimeVersion: `${runtime?.name ?? ''}://${runtimeVersion(runtime?.version ?? '') ?? 'Unknown'}`,
    kubeletVersion: settings.kubeletVersion,
    kubeProxyVersion: '',
    operatingSystem: settings.operatingSystem,
    architecture: settings.architecture,
    ...(identity.swapBytes === 0 ? {} : { swap: { capacity: identity.swapBytes } }),
    ...(settings.reportsUserNamespace ? { runningInUserNamespace: identity.inUserNamespace } : {}),
  };
}

/** The largest first, at most `limit` of them. */
function imagesOf(images: readonly NodeImage[], limit: number): ContainerImage[] {
  const largest = images.toSorted((a, b) => b.sizeBytes - a.sizeBytes);
  return (limit < 0 ? largest : largest.slice(0, limit)).map(({ digests, tags, sizeBytes }) => ({
    names: [...digests, ...tags].slice(0, maxNamesPerImage),
    sizeBytes,
  }));
}

/**
 * Whether the node is reported Ready since it booted: a restart of the kubelet does not change that.
 * differs from upstream, where the node is NotReady until the new process has read CSINode.
 */
function wasReady(status: NodeStatus, { identity }: NodeFacts): boolean {
  return isNodeReady({ status }) && status.nodeInfo?.bootID === identity.bootID;
}

function bootChanged(status: NodeStatus, { identity }: NodeFacts): boolean {
  const reported = status.nodeInfo?.bootID ?? '';
  return reported !== '' && reported !== identity.bootID;
}

function rebootEvent(nodeName: string, bootID: string): EventText {
  return {
    type: 'Warning',
    reason: 'Rebooted',
    message: `Node ${nodeName} has been rebooted, boot id: ${bootID}`,
  };
}

export function statusEvent(nodeName: string, reason: string): EventText {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}

/** RFC 3339 in UTC, truncated to the second: the API's precision. */
function apiTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

// The message of an eviction and the annotations of its event, byte for byte upstream's: clients match them. Pure.
// Upstream: evictionMessage and getThresholdMetInfo in pkg/kubelet/eviction/helpers.go.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { hasPodLevelResources } from '../../api/pod/resources.ts';
import type { ContainerLoad, PodLoad } from '../../api/ports/node-usage.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { amountOf, noAmounts, parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { thresholdQuantity } from './met.ts';
import type { Observations } from './observe.ts';
import { resourceOf, type StarvedResource, type Threshold } from './thresholds.ts';
import { amountOrNone } from './tolerant.ts';

interface EvictionMessageInput {
  readonly resource: StarvedResource;
  readonly pod: Pod;
  readonly load: PodLoad | undefined;
  /** The thresholds acted on. The first one of the resource is named. */
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  /** Ignore spec.resources, as without the gate PodLevelResources. */
  readonly skipPodLevelResources?: boolean;
}

interface EvictionMessage {
  readonly message: string;
  /** Of the event. Empty without statistics of the pod. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Every part of the message ends in a blank. */
export function evictionMessage(input: EvictionMessageInput): EvictionMessage {
  const { load, resource } = input;
  const head = `The node was low on resource: ${resource}. ${thresholdPart(input)}`;
  if (load === undefined) return { message: head, annotations: {} };
  const pod = podPart(input, load);
  const blamed = blamedContainers(input, load);
  const parts = blamed.map(
    ({ name, request, usage }) =>
      `Container ${name} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `,
  );
  return {
    message: `${head}${pod?.message ?? ''}${parts.join('')}`,
    annotations: {
      ...pod?.annotations,
      offending_containers: blamed.map(({ name }) => name).join(','),
      offending_containers_usage: blamed.map(({ usage }) => usage).join(','),
      starved_resource: resource,
    },
  };
}

function thresholdPart({ observations, resource, thresholds }: EvictionMessageInput): string {
  for (const { signal, value } of thresholds) {
    const observed = resourceOf(signal) === resource ? observations.get(signal) : undefined;
    if (observed === undefined) continue;
    const counts = resource === 'inodes' || resource === 'pids';
    const available = Quantity.of(BigInt(observed.available), counts ? 'DecimalSI' : 'BinarySI');
    return `Threshold quantity: ${thresholdQuantity(value, observed.capacity)}, available: ${available}. `;
  }
  return '';
}

/** Of a pod with a memory request of its own. */
function podPart(input: EvictionMessageInput, load: PodLoad): EvictionMessage | undefined {
  const { pod, resource } = input;
  if (resource !== 'memory' || input.skipPodLevelResources === true) return undefined;
  const request = amountOrNone(() =>
    hasPodLevelResources(pod) ? parseAmounts(pod.spec?.resources?.requests).get('memory') : undefined,
  );
  if (request === undefined || load.workingSetBytes === undefined) return undefined;
  const name = pod.metadata?.name ?? '';
  const usage = bytes(load.workingSetBytes).toString();
  return {
    message: `Pod ${name} was using ${usage}, request is ${request}, has larger consumption of memory. `,
    annotations: { offending_pod: name, offending_pod_usage: usage },
  };
}

interface Blamed {
  readonly name: string;
  readonly usage: string;
  readonly request: string;
}

/** The containers above their own requests. Ephemeral containers have none, so they would always be blamed. */
function blamedContainers({ pod, resource }: EvictionMessageInput, load: PodLoad): readonly Blamed[] {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const specs = new Map<string, Container>(
    [...initContainers, ...containers].map((container) => [container.name, container]),
  );
  return load.containers.flatMap((container) => {
    const spec = specs.get(container.name);
    const usage = usageOf(container, resource);
    if (spec === undefined || usage === undefined) return [];
    const requests = amountOrNone(() => parseAmounts(spec.resources?.requests)) ?? noAmounts;
    const request = amountOf(requests, resource);
    if (usage.cmp(request) <= 0) return [];
    return [{ name: container.name, usage: usage.toString(), request: request.toString() }];
  });
}

function usageOf(container: ContainerLoad, resource: StarvedResource): Quantity | undefined {
  const { logBytes, workingSetBytes, writtenBytes } = container;
  if (resource === 'memory') return workingSetBytes === undefined ? undefined : bytes(workingSetBytes);
  if (resource !== 'ephemeral-storage' || writtenBytes === undefined) return undefined;
  return bytes(writtenBytes + logBytes);
}

function bytes(value: number): Quantity {
  return Quantity.of(BigInt(Math.trunc(value)), 'BinarySI');
}

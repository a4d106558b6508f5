// Encodes and decodes allocated_pods_state and actuated_pods_state, byte for byte as the Go kubelet. Pure.
// Upstream: pkg/kubelet/allocation/state/checkpoint.go. Invariant: decoding and encoding a file yields the same text.

import { goJsonString } from '../../api/k8s/go-json.ts';
import type { ResourceList, ResourceRequirements } from '../../api/k8s/types.ts';
import { fnv1a32 } from '../../api/pod/fnv.ts';
import { asPodUid, type PodUid } from '../../api/pod/pod-ref.ts';
import { Quantity } from '../../api/quantity/quantity.ts';
import { KubeletError } from '../../base/errors.ts';
import { isObject } from '../../base/guards.ts';
import { corruptCheckpoint } from '../checkpoint/checkpoint-file.ts';

/** The resources of one pod. */
export interface PodAllocation {
  /** By container name. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  /** The pod's own resources; null if it has none, undefined in the entry of a kubelet that did not record them. */
  readonly podLevel: ResourceRequirements | null | undefined;
  /**
   * The size limits of memory-backed emptyDir volumes, which only the Go kubelet with the gate
   * InPlacePodVerticalScalingMemoryBackedVolumes records. Kept as they are, for the way back.
   */
  readonly volumeLimits?: Readonly<Record<string, string | null>> | undefined;
}
type PodAllocations = ReadonlyMap<PodUid, PodAllocation>;

export function encodeAllocations(pods: PodAllocations): string {
  const entries = sorted(pods).map(([uid, pod]) => `${goJsonString(uid)}:{${encodePod(pod)}}`);
  const data = entries.length === 0 ? '{}' : `{"entries":{${entries.join(',')}}}`;
  return `{"data":${goJsonString(data)},"checksum":${checksumOf(data)}}`;
}

/** An entry of which only the containers are known keeps the form of v1.34, which has no other field. */
function encodePod({ containers, podLevel, volumeLimits }: PodAllocation): string {
  const each = sorted(containers).map(
    ([name, resources]) => `${goJsonString(name)}:${encodeRequirements(resources)}`,
  );
  const known = `"ContainerResources":{${each.join(',')}}`;
  if (podLevel === undefined) return known;
  const pod = podLevel === null ? 'null' : encodeRequirements(podLevel);
  return `${known},"PodLevelResources":${pod},"EmptyDirVolumeLimits":${encodeVolumes(volumeLimits)}`;
}

function encodeVolumes(limits: PodAllocation['volumeLimits']): string {
  if (limits === undefined) return 'null';
  const each = sorted(new Map(Object.entries(limits))).map(
    ([name, limit]) => `${goJsonString(name)}:${limit === null ? 'null' : goJsonString(limit)}`,
  );
  return `{${each.join(',')}}`;
}

/** Throws `invalid` if the text is malformed or its checksum does not match. */
export function decodeAllocations(text: string): Map<PodUid, PodAllocation> {
  const { checksum, data } = object(parse(text));
  if (typeof data !== 'string' || checksum !== checksumOf(data)) throw invalid(corruptCheckpoint);
  const pods = Object.entries(object(object(parse(data))['entries'] ?? {}));
  return new Map(pods.map(([uid, entry]) => [asPodUid(uid), decodePod(object(entry))]));
}

function decodePod(entry: Readonly<Record<string, unknown>>): PodAllocation {
  const containers = Object.entries(object(entry['ContainerResources'] ?? {}));
  const { EmptyDirVolumeLimits: volumes, PodLevelResources: podLevel } = entry;
  return {
    containers: new Map(containers.map(([name, resources]) => [name, requirements(resources)])),
    podLevel: podLevel === undefined || podLevel === null ? podLevel : requirements(podLevel),
    ...(volumes === undefined || volumes === null ? {} : { volumeLimits: sizes(volumes) }),
  };
}

function sizes(value: unknown): Record<string, string | null> {
  const limits = Object.entries(object(value));
  return Object.fromEntries(
    limits.map(([name, limit]) => [name, limit === null ? null : amount(name, limit)]),
  );
}

/** As Go's encoding/json writes ResourceRequirements: limits before requests, names sorted. */
export function encodeRequirements(resources: ResourceRequirements): string {
  const parts = [
    ...encodeList('limits', resources.limits),
    ...encodeList('requests', resources.requests),
    ...encodeClaims(resources.claims),
  ];
  return `{${parts.join(',')}}`;
}

function encodeList(name: string, list: ResourceList | undefined): readonly string[] {
  const amounts = Object.entries(list ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (amounts.length === 0) return [];
  const texts = amounts.map(
    ([resource, amount]) => `${goJsonString(resource)}:${goJsonString(Quantity.fromJson(amount).toString())}`,
  );
  return [`${goJsonString(name)}:{${texts.join(',')}}`];
}

function encodeClaims(claims: ResourceRequirements['claims']): readonly string[] {
  if (claims === undefined || claims.length === 0) return [];
  const texts = claims.map(({ name, request }) => {
    const requestField = request === undefined ? '' : `,"request":${goJsonString(request)}`;
    return `{"name":${goJsonString(name)}${requestField}}`;
  });
  return [`"claims":[${texts.join(',')}]`];
}

function checksumOf(data: string): number {
  return fnv1a32(`(string)${data}`);
}

function sorted<K extends string, V>(map: ReadonlyMap<K, V>): readonly (readonly [K, V])[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

function requirements(value: unknown): ResourceRequirements {
  const { claims, limits, requests } = object(value);
  return {
    ...(limits === undefined ? {} : { limits: amounts(limits) }),
    ...(requests === undefined ? {} : { requests: amounts(requests) }),
    ...(Array.isArray(claims) ? { claims: claims as NonNullable<ResourceRequirements['claims']> } : {}),
  };
}

function amounts(value: unknown): ResourceList {
  const read = Object.entries(object(value)).map(([name, each]) => [name, amount(name, each)]);
  return Object.fromEntries(read);
}

function amount(name: string, value: unknown): string {
  if (typeof value !== 'string' && typeof value !== 'number') throw invalid(`${name} is not a quantity`);
  return Quantity.fromJson(value).toString();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalid('it is not JSON', cause);
  }
}

function object(value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw invalid('it is not a JSON object');
  return value;
}

function invalid(why: string, cause?: unknown): KubeletError {
  return new KubeletError('invalid', 'CorruptCheckpoint', why, { cause });
}

// Decodes and checks what a CSI driver answers.
// Invariants: a response is decoded only within a limit of bytes that bounds the time for it; lists, maps and texts have limits.
// Upstream has no limits but gRPC's 4 MiB.
import {
  NodeExpandVolumeResponse,
  NodeGetCapabilitiesResponse,
  NodeGetInfoResponse,
  NodeGetStorageHealthResponse,
  NodeGetVolumeHealthResponse,
  NodeGetVolumeStatsResponse,
  NodeServiceCapability_RPC_Type as Rpc,
} from '../../api/csi/generated/csi/v1/csi.ts';
import type { CsiCapabilities } from '../../api/ports/csi.ts';
import { WireReader } from '../grpc-client/wire-reader.ts';

/** Of NodeGetInfo, which has the topology. Of the smallest entries of a map this is 3 ms of decoding. */
export const infoBytes = 32 * 1024;
/** Of the health of a volume or of storage: the API accepts 16 conditions, with 1,280 bytes of text each. */
export const healthBytes = 32 * 1024;
/** Of every other response. */
export const responseBytes = 16 * 1024;

const mostCapabilities = 256;
const mostUsages = 16;
const mostSegments = 256;
const mostConditions = 256;
/** The API server accepts 256 for a node ID, 317 for a key and 63 for a value, and names the fault. */
const longestText = 1_024;

export type ReadResponse<T> = (bytes: Buffer) => T;

/** Of the calls that return nothing. */
export function readNothing(message: { decode(reader: WireReader): unknown }): ReadResponse<void> {
  return (bytes) => {
    message.decode(new WireReader(bytes));
  };
}

export function readCapabilities(bytes: Buffer): CsiCapabilities {
  const { capabilities } = NodeGetCapabilitiesResponse.decode(new WireReader(bytes));
  if (capabilities.length > mostCapabilities)
    throw new RangeError(`more than ${mostCapabilities} capabilities`);
  const types = new Set(capabilities.map(({ rpc }) => rpc?.type));
  return {
    stage: types.has(Rpc.STAGE_UNSTAGE_VOLUME),
    stats: types.has(Rpc.GET_VOLUME_STATS),
    expand: types.has(Rpc.EXPAND_VOLUME),
    singleNodeMultiWriter: types.has(Rpc.SINGLE_NODE_MULTI_WRITER),
    volumeMountGroup: types.has(Rpc.VOLUME_MOUNT_GROUP),
    volumeHealth: types.has(Rpc.GET_VOLUME_HEALTH),
    storageHealth: types.has(Rpc.GET_STORAGE_HEALTH),
  };
}

export function readInfo(bytes: Buffer): NodeGetInfoResponse {
  // The generated code assigns segments by key, and this one would be lost. It is no key of a label either.
  if (bytes.includes('__proto__')) throw new RangeError('a topology key named __proto__');
  const info = NodeGetInfoResponse.decode(new WireReader(bytes));
  checkLength('node ID', info.nodeId);
  const segments = Object.entries(info.accessibleTopology?.segments ?? {});
  if (segments.length > mostSegments) throw new RangeError(`more than ${mostSegments} topology segments`);
  for (const [key, value] of segments) {
    checkLength('topology key', key);
    checkLength('topology value', value);
  }
  return info;
}

export function readStats(bytes: Buffer): NodeGetVolumeStatsResponse {
  const stats = NodeGetVolumeStatsResponse.decode(new WireReader(bytes));
  if (stats.usage.length > mostUsages) throw new RangeError(`more than ${mostUsages} usages`);
  return stats;
}

export function readVolumeHealth(bytes: Buffer): NodeGetVolumeHealthResponse {
  const health = NodeGetVolumeHealthResponse.decode(new WireReader(bytes));
  checkConditions(health.volumeHealth?.healthStatuses.length ?? 0);
  return health;
}

export function readStorageHealth(bytes: Buffer): NodeGetStorageHealthResponse {
  const health = NodeGetStorageHealthResponse.decode(new WireReader(bytes));
  checkConditions(health.backendHealth.length);
  return health;
}

function checkConditions(count: number): void {
  if (count > mostConditions) throw new RangeError(`more than ${mostConditions} conditions`);
}

/** 0n: the driver reports no capacity. */
export function readCapacity(bytes: Buffer): bigint {
  const { capacityBytes } = NodeExpandVolumeResponse.decode(new WireReader(bytes));
  return capacityBytes > 0n ? capacityBytes : 0n;
}

function checkLength(what: string, text: string): void {
  if (text.length > longestText) throw new RangeError(`a ${what} of more than ${longestText} characters`);
}

// Answers the calls of the CSI services Identity and Node, and those of the plugin registration, with the faults on order.
// Invariant: every request is logged before its work begins; the calls for one volume are done one after the other.
import {
  IdentityDefinition,
  NodeDefinition,
  type NodeExpandVolumeRequest,
  type NodeGetVolumeStatsRequest,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
  PluginCapability_Service_Type,
  PluginCapability_VolumeExpansion_Type,
  NodeServiceCapability_RPC_Type as Rpc,
  VolumeUsage_Unit,
} from '../../src/api/csi/generated/csi/v1/csi.ts';
import { RegistrationDefinition } from '../../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import type { CallLog } from './call-log.ts';
import { alterResponse, type FaultOrder, type Faults } from './faults.ts';
import { CallError, codeOf, RawBytes, type ReceivedCall } from './grpc.ts';
import type { NodeVolumes } from './node-volumes.ts';
import { type CapabilityName, type DriverOptions, socketsOf } from './options.ts';

export const csiServices = [IdentityDefinition, NodeDefinition] as const;
export const registrationServices = [RegistrationDefinition] as const;

interface ServicesDeps {
  readonly options: DriverOptions;
  readonly volumes: NodeVolumes;
  readonly faults: Faults;
  readonly log: CallLog;
}

/** The work of a call. */
type Work = (request: never, order: FaultOrder | undefined) => object | Promise<object>;

const rpcTypes: Readonly<Record<CapabilityName, Rpc>> = {
  stage: Rpc.STAGE_UNSTAGE_VOLUME,
  stats: Rpc.GET_VOLUME_STATS,
  expand: Rpc.EXPAND_VOLUME,
  'volume-mount-group': Rpc.VOLUME_MOUNT_GROUP,
  'single-node-multi-writer': Rpc.SINGLE_NODE_MULTI_WRITER,
};

/** The capability that a call needs. */
const needs: Readonly<Record<string, CapabilityName>> = {
  NodeStageVolume: 'stage',
  NodeUnstageVolume: 'stage',
  NodeGetVolumeStats: 'stats',
  NodeExpandVolume: 'expand',
};

export class Services {
  readonly #deps: ServicesDeps;
  readonly #works: Readonly<Record<string, Work>>;
  /** The last call per volume. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(deps: ServicesDeps) {
    this.#deps = deps;
    this.#works = { ...identityWorks(deps.options), ...nodeWorks(deps.volumes) };
  }

  async answer({ method: { name }, request, timeoutMs, cancelled }: ReceivedCall): Promise<unknown> {
    const { faults, log } = this.#deps;
    const { volumeId } = request as { readonly volumeId?: string };
    const order = faults.take(name, volumeId);
    const id = log.request({
      method: name,
      request,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(order === undefined ? {} : { fault: order }),
    });
    void cancelled.then(() => log.response({ answers: id, code: 'CANCELLED' }));
    try {
      await faults.apply(order, 'before', request);
      const done = await this.#inTurn(volumeId, () => this.#work(name, request, order));
      await faults.apply(order, 'after', request);
      const response = alterResponse(order, done);
      log.response({ answers: id, code: 'OK', ...(response instanceof RawBytes ? {} : { response }) });
      return response;
    } catch (err) {
      log.response({ answers: id, code: codeOf(err), message: String(err) });
      throw err;
    }
  }

  async #work(name: string, request: unknown, order: FaultOrder | undefined): Promise<object> {
    const work = this.#works[name];
    const needed = needs[name];
    if (work === undefined || (needed !== undefined && !this.#deps.options.capabilities.has(needed)))
      throw new CallError('UNIMPLEMENTED', `${name} is not supported`);
    return work(request as never, order);
  }

  async #inTurn<T>(volumeId: string | undefined, work: () => Promise<T>): Promise<T> {
    if (volumeId === undefined) return work();
    const previous = this.#queues.get(volumeId) ?? Promise.resolve();
    const own = previous.then(work, work);
    this.#queues.set(volumeId, own);
    try {
      return await own;
    } finally {
      if (this.#queues.get(volumeId) === own) this.#queues.delete(volumeId);
    }
  }
}

function identityWorks(options: DriverOptions): Readonly<Record<string, Work>> {
  const { driverName, vendorVersion, versions, topology, capabilities } = options;
  const service = (type: number): object => ({ service: { type } });
  return {
    GetInfo: () => ({
      type: 'CSIPlugin',
      name: driverName,
      endpoint: socketsOf(options).endpoint,
      supportedVersions: [...versions],
    }),
    NotifyRegistrationStatus: () => ({}),
    GetPluginInfo: () => ({ name: driverName, vendorVersion }),
    Probe: () => ({ ready: { value: true } }),
    GetPluginCapabilities: () => ({
      capabilities: [
        ...(Object.keys(topology).length === 0
          ? []
          : [service(PluginCapability_Service_Type.VOLUME_ACCESSIBILITY_CONSTRAINTS)]),
        ...(capabilities.has('expand')
          ? [{ volumeExpansion: { type: PluginCapability_VolumeExpansion_Type.ONLINE } }]
          : []),
      ],
    }),
    NodeGetInfo: () => ({
      nodeId: options.nodeId,
      maxVolumesPerNode: options.maxVolumes,
      ...(Object.keys(topology).length === 0 ? {} : { accessibleTopology: { segments: topology } }),
    }),
    NodeGetCapabilities: () => ({
      capabilities: [...capabilities].map((name) => ({ rpc: { type: rpcTypes[name] } })),
    }),
  };
}

function nodeWorks(volumes: NodeVolumes): Readonly<Record<string, Work>> {
  const empty = async (work: Promise<void>): Promise<object> => {
    await work;
    return {};
  };
  const { BYTES, INODES } = VolumeUsage_Unit;
  return {
    NodeStageVolume: (request: NodeStageVolumeRequest) => empty(volumes.stage(request)),
    NodeUnstageVolume: ({ volumeId, stagingTargetPath }: NodeUnstageVolumeRequest) =>
      empty(volumes.unstage(volumeId, stagingTargetPath)),
    NodePublishVolume: async (request: NodePublishVolumeRequest, order) => {
      if (order?.linkTarget !== undefined) volumes.link(request, order.linkTarget);
      else await volumes.publish(request);
      return {};
    },
    NodeUnpublishVolume: ({ volumeId, targetPath }: NodeUnpublishVolumeRequest) =>
      empty(volumes.unpublish(volumeId, targetPath)),
    NodeExpandVolume: async (request: NodeExpandVolumeRequest) => ({
      capacityBytes: await volumes.expand(request),
    }),
    NodeGetVolumeStats: async (request: NodeGetVolumeStatsRequest) => {
      const { bytes, inodes } = await volumes.stats(request);
      return {
        usage: [{ ...bytes, unit: BYTES }, ...(inodes === undefined ? [] : [{ ...inodes, unit: INODES }])],
      };
    },
  };
}

// Registered CSI drivers and their node service. Types only: edge/csi makes the calls, csi/ registers drivers, volumes/ stages
// and publishes. Upstream: pkg/volume/csi (csi_client.go, csi_drivers_store.go).
import type { Subscribable } from '../../base/channel.ts';
import type {
  NodeExpandVolumeRequest,
  NodeGetInfoResponse,
  NodeGetStorageHealthRequest,
  NodeGetStorageHealthResponse,
  NodeGetVolumeHealthRequest,
  NodeGetVolumeHealthResponse,
  NodeGetVolumeStatsRequest,
  NodeGetVolumeStatsResponse,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from '../csi/generated/csi/v1/csi.ts';

export interface CsiCapabilities {
  readonly stage: boolean;
  readonly stats: boolean;
  readonly expand: boolean;
  readonly singleNodeMultiWriter: boolean;
  readonly volumeMountGroup: boolean;
  readonly volumeHealth: boolean;
  readonly storageHealth: boolean;
}

/**
 * What a failed call means for the volume. `uncertain`: the driver may have done it, or may still be doing it. `final`: it has
 * certainly ended without success. An error without it (`transient`) came before the call.
 */
export type CsiOutcome = 'final' | 'uncertain';

/** Details of a KubeletError that a call of a driver failed with. Its reason is the name of the gRPC code. */
export interface CsiFailureDetails {
  readonly csiOutcome: CsiOutcome;
}

export interface CsiCallOptions {
  /** The volume was translated from one of an in-tree plugin. A label of the metric. Default: false. */
  readonly migrated?: boolean;
}

/**
 * The node service of one registered driver. Every call has a deadline (2 min, upstream's), every response a limit. Errors are
 * KubeletErrors with CsiFailureDetails and Go's text `rpc error: code = … desc = …`; they contain no secret of the request.
 */
export interface CsiDriverClient {
  readonly driver: string;
  readonly endpoint: string;
  /** Read once per connection: a driver that was replaced has a new connection. */
  capabilities(signal: AbortSignal, options?: CsiCallOptions): Promise<CsiCapabilities>;
  info(signal: AbortSignal): Promise<NodeGetInfoResponse>;
  stage(request: NodeStageVolumeRequest, signal: AbortSignal, options?: CsiCallOptions): Promise<void>;
  unstage(request: NodeUnstageVolumeRequest, signal: AbortSignal, options?: CsiCallOptions): Promise<void>;
  publish(request: NodePublishVolumeRequest, signal: AbortSignal, options?: CsiCallOptions): Promise<void>;
  unpublish(
    request: NodeUnpublishVolumeRequest,
    signal: AbortSignal,
    options?: CsiCallOptions,
  ): Promise<void>;
  /** Resolves to the capacity that the driver reports; 0n if it reports none. */
  expand(request: NodeExpandVolumeRequest, signal: AbortSignal, options?: CsiCallOptions): Promise<bigint>;
  stats(
    request: NodeGetVolumeStatsRequest,
    signal: AbortSignal,
    options?: CsiCallOptions,
  ): Promise<NodeGetVolumeStatsResponse>;
  volumeHealth(
    request: NodeGetVolumeHealthRequest,
    signal: AbortSignal,
  ): Promise<NodeGetVolumeHealthResponse>;
  storageHealth(
    request: NodeGetStorageHealthRequest,
    signal: AbortSignal,
  ): Promise<NodeGetStorageHealthResponse>;
  /** Ends every call in flight. */
  close(): void;
}

/** Opens a connection when the first call needs it, keeps it while it is used, and replaces one that was lost. */
export interface CsiDialer {
  client(driver: string, endpoint: string): CsiDriverClient;
}

/** The registered drivers, for volumes/. */
export interface CsiDrivers {
  /** Undefined while no driver of this name is registered. */
  get(driver: string): CsiDriverClient | undefined;
  /** Sorted. */
  names(): readonly string[];
  /** Reads the driver's limit of volumes again and writes it to the CSINode. Concurrent calls share a refresh. */
  refreshAllocatable(driver: string): Promise<void>;
  /** Announces the name of a driver that was registered, replaced or deregistered. */
  readonly changed: Subscribable<string>;
}

/** Registration, as the plugin manager reaches it. Rejects with the error that the driver's registrar is given. */
export interface CsiRegistry {
  /** The reason to reject the driver. Must not block. */
  validate(driver: CsiRegistration): string | undefined;
  register(driver: CsiRegistration, signal: AbortSignal): Promise<void>;
  deregister(driver: Pick<CsiRegistration, 'name' | 'endpoint'>): Promise<void>;
}

export interface CsiRegistration {
  readonly name: string;
  readonly endpoint: string;
  readonly versions: readonly string[];
}

// A connected device plugin as the device manager uses it, and how plugins reach the device manager. Types only:
// edge/device-plugin dials, plugins/ and the registration socket report, resources/devices decides.
// Upstream: endpoint.go and plugin/v1beta1 of pkg/kubelet/cm/devicemanager.
import type { ContainerAllocateResponse } from '../kubelet/generated/deviceplugin/v1beta1/api.ts';

export interface PluginDevice {
  readonly id: string;
  readonly healthy: boolean;
  /** IDs of NUMA nodes; undefined if the plugin reports no topology. */
  readonly numaNodes: readonly number[] | undefined;
}

export interface PluginOptions {
  readonly preStartRequired: boolean;
  readonly preferredAllocation: boolean;
}

/** One connection to one plugin. Every call has a deadline of its own; errors are KubeletErrors. */
export interface DevicePluginConnection {
  readonly socket: string;
  readonly options: PluginOptions;
  /** Complete lists, bounded in size and number of devices. Ends or throws when the connection is lost. */
  devices(signal: AbortSignal): AsyncIterable<readonly PluginDevice[]>;
  preferredAllocation(
    request: {
      readonly available: readonly string[];
      readonly mustInclude: readonly string[];
      readonly size: number;
    },
    signal: AbortSignal,
  ): Promise<readonly string[]>;
  /** For one container. The response is bounded in size. */
  allocate(ids: readonly string[], signal: AbortSignal): Promise<ContainerAllocateResponse>;
  preStart(ids: readonly string[], signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface DevicePluginDialer {
  /** Connects and reads the plugin's options. */
  dial(socket: string, signal: AbortSignal): Promise<DevicePluginConnection>;
}

/** The device manager, as registrations reach it. Rejects with the error that the plugin is given. */
export interface DevicePluginRegistry {
  register(
    plugin: { readonly resource: string; readonly socket: string; readonly versions: readonly string[] },
    signal: AbortSignal,
  ): Promise<void>;
  deregister(plugin: { readonly resource: string; readonly socket: string }): void;
}

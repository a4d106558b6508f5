// Which kinds of plugins register, and what happens then. Upstream: AddHandler in pkg/kubelet/kubelet.go.
import type { CsiRegistry } from '../api/ports/csi.ts';
import type { DevicePluginRegistry } from '../api/ports/device-plugins.ts';
import { csiPluginHandler } from './csi-plugin-handler.ts';
import { devicePluginHandler } from './device-plugin-handler.ts';
import type { PluginHandlers } from './plugin-handler.ts';

/** A plugin of any other type is rejected, with the reason. */
export function pluginHandlers(devices: DevicePluginRegistry, drivers: CsiRegistry): PluginHandlers {
  return new Map([
    ['DevicePlugin', devicePluginHandler(devices)],
    ['CSIPlugin', csiPluginHandler(drivers)],
  ]);
}

// Device plugins that register through plugins_registry. Upstream: handler.go in pkg/kubelet/cm/devicemanager/plugin/v1beta1.
import type { DevicePluginRegistry } from '../api/ports/device-plugins.ts';
import { deviceApiVersion, resourceFault } from './device-plugin-names.ts';
import type { PluginHandler } from './plugin-handler.ts';

const shownVersions = 32;

export function devicePluginHandler(registry: DevicePluginRegistry): PluginHandler {
  return {
    validate: ({ endpoint, name, versions }) => {
      if (!versions.includes(deviceApiVersion)) {
        const shown = versions.slice(0, shownVersions).join(' ');
        return `manager version, ${deviceApiVersion}, is not among plugin supported versions [${shown}]`;
      }
      const fault = resourceFault(name);
      if (fault !== undefined) return `invalid name of device plugin socket: ${fault}`;
      // differs from upstream, which would resolve it in the kubelet's working directory.
      return endpoint.startsWith('/') ? undefined : 'the endpoint of the plugin is not an absolute path';
    },
    register: ({ endpoint, name, versions }, signal) =>
      registry.register({ resource: name, socket: endpoint, versions }, signal),
    deregister: async ({ endpoint, name }) => registry.deregister({ resource: name, socket: endpoint }),
  };
}

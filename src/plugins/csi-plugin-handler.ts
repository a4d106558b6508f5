// CSI drivers that register through plugins_registry. Upstream: registrationHandler in pkg/volume/csi/csi_plugin.go.
import type { CsiRegistry } from '../api/ports/csi.ts';
import type { PluginHandler } from './plugin-handler.ts';

export function csiPluginHandler(registry: CsiRegistry): PluginHandler {
  return {
    validate: ({ endpoint, name, versions }) => registry.validate({ name, endpoint, versions }),
    register: ({ endpoint, name, versions }, signal) =>
      registry.register({ name, endpoint, versions }, signal),
    deregister: ({ endpoint, name }) => registry.deregister({ name, endpoint }),
  };
}

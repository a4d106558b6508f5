// Merges the responses of all device plugins of a container into what the runtime adds to it. Pure.
// Upstream: deviceRunContainerOptions in pkg/kubelet/cm/devicemanager/pod_devices.go.
// Invariant: the first of two conflicting settings wins, in the order of the responses; upstream's order is random.
import type { ContainerAllocateResponse } from '../../api/kubelet/generated/deviceplugin/v1beta1/api.ts';
import type { DeviceGrants, DeviceMount, DeviceNode } from '../../api/ports/exclusive-resources.ts';

interface GrantConflict {
  readonly what: string;
  readonly key: string;
  readonly used: string;
  readonly ignored: string;
}

export function computeGrants(responses: readonly ContainerAllocateResponse[]): {
  readonly grants: DeviceGrants;
  readonly conflicts: readonly GrantConflict[];
} {
  const env = new Map<string, string>();
  const annotations = new Map<string, string>();
  const devices = new Map<string, DeviceNode>();
  const mounts = new Map<string, DeviceMount>();
  const cdiDevices = new Set<string>();
  const conflicts: GrantConflict[] = [];
  const isNew = (what: string, key: string, used: string | undefined, value: string): boolean => {
    if (used !== undefined && used !== value) conflicts.push({ what, key, used, ignored: value });
    return used === undefined;
  };
  for (const response of responses) {
    for (const [key, value] of sorted(response.envs))
      if (isNew('environment variable', key, env.get(key), value)) env.set(key, value);
    for (const { containerPath, hostPath, permissions } of response.devices)
      if (isNew('device', containerPath, devices.get(containerPath)?.hostPath, hostPath))
        devices.set(containerPath, { hostPath, containerPath, permissions });
    for (const { containerPath, hostPath, readOnly } of response.mounts)
      if (isNew('mount', containerPath, mounts.get(containerPath)?.hostPath, hostPath))
        mounts.set(containerPath, { hostPath, containerPath, readOnly });
    for (const [key, value] of sorted(response.annotations))
      if (isNew('annotation', key, annotations.get(key), value)) annotations.set(key, value);
    for (const { name } of response.cdiDevices) cdiDevices.add(name);
  }
  const grants = {
    env,
    annotations,
    devices: [...devices.values()],
    mounts: [...mounts.values()],
    cdiDevices: [...cdiDevices],
  };
  return { grants, conflicts };
}

function sorted(map: Readonly<Record<string, string>>): readonly (readonly [string, string])[] {
  return Object.entries(map).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

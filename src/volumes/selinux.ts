// Whether SELinux is enabled on the node. Upstream: opencontainers/selinux GetEnabled.
import type { VolumeHost } from '../api/ports/volume-host.ts';

/** Exists where SELinux is enabled. */
const enforceFile = '/sys/fs/selinux/enforce';

export async function isSeLinuxEnabled(host: Pick<VolumeHost, 'kindOf'>): Promise<boolean> {
  return (await host.kindOf(enforceFile)) === 'file';
}

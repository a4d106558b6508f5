// Whether this machine can run a private containerd with real pods, and the reason if not.
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';

const sbins = ['/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin'];

export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...sbins];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Debian and the CNI project use different directories. */
export function cniPluginFolder(): string | undefined {
  return ['/opt/cni/bin', '/usr/lib/cni'].find((folder) => existsSync(join(folder, 'bridge')));
}

export function rigUnavailableReason(): string | undefined {
  if (process.platform !== 'linux') return `containers need Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'starting containers needs root';
  const missing = ['containerd', 'ctr', 'runc', 'busybox', 'ip', 'iptables', 'mount', 'umount'].filter(
    (name) => findProgram(name) === undefined,
  );
  if (missing.length > 0) return `${missing.join(', ')} not found (make setup installs what is missing)`;
  if (cniPluginFolder() === undefined) return 'CNI plugins not found (make setup installs them)';
  return undefined;
}

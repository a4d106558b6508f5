// Lists the devices with mounted file systems. Upstream: cadvisor's fs package (partitions).

interface DeviceMount {
  readonly device: string;
  /** `254:0` */
  readonly numbers: string;
  readonly mountPoint: string;
}

/** Each device once, at its shortest mount point. */
export function deviceMounts(mountinfo: string): readonly DeviceMount[] {
  const found = new Map<string, DeviceMount>();
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , numbers = '', , mountPoint = ''] = before.split(' ');
    const [, device = ''] = after.split(' ');
    if (!device.startsWith('/dev/') || mountPoint.includes('\\')) continue;
    const known = found.get(device);
    if (known === undefined || mountPoint.length < known.mountPoint.length)
      found.set(device, { device, numbers, mountPoint });
  }
  return [...found.values()];
}

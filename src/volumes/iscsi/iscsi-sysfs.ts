// The sessions of the node and the devices of a LUN, from sysfs. Upstream: GetISCSIPortalHostMapForTarget and
// FindDevicesForISCSILun in pkg/volume/util/device_util_linux.go. Invariant: a session that ends meanwhile is skipped.
import type { HostDevices } from '../../api/ports/host-programs.ts';

interface SessionFilter {
  readonly iqn: string;
  readonly iface: string;
}

interface Session {
  readonly host: number;
  readonly path: string;
}

const hostsDir = '/sys/class/iscsi_host';
const attributeBytes = 1024;

/** The number of the SCSI host of each portal that the node is logged in to, by the portal's current and configured address. */
export async function portalHosts(
  devices: HostDevices,
  filter: SessionFilter,
): Promise<ReadonlyMap<string, number>> {
  const hosts = new Map<string, number>();
  for (const { host, path } of await sessionsOf(devices, filter)) {
    const connections = (await devices.list(path)).filter((name) => name.startsWith('connection'));
    for (const name of connections) {
      const at = `${path}/${name}/iscsi_connection/${name}`;
      for (const prefix of ['', 'persistent_']) {
        const address = await attribute(devices, `${at}/${prefix}address`);
        const port = await attribute(devices, `${at}/${prefix}port`);
        if (address !== undefined && port !== undefined) hosts.set(joinPort(address, port), host);
      }
    }
  }
  return hosts;
}

/** The names of the block devices of a LUN: `sdb`. */
export async function lunDevices(
  devices: HostDevices,
  { lun, ...filter }: SessionFilter & { readonly lun: string },
): Promise<readonly string[]> {
  const names: string[] = [];
  for (const { host, path } of await sessionsOf(devices, filter)) {
    // Channel and target are always 0 for iSCSI.
    const [name] = await devices.list(`${path}/target${host}:0:0/${host}:0:0:${lun}/block`);
    if (name !== undefined) names.push(name);
  }
  return names;
}

/** differs from upstream, which also takes the sessions of other interfaces, and so deletes devices that their volumes use. */
async function sessionsOf(devices: HostDevices, { iface, iqn }: SessionFilter): Promise<readonly Session[]> {
  const sessions: Session[] = [];
  for (const hostName of await devices.list(hostsDir)) {
    const host = /^host(\d{1,9})$/.exec(hostName)?.[1];
    if (host === undefined) continue;
    const device = `${hostsDir}/${hostName}/device`;
    for (const name of (await devices.list(device)).filter((each) => each.startsWith('session'))) {
      const path = `${device}/${name}`;
      const at = `${path}/iscsi_session/${name}`;
      if ((await attribute(devices, `${at}/targetname`)) !== iqn) continue;
      const used = (await attribute(devices, `${at}/ifacename`)) ?? iface;
      if (used === iface) sessions.push({ host: Number(host), path });
    }
  }
  return sessions;
}

async function attribute(devices: HostDevices, path: string): Promise<string | undefined> {
  return (await devices.read(path, attributeBytes).catch(() => undefined))?.trim();
}

function joinPort(address: string, port: string): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

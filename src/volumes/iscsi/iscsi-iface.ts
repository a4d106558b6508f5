// The interface of the initiator: its transport, and the copy with a volume's own initiator name.
// Upstream: extractTransportname, parseIscsiadmShow and cloneIface in pkg/volume/iscsi/iscsi_util.go.
import type { IscsiTarget } from './iscsi-target.ts';
import { failed, type Iscsiadm } from './iscsiadm.ts';

/** Exit code of iscsiadm: a session exists. */
export const sessionExists = 15;

const maxSettings = 256;

/** `tcp`, or the name of a driver of network cards with iSCSI offload. */
export async function transportOf(admin: Iscsiadm, { iface, initIface }: IscsiTarget): Promise<string> {
  const { failure, output, stdout } = await admin.run(['-m', 'iface', '-I', initIface, '-o', 'show']);
  // differs from upstream, whose message is the exit status alone.
  if (failure !== undefined)
    throw failed(`iscsi: could not read iface ${initIface} error: ${output} (${failure})`);
  const line = stdout.split('\n').find((each) => each.startsWith(transportKey));
  if (line === undefined) throw failed(`could not parse iface file for ${iface}`);
  const transport = line.slice(transportKey.length).trim();
  return transport === '<empty>' ? 'tcp' : transport;
}

const transportKey = 'iface.transport_name = ';

/** Idempotent. */
export async function cloneIface(admin: Iscsiadm, target: IscsiTarget): Promise<void> {
  const { iface, initIface, initiatorName } = target;
  if (initIface === iface) throw failed(`iscsi: cannot clone iface with same name: ${initIface}`);
  const shown = await admin.run(['-m', 'iface', '-I', initIface, '-o', 'show']);
  if (shown.failure !== undefined)
    throw failed(`iscsi: failed to show iface records: ${shown.output} (${shown.failure})`);
  const settings = parseIface(shown.stdout);
  if (typeof settings === 'string')
    throw failed(`iscsi: failed to parse iface records: ${shown.output} (${settings})`);
  settings.set('iface.initiatorname', initiatorName);
  const created = await admin.run(['-m', 'iface', '-I', iface, '-o', 'new']);
  if (created.failure !== undefined && created.code !== sessionExists)
    throw failed(`iscsi: failed to create new iface: ${created.output} (${created.failure})`);
  for (const [key, value] of [...settings].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { failure, output } = await admin.run([
      '-m',
      'iface',
      '-I',
      iface,
      '-o',
      'update',
      '-n',
      key,
      '-v',
      value,
    ]);
    if (failure === undefined) continue;
    await admin.run(['-m', 'iface', '-I', iface, '-o', 'delete']);
    throw failed(
      `iscsi: failed to update iface records: ${output} (${failure}). iface(${initIface}) will be used`,
    );
  }
}

/** The settings that have a value, or what is wrong with them. */
export function parseIface(text: string): Map<string, string> | string {
  const settings = new Map<string, string>();
  for (const line of text.split('\n')) {
    if (!line.startsWith('iface.') || line.includes('<empty>')) continue;
    const [key = '', equals, value, ...rest] = line.trim().split(/\s+/);
    if (equals !== '=' || value === undefined || rest.length > 0 || settings.size >= maxSettings)
      return `error: invalid iface setting: [${line.trim()}]`;
    // The name of an interface cannot be changed.
    if (key !== 'iface.iscsi_ifacename') settings.set(key, value);
  }
  return settings;
}

// Logs in to a target through one portal: discovery, node record, CHAP, login. Upstream: the portal loop of AttachDisk,
// updateISCSIDiscoverydb and updateISCSINode in pkg/volume/iscsi/iscsi_util.go.
// Invariant: a failure is a message without secrets; other portals may still succeed.
import type { Logger } from '../../base/log/log.ts';
import { sessionExists } from './iscsi-iface.ts';
import type { IscsiTarget } from './iscsi-target.ts';
import type { Iscsiadm } from './iscsiadm.ts';

/** The decoded keys of the secret. */
export type ChapSecret = ReadonlyMap<string, string>;

interface LoginInput {
  readonly target: IscsiTarget;
  readonly portal: string;
  readonly secret: ChapSecret;
  readonly log: Logger;
}

const discoveryKeys = ['username', 'password', 'username_in', 'password_in'].map(
  (key) => `discovery.sendtargets.auth.${key}`,
);
const sessionKeys = ['username', 'password', 'username_in', 'password_in'].map(
  (key) => `node.session.auth.${key}`,
);

/** Undefined on success. */
export async function logIn(admin: Iscsiadm, input: LoginInput): Promise<string | undefined> {
  const { log, portal, target } = input;
  const { iface, iqn } = target;
  const record = ['-m', 'discoverydb', '-t', 'sendtargets', '-p', portal, '-I', iface];
  await admin.run([...record, '-o', 'new']);
  const refused = await updateDiscovery(admin, record, input);
  if (refused !== undefined)
    return `iscsi: failed to update discoverydb to portal ${portal} error: ${refused}`;
  const discovered = await admin.run([...record, '--discover']);
  if (discovered.failure !== undefined) {
    await admin.run([...record, '-o', 'delete']);
    return `iscsi: failed to sendtargets to portal ${portal} output: ${discovered.output}, err ${discovered.failure}`;
  }
  const unset = await updateNode(admin, input);
  if (unset !== undefined) return `iscsi: failed to update iscsi node to portal ${portal} error: ${unset}`;
  const login = await admin.run(['-m', 'node', '-p', portal, '-T', iqn, '-I', iface, '--login']);
  // differs from upstream, which deletes the record of a session that an interrupted login has established meanwhile.
  if (login.failure !== undefined && login.code !== sessionExists) {
    await admin.run(['-m', 'node', '-p', portal, '-I', iface, '-T', iqn, '-o', 'delete']);
    return `iscsi: failed to attach disk: Error: ${login.output} (${login.failure})`;
  }
  // The node must not log in, and hang, while it boots.
  const startup = ['-o', 'update', '-n', 'node.startup', '-v', 'manual'];
  const manual = await admin.run(['-m', 'node', '-p', portal, '-T', iqn, ...startup]);
  if (manual.failure !== undefined)
    log.warn('Failed to set iSCSI login mode to manual', { portal, target: iqn, err: manual.failure });
  return undefined;
}

async function updateDiscovery(
  admin: Iscsiadm,
  record: readonly string[],
  { secret, target }: LoginInput,
): Promise<string | undefined> {
  if (!target.chapDiscovery) return undefined;
  const update = [...record, '-o', 'update', '-n'];
  const { failure, output } = await admin.run([
    ...update,
    'discovery.sendtargets.auth.authmethod',
    '-v',
    'CHAP',
  ]);
  if (failure !== undefined) return `iscsi: failed to update discoverydb with CHAP, output: ${output}`;
  return await updateSecrets(admin, update, { keys: discoveryKeys, secret, what: 'discoverydb key' });
}

async function updateNode(
  admin: Iscsiadm,
  { log, portal, secret, target }: LoginInput,
): Promise<string | undefined> {
  const { iface, iqn } = target;
  const update = ['-m', 'node', '-p', portal, '-T', iqn, '-I', iface, '-o', 'update', '-n'];
  // Otherwise the kernel finds every LUN of the target, also those of other nodes. Old versions do not know the setting.
  const scan = await admin.run([...update, 'node.session.scan', '-v', 'manual']);
  if (scan.failure !== undefined)
    log.warn('Failed to set iSCSI node.session.scan to manual: the node may find LUNs of other nodes', {
      portal,
      target: iqn,
      err: scan.output,
    });
  if (!target.chapSession) return undefined;
  const { failure, output } = await admin.run([...update, 'node.session.auth.authmethod', '-v', 'CHAP']);
  if (failure !== undefined) return `iscsi: failed to update node with CHAP, output: ${output}`;
  return await updateSecrets(admin, update, { keys: sessionKeys, secret, what: 'node session key' });
}

async function updateSecrets(
  admin: Iscsiadm,
  update: readonly string[],
  {
    keys,
    secret,
    what,
  }: { readonly keys: readonly string[]; readonly secret: ChapSecret; readonly what: string },
): Promise<string | undefined> {
  for (const key of keys) {
    const value = secret.get(key);
    if (value === undefined || value === '') continue;
    const { failure, output } = await admin.run([...update, key, '-v', value], value);
    if (failure !== undefined) return `iscsi: failed to update ${what} "${key}" error: ${output}`;
  }
  return undefined;
}

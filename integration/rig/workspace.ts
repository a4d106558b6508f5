// The workspace of a rig: a directory, a bridge, a subnet and a cgroup, all of one name.
// Invariant: the directory holds a file owner.PID.START. Both are created by one rename, and a process that clears the
// workspace of a dead owner first renames that file to its own name. So no two processes ever own or clear the same
// workspace, and no lock outlives its owner.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { identify, isAlive, type ProcessId } from './process.ts';

export interface RigWorkspace {
  readonly dir: string;
  /** The name of the bridge, the CNI network and the cgroup. */
  readonly name: string;
  /** The first three octets of the subnet. */
  readonly prefix: string;
}

/** Not os.tmpdir(): the name is a machine-wide lock, and paths of Unix sockets below it must stay short. */
const rigFolder = '/tmp';
const rigName = /^krig-(\d+)$/;
const incomplete = 'krig-new-';

/** The number of names and subnets. */
export const workspaceCount = 250;

function self(): ProcessId {
  const id = identify(process.pid);
  if (id === undefined) throw new Error('/proc does not show this process');
  return id;
}

function ownerFile(id: ProcessId): string {
  return `owner.${id.pid}.${id.startTicks}`;
}

export function ownerOf(dir: string): ProcessId | undefined {
  const names = existsSync(dir) ? readdirSync(dir) : [];
  for (const name of names) {
    const [, pid, startTicks] = /^owner\.(\d+)\.(\d+)$/.exec(name) ?? [];
    if (pid !== undefined && startTicks !== undefined) return { pid: Number(pid), startTicks };
  }
  return undefined;
}

export function hasLiveOwner(dir: string): boolean {
  const owner = ownerOf(dir);
  return owner !== undefined && isAlive(owner);
}

/** Creates the directory with its owner file in one step; false if the directory or the name is taken. */
export function claim(workspace: RigWorkspace): boolean {
  if (existsSync(workspace.dir) || isNetworkTaken(workspace)) return false;
  const parent = dirname(workspace.dir);
  mkdirSync(parent, { recursive: true });
  const fresh = mkdtempSync(join(parent, incomplete));
  // A container with a user namespace enters its root directory below as another user.
  chmodSync(fresh, 0o711);
  writeFileSync(join(fresh, ownerFile(self())), '');
  writeFileSync(join(fresh, 'workspace.json'), JSON.stringify(workspace));
  try {
    renameSync(fresh, workspace.dir);
    return true;
  } catch {
    rmSync(fresh, { recursive: true });
    return false;
  }
}

function isNetworkTaken(workspace: RigWorkspace): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return (
    existsSync(join('/sys/class/net', workspace.name)) ||
    addresses.some((one) => one.address.startsWith(`${workspace.prefix}.`))
  );
}

/** Takes over the workspace of a dead owner; undefined if the owner is alive or another process was faster. */
export function takeOver(dir: string): RigWorkspace | undefined {
  const owner = ownerOf(dir);
  if (owner === undefined || isAlive(owner)) return undefined;
  try {
    renameSync(join(dir, ownerFile(owner)), join(dir, ownerFile(self())));
    return JSON.parse(readFileSync(join(dir, 'workspace.json'), 'utf8')) as RigWorkspace;
  } catch {
    return undefined;
  }
}

/** Claims a free workspace for a rig of this process. */
export function claimWorkspace(): RigWorkspace {
  for (let n = 0; n < workspaceCount; n++) {
    const workspace = { dir: join(rigFolder, `krig-${n}`), name: `krig${n}`, prefix: `10.213.${n}` };
    if (claim(workspace)) return workspace;
  }
  throw new Error(`all ${workspaceCount} rigs of this machine are in use`);
}

/** The directories of all rigs on the machine. */
export function listRigFolders(): readonly string[] {
  return readdirSync(rigFolder)
    .filter((name) => rigName.test(name))
    .map((name) => join(rigFolder, name));
}

/** Removes the leftovers of claims that were interrupted before their rename. */
export function removeIncompleteClaims(parent = rigFolder): void {
  const names = existsSync(parent) ? readdirSync(parent) : [];
  for (const name of names.filter((one) => one.startsWith(incomplete))) {
    const dir = join(parent, name);
    if (ownerOf(dir) !== undefined && !hasLiveOwner(dir)) rmSync(dir, { recursive: true, force: true });
  }
}

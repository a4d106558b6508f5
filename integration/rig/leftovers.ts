// Finds and removes what a rig left on the machine, without containerd and kubelet, which may be dead.
// Invariant: touches only what has the workspace's name or is in its directory.
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cgroupFolders, idleCgroups, processesIn, removeCgroups } from './cgroups.ts';
import { containerdPaths } from './containerd.ts';
import { firewallRules, idleSharedChains, removeFirewallRules, removeSharedChains } from './firewall.ts';
import { restoreKernelValues } from './kernel-values.ts';
import { detachLoopDevices, loopDevicesOf, mountsBelow, unmountBelow } from './mounts.ts';
import {
  cgroupsOf,
  commandLine,
  environment,
  listProcesses,
  type ProcessId,
  run,
  signalProcess,
} from './process.ts';
import { waitFor } from './wait.ts';
import {
  hasLiveOwner,
  listRigFolders,
  type RigWorkspace,
  removeIncompleteClaims,
  takeOver,
} from './workspace.ts';

/** Resources outside of the workspace, as recorded in the state of containerd. */
export interface Traces {
  /** Paths of cgroups from the root of each hierarchy. */
  readonly cgroups: readonly string[];
  /** Sockets of shims, in a directory that all containerds of the machine share. */
  readonly sockets: readonly string[];
}

/** Programs that a rig starts. No other process is killed, whatever its command line. */
const programs: ReadonlySet<string> = new Set([
  'containerd',
  'containerd-shim-runc-v2',
  'runc',
  'ctr',
  'node',
]);

/** CNI plugins, which may be running when their containerd is killed; they are identified by their environment. */
const plugins: ReadonlySet<string> = new Set(['bridge', 'portmap', 'host-local', 'loopback']);

const sharedFolders = [
  '/run/containerd/s',
  '/run/containerd/fifo',
  '/run/containerd/runc',
  '/run/containerd',
];
const sharedCgroup = '/k8s.io';

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function children(dir: string): readonly string[] {
  return existsSync(dir) ? readdirSync(dir).map((name) => join(dir, name)) : [];
}

function cgroupOfBundle(bundle: string): string {
  try {
    const spec = JSON.parse(read(join(bundle, 'config.json'))) as { linux?: { cgroupsPath?: string } };
    return spec.linux?.cgroupsPath ?? '';
  } catch {
    return '';
  }
}

/** Reads the resources of the containers outside of the workspace, while its directory still exists. */
export function findTraces(workspace: RigWorkspace): Traces {
  const tasks = join(containerdPaths(workspace).state, 'io.containerd.runtime.v2.task');
  const bundles = children(tasks).flatMap(children);
  return {
    cgroups: [`/${workspace.name}`, ...bundles.map(cgroupOfBundle).filter((path) => path.startsWith('/'))],
    sockets: bundles
      .map((bundle) => read(join(bundle, 'address')))
      .filter((address) => address.startsWith('unix:///run/containerd/s/'))
      .map((address) => address.slice('unix://'.length)),
  };
}

/** Processes of the workspace: by command line, by cgroup, or by the cgroups of its containers. */
function findProcesses(workspace: RigWorkspace, traces: Traces): readonly ProcessId[] {
  const own = listProcesses().filter(({ pid }) => {
    if (pid === process.pid) return false;
    const [program = '', ...args] = commandLine(pid);
    const name = basename(program);
    const commandText = plugins.has(name) ? environment(pid) : programs.has(name) ? args : [];
    return (
      commandText.some((word) => word.includes(`${workspace.dir}/`)) ||
      cgroupsOf(pid).includes(`:/${workspace.name}/`)
    );
  });
  return [...own, ...traces.cgroups.flatMap(processesIn)];
}

/** Lists all leftovers, one line each. */
export async function findLeftovers(workspace: RigWorkspace, traces: Traces): Promise<readonly string[]> {
  const found = findProcesses(workspace, traces).map(
    ({ pid }) => `process ${pid}: ${commandLine(pid).join(' ')}`,
  );
  found.push(...mountsBelow(workspace.dir).map((path) => `mount ${path}`));
  found.push(...loopDevicesOf(workspace.dir).map((device) => `loop ${device}`));
  if (existsSync(join('/sys/class/net', workspace.name))) found.push(`bridge ${workspace.name}`);
  found.push(...traces.cgroups.flatMap(cgroupFolders).map((folder) => `cgroup ${folder}`));
  found.push(...(await firewallRules(workspace.name)).map((rule) => `iptables rule ${rule}`));
  found.push(...traces.sockets.filter((path) => existsSync(path)).map((path) => `file ${path}`));
  if (existsSync(workspace.dir)) found.push(`file ${workspace.dir}`);
  if (!otherRigLives(workspace)) {
    found.push(
      ...sharedFolders
        .filter((dir) => existsSync(dir) && readdirSync(dir).length === 0)
        .map((dir) => `file ${dir}`),
    );
    found.push(...idleCgroups(sharedCgroup).map((folder) => `cgroup ${folder}`));
    found.push(...(await idleSharedChains()).map((chain) => `iptables chain ${chain}`));
  }
  return [...new Set(found)];
}

function otherRigLives(workspace: RigWorkspace): boolean {
  return listRigFolders().some((dir) => dir !== workspace.dir && hasLiveOwner(dir));
}

async function endProcesses(workspace: RigWorkspace, traces: Traces): Promise<void> {
  await waitFor(
    () => {
      const processes = findProcesses(workspace, traces);
      for (const id of processes) signalProcess(id, 'SIGKILL');
      return processes.length === 0;
    },
    `the processes of ${workspace.dir} to exit`,
    15_000,
  );
}

async function removeAllCgroups(traces: Traces): Promise<void> {
  await waitFor(
    () => {
      for (const path of traces.cgroups) removeCgroups(path);
      return traces.cgroups.flatMap(cgroupFolders).length === 0;
    },
    `the cgroups ${traces.cgroups.join(', ')} to be removed`,
    15_000,
  );
}

/** Removes what rigs share, after the last rig and if it is otherwise unused. */
async function removeShared(): Promise<void> {
  restoreKernelValues();
  for (const dir of sharedFolders) {
    try {
      rmdirSync(dir);
    } catch {
      // In use, or missing.
    }
  }
  for (const folder of idleCgroups(sharedCgroup)) rmdirSync(folder);
  await removeSharedChains();
}

/** Removes a workspace and everything that belongs to it. */
export async function clearWorkspace(workspace: RigWorkspace): Promise<Traces> {
  const traces = findTraces(workspace);
  await endProcesses(workspace, traces);
  // Before the mounts: the kubelet keeps a device of a pod open with a loop device whose file is in a mount.
  await detachLoopDevices(workspace.dir);
  await unmountBelow(workspace.dir);
  const mounts = mountsBelow(workspace.dir);
  // Deleting through a mount would delete the mounted files.
  if (mounts.length > 0) throw new Error(`still mounted: ${mounts.join(', ')}`);
  await detachLoopDevices(workspace.dir);
  await removeAllCgroups(traces);
  if (existsSync(join('/sys/class/net', workspace.name))) await run('ip', ['link', 'delete', workspace.name]);
  await removeFirewallRules(workspace.name);
  for (const path of traces.sockets) rmSync(path, { force: true });
  if (!otherRigLives(workspace)) await removeShared();
  rmSync(workspace.dir, { recursive: true, force: true });
  return traces;
}

/** Clears the workspaces of rigs whose process is dead. */
export async function sweepDeadRigs(): Promise<void> {
  removeIncompleteClaims();
  for (const dir of listRigFolders()) {
    const workspace = takeOver(dir);
    if (workspace !== undefined) await clearWorkspace(workspace);
  }
}

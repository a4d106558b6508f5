// A private containerd with all of its state in one directory; it can be stopped, killed and started again.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { configText } from './containerd-config.ts';
import { identify, mustRun, type ProcessId, run, signalProcess } from './process.ts';
import { waitFor } from './wait.ts';
import type { RigWorkspace } from './workspace.ts';

export interface ContainerdPaths {
  readonly root: string;
  readonly state: string;
  readonly socket: string;
  readonly config: string;
  readonly log: string;
  readonly cni: string;
  readonly hosts: string;
}

export function containerdPaths(workspace: RigWorkspace): ContainerdPaths {
  const dir = join(workspace.dir, 'containerd');
  return {
    root: join(dir, 'root'),
    state: join(dir, 'state'),
    socket: join(workspace.dir, 'containerd.sock'),
    config: join(dir, 'config.toml'),
    log: join(dir, 'containerd.log'),
    cni: join(dir, 'cni'),
    hosts: join(dir, 'hosts'),
  };
}

interface ContainerdOptions {
  readonly sandboxImage: string;
  /** Whether pods can connect to other machines. */
  readonly masquerade: boolean;
  /** The size of a file system of its own for the root directory. */
  readonly rootBytes?: number | undefined;
}

/** Overlay mounts fail if the directory itself is on an overlay, as in most containers. */
async function chooseSnapshotter(dir: string): Promise<'overlayfs' | 'native'> {
  const probe = join(dir, 'overlay-probe');
  for (const name of ['lower', 'upper', 'work', 'merged']) mkdirSync(join(probe, name), { recursive: true });
  const options = ['lower', 'upper', 'work'].map((name) => `${name}dir=${join(probe, name)}`).join(',');
  const { code } = await run('mount', ['-t', 'overlay', 'overlay', '-o', options, join(probe, 'merged')]);
  if (code === 0) await mustRun('umount', [join(probe, 'merged')]);
  rmSync(probe, { recursive: true });
  return code === 0 ? 'overlayfs' : 'native';
}

function cniText(workspace: RigWorkspace, options: ContainerdOptions): string {
  const bridge = {
    type: 'bridge',
    bridge: workspace.name,
    isGateway: true,
    ipMasq: options.masquerade,
    hairpinMode: true,
    ipam: {
      type: 'host-local',
      dataDir: join(workspace.dir, 'containerd', 'ipam'),
      ranges: [[{ subnet: `${workspace.prefix}.0/24` }]],
      routes: [{ dst: '0.0.0.0/0' }],
    },
  };
  const portmap = { type: 'portmap', capabilities: { portMappings: true } };
  return JSON.stringify({ cniVersion: '0.4.0', name: workspace.name, plugins: [bridge, portmap] });
}

export class Containerd {
  readonly paths: ContainerdPaths;
  snapshotter: 'overlayfs' | 'native' = 'overlayfs';
  readonly #workspace: RigWorkspace;
  readonly #options: ContainerdOptions;
  #child: ChildProcess | undefined;
  #id: ProcessId | undefined;

  constructor(workspace: RigWorkspace, options: ContainerdOptions) {
    this.#workspace = workspace;
    this.#options = options;
    this.paths = containerdPaths(workspace);
  }

  get pid(): number | undefined {
    return this.#id?.pid;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Writes the configuration. Called once, before the first start. */
  async prepare(): Promise<void> {
    const { paths } = this;
    for (const dir of [paths.root, paths.state, paths.cni, paths.hosts]) mkdirSync(dir, { recursive: true });
    const { rootBytes } = this.#options;
    if (rootBytes !== undefined) {
      await mustRun('mount', ['-t', 'tmpfs', '-o', `size=${rootBytes}`, 'tmpfs', paths.root]);
    }
    this.snapshotter = await chooseSnapshotter(paths.root);
    const version = await mustRun('containerd', ['--version']);
    const { sandboxImage } = this.#options;
    writeFileSync(paths.config, configText({ version, paths, sandboxImage, snapshotter: this.snapshotter }));
    writeFileSync(join(paths.cni, '10-rig.conflist'), cniText(this.#workspace, this.#options));
  }

  /** Resolves when the socket accepts connections. */
  async start(): Promise<void> {
    if (this.running) throw new Error('containerd is already running');
    const log = openSync(this.paths.log, 'a');
    // In a process group of its own: Ctrl-C in a terminal must reach the owner of the rig, not containerd.
    const child = spawn('containerd', ['--config', this.paths.config], {
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    this.#child = child;
    const failed = once(child, 'error').then(([err]) => Promise.reject(err as Error));
    await Promise.race([once(child, 'spawn'), failed]);
    this.#id = child.pid === undefined ? undefined : identify(child.pid);
    await waitFor(() => this.#accepts(), 'the socket of containerd', 20_000);
  }

  async #accepts(): Promise<boolean> {
    if (!this.running) throw new Error(`containerd exited: ${this.#lastLog()}`);
    const socket = connect(this.paths.socket);
    try {
      await once(socket, 'connect');
      return true;
    } finally {
      socket.destroy();
    }
  }

  #lastLog(): string {
    return readFileSync(this.paths.log, 'utf8').trimEnd().split('\n').slice(-3).join(' | ');
  }

  /** Stops containerd; its containers keep running. Kills it after the timeout. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', timeoutMs = 10_000): Promise<void> {
    const child = this.#child;
    if (child === undefined || this.#id === undefined || !this.running) return;
    const ended = once(child, 'exit');
    signalProcess(this.#id, signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    await ended;
    clearTimeout(timer);
  }

  async kill9(): Promise<void> {
    await this.stop('SIGKILL');
  }

  /** Suspends the process until resume(): it accepts calls and responds to none. */
  pause(): void {
    if (this.#id !== undefined) signalProcess(this.#id, 'SIGSTOP');
  }

  resume(): void {
    if (this.#id !== undefined) signalProcess(this.#id, 'SIGCONT');
  }

  ctr(...args: readonly string[]): Promise<string> {
    return mustRun('ctr', ['--address', this.paths.socket, '--namespace', 'k8s.io', ...args]);
  }
}

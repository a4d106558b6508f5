// The CSI driver of the tests (test/csi-driver) as a process beside a kubelet, with faults on order, the log of the calls that it
// received, and what it has mounted. The next process of the driver continues with the volumes of the previous one.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { RegistrationStatus } from '../../src/api/kubelet/generated/pluginregistration/v1/api.ts';
import type { FaultControl, FaultOrder } from '../../test/csi-driver/faults.ts';
import { loopsOf } from '../../test/csi-driver/host.ts';
import { type CapabilityName, socketsOf, type VolumeKind } from '../../test/csi-driver/options.ts';
import { LogFile } from '../rig/log-file.ts';
import { detachLoopDevices, unmountBelow } from '../rig/mounts.ts';
import { findProgram } from '../rig/prerequisites.ts';
import { mustRun, run } from '../rig/process.ts';
import { repositoryRoot } from '../rig/repository.ts';
import { waitFor } from '../rig/wait.ts';
import { DriverRecords } from './csi-driver-records.ts';

export const testDriver = 'test.csi.example.com';

/** A kubelet of the rig, or the directories of one. */
interface DriverHome {
  /** For the driver's own files; in a rig's workspace, which clears the processes and mounts of a killed test. */
  readonly dir: string;
  readonly rootDir: string;
}

export interface DriverSettings {
  readonly name?: string;
  readonly nodeId?: string;
  readonly kind?: VolumeKind;
  /** Default: stage, stats and expand. */
  readonly capabilities?: readonly CapabilityName[];
  readonly topology?: Readonly<Record<string, string>>;
  readonly maxVolumes?: number;
  /** The CSI versions that it registers with. */
  readonly versions?: readonly string[];
  readonly flags?: readonly string[];
}

type Fault = Omit<FaultOrder, 'id' | 'untilMs'> & {
  /** The fault ends by itself after this time. */
  readonly forMs?: number;
};

interface DriverProcess {
  readonly child: ChildProcess;
  readonly instance: string;
}

export class CsiDriver extends DriverRecords {
  readonly name: string;
  readonly dir: string;
  readonly output: LogFile;
  readonly #home: DriverHome;
  #settings: DriverSettings;
  #process: DriverProcess | undefined;
  #orders = 0;
  #instances = 0;

  constructor(home: DriverHome, settings: DriverSettings = {}) {
    const { name = testDriver } = settings;
    const dir = join(home.dir, `csi-${name}`);
    super(join(dir, 'data'), join(dir, 'calls.jsonl'));
    this.#home = home;
    this.#settings = settings;
    this.name = name;
    this.dir = dir;
    this.output = new LogFile(join(this.dir, 'output.log'));
    mkdirSync(this.dataDir, { recursive: true });
  }

  get running(): boolean {
    return this.#process !== undefined && isRunning(this.#process.child);
  }

  get pid(): number {
    const pid = this.#process?.child.pid;
    if (pid === undefined) throw new Error('the CSI driver was never started');
    return pid;
  }

  /** The sockets of the current process. */
  get sockets(): { readonly registration: string; readonly endpoint: string } {
    const instance = this.#process?.instance ?? '';
    return socketsOf({ rootDir: this.#home.rootDir, driverName: this.name, instance });
  }

  /** Starts the process, also again after an exit, and waits until it serves. */
  async start(over: DriverSettings = {}): Promise<void> {
    if (this.running) throw new Error('the CSI driver is already running');
    this.#process = await this.#spawn(over, '');
  }

  /** Sends the signal and waits for the exit. Without a signal that kills, the driver removes its sockets. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#process !== undefined) await endProcess(this.#process.child, signal);
  }

  /** Leaves both sockets behind, without a listener. */
  async kill9(): Promise<void> {
    await this.stop('SIGKILL');
  }

  /** Suspends the process: the sockets accept connections, and nothing answers. */
  pause(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Waits until the process has ended by itself. */
  async untilExit(): Promise<void> {
    await waitFor(() => !this.running, 'the CSI driver to exit');
  }

  /**
   * Upgrades in place, as a rolling update without a gap: a second process registers the same name with other sockets, then the
   * first one ends.
   */
  async upgrade(over: DriverSettings = {}): Promise<void> {
    const old = this.#process;
    this.#instances += 1;
    this.#process = await this.#spawn(over, String(this.#instances + 1));
    await this.waitRegistered();
    if (old !== undefined) await endProcess(old.child, 'SIGTERM');
  }

  async #spawn(over: DriverSettings, instance: string): Promise<DriverProcess> {
    this.#settings = { ...this.#settings, ...over };
    const { rootDir } = this.#home;
    const { nodeId, kind, capabilities, topology = {}, maxVolumes, versions, flags = [] } = this.#settings;
    const flag = (name: string, value: string | undefined): readonly string[] =>
      value === undefined ? [] : [`--${name}=${value}`];
    const args = [
      await bundle(this.dir),
      `--driver-name=${this.name}`,
      `--root-dir=${rootDir}`,
      `--data-dir=${this.dataDir}`,
      `--instance=${instance}`,
      `--faults=${this.#control}`,
      `--log=${this.callLog}`,
      ...flag('node-id', nodeId),
      ...flag('kind', kind),
      ...flag('capabilities', capabilities?.join(',')),
      ...flag('max-volumes', maxVolumes === undefined ? undefined : String(maxVolumes)),
      ...flag('versions', versions?.join(',')),
      `--topology=${Object.entries(topology)
        .map(([key, value]) => `${key}=${value}`)
        .join(',')}`,
      ...flags,
    ];
    const output = openSync(this.output.path, 'a');
    const from = this.output.end;
    const child = spawn(process.execPath, args, { stdio: ['ignore', output, output] });
    closeSync(output);
    await once(child, 'spawn');
    await waitFor(() => {
      if (isRunning(child)) return this.output.matching(/^serving$/, from).length > 0;
      throw new Error(`the CSI driver exited: ${this.output.lines().slice(-8).join('\n')}`);
    }, 'the CSI driver to serve');
    return { child, instance };
  }

  /** Waits until the kubelet has reported to the current process that it is registered. */
  async waitRegistered(timeoutMs = 30_000): Promise<void> {
    await waitFor(
      () => {
        const last = this.calls('NotifyRegistrationStatus')
          .filter((call) => call.pid === this.pid)
          .at(-1)?.request as RegistrationStatus | undefined;
        if (last?.error) throw new Error(`the kubelet reported: ${last.error}`);
        return last?.pluginRegistered === true;
      },
      `the CSI driver ${this.name} to be registered`,
      timeoutMs,
    );
  }

  get #control(): string {
    return join(this.dir, 'faults.json');
  }

  /** Replaces the faults on order; the next call follows them, and calls that hang by order of the previous ones continue. */
  setFaults(...faults: readonly Fault[]): void {
    const orders = faults.map(({ forMs, ...fault }): FaultOrder => {
      this.#orders += 1;
      return { ...fault, id: this.#orders, ...(forMs === undefined ? {} : { untilMs: Date.now() + forMs }) };
    });
    const control: FaultControl = { orders };
    writeFileSync(`${this.#control}.new`, JSON.stringify(control));
    renameSync(`${this.#control}.new`, this.#control);
  }

  clearFaults(): void {
    this.setFaults();
  }

  /** Takes the device of an ext4 or block volume away while it is in use: from now on, reads and writes of it fail. */
  async loseDevice(handle: string): Promise<void> {
    const image = join(this.volumeDir(handle), 'image');
    truncateSync(image, 0);
    for (const device of loopsOf(image)) await mustRun('losetup', ['--set-capacity', device]);
  }

  /** Ends the process and removes whatever the driver has mounted, so that its directories can be deleted. */
  async clear(): Promise<void> {
    await this.stop('SIGKILL');
    for (const { path, count } of this.mounts())
      for (let left = count; left > 0; left--)
        if ((await run('umount', [path])).code !== 0) await run('umount', ['-l', path]);
    await unmountBelow(this.dataDir);
    await detachLoopDevices(this.dataDir);
  }
}

/** Why this machine cannot run the driver; undefined if it can. */
export function csiUnavailableReason(): string | undefined {
  if (process.platform !== 'linux') return `mounts need Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'mounting needs root';
  if (!existsSync('/dev/loop-control')) return 'loop devices not found';
  const programs = ['mount', 'umount', 'losetup', 'mkfs.ext4', 'resize2fs'];
  const missing = programs.filter((name) => findProgram(name) === undefined);
  return missing.length === 0 ? undefined : `${missing.join(', ')} not found`;
}

function isRunning(child: ChildProcess): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (!isRunning(child)) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  // A suspended process does not receive other signals.
  child.kill('SIGCONT');
  await ended;
}

async function bundle(dir: string): Promise<string> {
  const outfile = join(dir, 'csi-driver.mjs');
  if (existsSync(outfile)) return outfile;
  await build({
    entryPoints: [join(repositoryRoot(), 'test', 'csi-driver', 'main.ts')],
    outfile: `${outfile}.new.mjs`,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    external: ['@grpc/proto-loader'],
    // CommonJS packages inside the bundle load Node's modules by require().
    banner: {
      js: "import { createRequire as bundleRequire } from 'node:module';const require = bundleRequire(import.meta.url);",
    },
    logLevel: 'warning',
  });
  renameSync(`${outfile}.new.mjs`, outfile);
  return outfile;
}

// The sample device plugin (examples/device-plugin) as a process beside a kubelet of the rig, with faults on order and the log
// of the calls that it received.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import type { FaultOrders, LoggedCall } from '../../examples/device-plugin/faults.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { LogFile } from '../rig/log-file.ts';
import { repositoryRoot } from '../rig/repository.ts';
import { waitFor } from '../rig/wait.ts';

export const sampleResource = 'example.com/sample';

interface PluginSettings {
  readonly resource?: string;
  readonly devices?: string;
  /** Registers through plugins_registry instead of kubelet.sock. */
  readonly registry?: boolean;
  readonly flags?: readonly string[];
}

export class DevicePlugin {
  readonly resource: string;
  readonly dir: string;
  readonly output: LogFile;
  readonly #kubelet: Kubelet;
  readonly #settings: PluginSettings;
  #child: ChildProcess | undefined;

  constructor(kubelet: Kubelet, settings: PluginSettings = {}) {
    this.#kubelet = kubelet;
    this.#settings = settings;
    this.resource = settings.resource ?? sampleResource;
    this.dir = join(kubelet.dir, `plugin-${this.resource.replaceAll('/', '_')}`);
    this.output = new LogFile(join(this.dir, 'output.log'));
    mkdirSync(this.dir, { recursive: true });
  }

  get #control(): string {
    return join(this.dir, 'faults.json');
  }

  get #callLog(): string {
    return join(this.dir, 'calls.jsonl');
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The number of devices. */
  get devices(): string {
    return this.#settings.devices ?? '4';
  }

  /** Starts the process, also again after an exit; the log of calls continues. */
  async start(): Promise<void> {
    if (this.running) throw new Error('the device plugin is already running');
    const { flags = [], registry = false } = this.#settings;
    const { rootDir } = this.#kubelet;
    const args = [
      await bundle(this.#kubelet),
      `--resource=${this.resource}`,
      `--devices=${this.devices}`,
      `--device-plugins-dir=${join(rootDir, 'device-plugins')}`,
      ...(registry ? [`--registry-dir=${join(rootDir, 'plugins_registry')}`] : []),
      `--faults=${this.#control}`,
      `--log=${this.#callLog}`,
      ...flags,
    ];
    const output = openSync(this.output.path, 'a');
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', output, output] });
    closeSync(output);
    await once(this.#child, 'spawn');
  }

  /** Sends the signal and waits for the exit. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.running) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  /** Waits until the process has ended by itself. */
  async untilExit(): Promise<void> {
    await waitFor(() => !this.running, 'the device plugin to exit');
  }

  /** Replaces the orders of faults; the next call follows them. */
  order(faults: FaultOrders): void {
    writeFileSync(`${this.#control}.new`, JSON.stringify(faults));
    renameSync(`${this.#control}.new`, this.#control);
  }

  /** The calls since the first start, in order. */
  calls(name?: string): readonly LoggedCall[] {
    const text = existsSync(this.#callLog) ? readFileSync(this.#callLog, 'utf8') : '';
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LoggedCall)
      .filter(({ call }) => name === undefined || call === name);
  }

  /** Waits for so many calls of this name since the first start. */
  async untilCalls(name: string, count: number): Promise<readonly LoggedCall[]> {
    return waitFor(() => {
      const found = this.calls(name);
      if (found.length >= count) return found;
      throw new Error(`${found.length} calls; ${this.output.lines().slice(-3).join('\n')}`);
    }, `${count} calls of ${name}`);
  }

  /** The IDs of every Allocate, one list per container. */
  allocated(): readonly (readonly string[])[] {
    interface Request {
      readonly containerRequests: readonly { readonly devicesIds: readonly string[] }[];
    }
    return this.calls('Allocate').flatMap(({ request }) =>
      (request as Request).containerRequests.map(({ devicesIds }) => devicesIds),
    );
  }
}

/** Bundles the sample into the kubelet's directory, where the rig finds the process of a killed test. */
async function bundle(kubelet: Kubelet): Promise<string> {
  const outfile = join(kubelet.dir, 'sample-device-plugin.mjs');
  if (existsSync(outfile)) return outfile;
  await build({
    entryPoints: [join(repositoryRoot(), 'examples', 'device-plugin', 'main.ts')],
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

// The built kubelet command as a child process, with directories, ports and a configuration of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { extname, join } from 'node:path';
import type { Pod } from '../../src/api/k8s/types.ts';
import { LogFile } from './log-file.ts';
import { identify, type ProcessId, signalProcess, statFields } from './process.ts';
import { repositoryRoot } from './repository.ts';
import { waitFor } from './wait.ts';
import type { RigWorkspace } from './workspace.ts';

export interface KubeletOptions {
  /** Distinguishes several kubelets on one rig. */
  readonly name?: string;
  readonly nodeName?: string;
  /** Where the root directory and the pod logs are; by default with the other files of the kubelet. */
  readonly dataDir?: string;
  readonly verbosity?: number;
  /** Outlives the rig if it is outside of its workspace. */
  readonly manifestDir?: string;
  /** Preferred ports; others are used if they are taken. */
  readonly ports?: { readonly healthz: number; readonly secure: number };
  /** Queries the secure port with this client certificate; by default the read-only port. */
  readonly client?: { readonly cert: string; readonly key: string };
  /** Configuration fields that override or extend those of the rig. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Sets the runtime's endpoint and the verbosity in the configuration file instead of by flags, which cannot change. */
  readonly settingsInFile?: boolean;
  /** Flags after those of the rig, so that they override them. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** In octal digits; inherited by default. */
  readonly umask?: string;
  /** Another kubelet command than the built one, for comparisons. */
  readonly command?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

interface KubeletUsage {
  readonly cpuSeconds: number;
  readonly rssBytes: number;
}

/**
 * Below the ports that the kernel gives to clients. Each rig has ports of its own, so that no kubelet of another rig takes one
 * between its choice and its use.
 */
const portRange = { first: 20_000, perRig: 46 };
let chosenPorts = 0;

/** A port that was free a moment ago: the preferred one, or the next of the rig. */
export async function freePort(workspace: RigWorkspace, preferred?: number): Promise<number> {
  const rig = Number(workspace.prefix.split('.')[2]);
  const wanted = preferred ?? portRange.first + rig * portRange.perRig + (chosenPorts++ % portRange.perRig);
  const server = createServer().listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort(workspace);
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export class Kubelet {
  readonly dir: string;
  readonly nodeName: string;
  readonly rootDir: string;
  readonly certDir: string;
  readonly manifestDir: string;
  readonly podLogsDir: string;
  readonly log: LogFile;
  healthzPort = 0;
  readOnlyPort = 0;
  securePort = 0;
  readonly #workspace: RigWorkspace;
  readonly #runtimeSocket: string;
  readonly #options: KubeletOptions;
  #child: ChildProcess | undefined;
  #id: ProcessId | undefined;

  constructor(workspace: RigWorkspace, runtimeSocket: string, options: KubeletOptions) {
    const name = options.name ?? 'kubelet';
    this.#workspace = workspace;
    this.#runtimeSocket = runtimeSocket;
    this.#options = options;
    this.nodeName = options.nodeName ?? `${workspace.name}-${name}`;
    this.dir = join(workspace.dir, name);
    const dataDir = options.dataDir ?? this.dir;
    this.rootDir = join(dataDir, 'root');
    this.certDir = join(this.dir, 'pki');
    // Below a directory without other changes, as on a node, since the kubelet watches the parent directory too.
    this.manifestDir = options.manifestDir ?? join(this.dir, 'etc', 'manifests');
    this.podLogsDir = join(dataDir, 'pod-logs');
    this.log = new LogFile(join(this.dir, 'kubelet.log'));
  }

  get pid(): number | undefined {
    return this.#id?.pid;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get configPath(): string {
    return join(this.dir, 'config.json');
  }

  async #writeConfig(): Promise<void> {
    const { healthz, secure } = this.#options.ports ?? {};
    const rig = this.#workspace;
    const ports = await Promise.all([freePort(rig, healthz), freePort(rig), freePort(rig, secure)]);
    [this.healthzPort, this.readOnlyPort, this.securePort] = ports;
    const config = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      address: '127.0.0.1',
      port: this.securePort,
      healthzPort: this.healthzPort,
      readOnlyPort: this.readOnlyPort,
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      podLogsDir: this.podLogsDir,
      cgroupRoot: `/${this.#workspace.name}`,
      failSwapOn: false,
      // The machine may have cgroup v1.
      failCgroupV1: false,
      // The kubelet runs in the network namespace of the machine, whose iptables belong to the machine.
      makeIPTablesUtilChains: false,
      // The disk of the machine may be nearly full, which concerns only the tests of eviction and garbage collection.
      evictionHard: { 'memory.available': '100Mi' },
      imageGCHighThresholdPercent: 100,
      // The default directory belongs to the machine.
      volumePluginDir: join(this.dir, 'volume-plugins'),
      ...(this.#options.settingsInFile === true && {
        containerRuntimeEndpoint: `unix://${this.#runtimeSocket}`,
        logging: { verbosity: this.#options.verbosity ?? 2 },
      }),
      ...this.#options.config,
    };
    writeFileSync(this.configPath, JSON.stringify(config, null, 2));
  }

  /** Starts the command, also again after an exit with the same directories. Resolves when it responds on its ports. */
  async start(
    options: {
      readonly untilReady?: boolean;
      /** Leaves the configuration file as it is, with its ports. */
      readonly keepConfig?: boolean;
    } = {},
  ): Promise<void> {
    if (this.running) throw new Error('the kubelet is already running');
    for (const dir of [this.dir, this.rootDir, this.manifestDir, this.podLogsDir])
      mkdirSync(dir, { recursive: true });
    if (options.keepConfig !== true) await this.#writeConfig();
    const settings = [
      `--container-runtime-endpoint=unix://${this.#runtimeSocket}`,
      `--v=${this.#options.verbosity ?? 2}`,
    ];
    const flags = [
      `--config=${this.configPath}`,
      `--root-dir=${this.rootDir}`,
      // Not a flag of the Go kubelet.
      ...(this.#options.command === undefined ? [`--device-plugin-dir=${this.rootDir}/device-plugins`] : []),
      `--cert-dir=${this.certDir}`,
      `--pod-manifest-path=${this.manifestDir}`,
      `--hostname-override=${this.nodeName}`,
      ...(this.#options.settingsInFile === true ? [] : settings),
      ...(this.#options.flags ?? []),
    ];
    const log = openSync(this.log.path, 'a');
    const command = this.#options.command ?? join(repositoryRoot(), 'bin', 'kubelet');
    const { umask } = this.#options;
    const [program, args] =
      umask === undefined
        ? [command, flags]
        : ['sh', ['-c', `umask ${umask} && exec "$0" "$@"`, command, ...flags]];
    const child = spawn(program, args, {
      stdio: ['ignore', log, log],
      env: { ...process.env, ...this.#options.env },
      detached: true,
    });
    closeSync(log);
    this.#child = child;
    await once(child, 'spawn');
    this.#id = child.pid === undefined ? undefined : identify(child.pid);
    if (options.untilReady !== false) await this.waitUntilReady();
  }

  async waitUntilReady(timeoutMs = 20_000): Promise<void> {
    const answers = async (): Promise<boolean> => {
      if (!this.running) throw new Error(`the kubelet exited: ${this.log.lines().slice(-5).join('\n')}`);
      await this.pods();
      return this.healthz().then(() => true);
    };
    await waitFor(answers, 'the kubelet to respond', timeoutMs);
  }

  /** Sends the signal and waits for the exit; kills the process after the timeout. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', timeoutMs = 15_000): Promise<Exit> {
    const child = this.#child;
    if (child === undefined || this.#id === undefined) throw new Error('the kubelet was never started');
    if (this.running) {
      const ended = once(child, 'exit');
      signalProcess(this.#id, signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
      await ended;
      clearTimeout(timer);
    }
    return { code: child.exitCode, signal: child.signalCode };
  }

  async kill9(): Promise<void> {
    await this.stop('SIGKILL');
  }

  /** Suspends the process until resume(), as a loaded machine may. */
  pause(): void {
    if (this.#id !== undefined) signalProcess(this.#id, 'SIGSTOP');
  }

  resume(): void {
    if (this.#id !== undefined) signalProcess(this.#id, 'SIGCONT');
  }

  /** CPU time since the start, and current memory. */
  usage(): KubeletUsage {
    const fields = statFields(this.pid ?? 0);
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { cpuSeconds: ticks / 100, rssBytes: Number(fields[21]) * 4096 };
  }

  async get(port: number, path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(10_000) });
  }

  /** GET on the secure port, without verifying the server's certificate. */
  secure(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const options = {
      host: '127.0.0.1',
      port: this.securePort,
      path,
      rejectUnauthorized: false,
      agent: false,
      ...this.#options.client,
    };
    return new Promise((resolve, reject) => {
      const request = httpsRequest({ ...options, signal: AbortSignal.timeout(10_000) }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        response.on('error', reject);
      });
      request.on('error', reject);
      request.end();
    });
  }

  async healthz(): Promise<{ readonly status: number; readonly text: string }> {
    const response = await this.get(this.healthzPort, '/healthz');
    return { status: response.status, text: await response.text() };
  }

  /** The items of /pods. */
  async pods(): Promise<readonly Pod[]> {
    const { status, text } = await (this.#options.client === undefined
      ? this.#readOnly()
      : this.secure('/pods'));
    if (status !== 200) throw new Error(`GET /pods returned ${status}`);
    const list = JSON.parse(text) as { readonly items?: readonly Pod[] | null };
    return list.items ?? [];
  }

  async #readOnly(): Promise<{ readonly status: number; readonly text: string }> {
    const response = await this.get(this.readOnlyPort, '/pods');
    return { status: response.status, text: await response.text() };
  }

  /** The pod of the manifest of this name; the kubelet appends the node's name. */
  async pod(name: string): Promise<Pod | undefined> {
    const pods = await this.pods();
    return pods.find((pod) => pod.metadata?.name === `${name}-${this.nodeName}`);
  }

  manifestPath(name: string): string {
    return join(this.manifestDir, extname(name) === '' ? `${name}.yaml` : name);
  }

  /** Writes a manifest atomically: an object as JSON, a string as it is. */
  writeManifest(name: string, manifest: Pod | string): void {
    mkdirSync(this.manifestDir, { recursive: true });
    const fresh = join(this.dir, `.${name}.fresh`);
    writeFileSync(fresh, typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
    renameSync(fresh, this.manifestPath(name));
  }

  removeManifest(name: string): void {
    if (!existsSync(this.manifestPath(name))) throw new Error(`no manifest ${name}`);
    rmSync(this.manifestPath(name));
  }
}

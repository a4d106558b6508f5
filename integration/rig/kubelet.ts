// The built kubelet command as a child process, standalone, with folders, ports and a configuration of its own.
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
  /** Several kubelets on one rig need several names. */
  readonly name?: string;
  readonly nodeName?: string;
  readonly verbosity?: number;
  /** Outlives the rig when it lies elsewhere than the rig. */
  readonly manifestDir?: string;
  /** Taken when they are free, others when not. */
  readonly ports?: { readonly healthz: number; readonly secure: number };
  /** With this certificate the secure port is asked; the read-only one by default. */
  readonly client?: { readonly cert: string; readonly key: string };
  /** Fields of the configuration file that replace or extend the rig's. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Flags after those of the rig, so that they win. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** In octal digits; the test's own when absent. */
  readonly umask?: string;
  /** Another kubelet than the one that was built, for measuring side by side. */
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

/** A port that was free a moment ago: the wanted one, or any. */
async function freePort(wanted = 0): Promise<number> {
  const server = createServer().listen(wanted, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return freePort();
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
    this.rootDir = join(this.dir, 'root');
    this.certDir = join(this.dir, 'pki');
    // Below a directory in which nothing else happens, as on a node: the kubelet watches that one, too.
    this.manifestDir = options.manifestDir ?? join(this.dir, 'etc', 'manifests');
    this.podLogsDir = join(this.dir, 'pod-logs');
    this.log = new LogFile(join(this.dir, 'kubelet.log'));
  }

  get pid(): number | undefined {
    return this.#id?.pid;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async #writeConfig(): Promise<string> {
    const { healthz, secure } = this.#options.ports ?? {};
    const ports = await Promise.all([freePort(healthz), freePort(), freePort(secure)]);
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
      ...this.#options.config,
    };
    const path = join(this.dir, 'config.json');
    writeFileSync(path, JSON.stringify(config, null, 2));
    return path;
  }

  /** Starts the command, again after an end, with the same folders. Resolves when it answers on its ports. */
  async start(options: { readonly untilReady?: boolean } = {}): Promise<void> {
    if (this.running) throw new Error('the kubelet is already running');
    for (const dir of [this.rootDir, this.manifestDir, this.podLogsDir]) mkdirSync(dir, { recursive: true });
    const flags = [
      `--config=${await this.#writeConfig()}`,
      `--root-dir=${this.rootDir}`,
      `--cert-dir=${this.certDir}`,
      `--pod-manifest-path=${this.manifestDir}`,
      `--container-runtime-endpoint=unix://${this.#runtimeSocket}`,
      `--hostname-override=${this.nodeName}`,
      `--v=${this.#options.verbosity ?? 2}`,
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
      if (!this.running) throw new Error(`the kubelet ended: ${this.log.lines().slice(-5).join('\n')}`);
      await this.pods();
      return this.healthz().then(() => true);
    };
    await waitFor(answers, 'the kubelet to answer', timeoutMs);
  }

  /** Sends the signal and waits for the end; kills it when that takes too long. */
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

  /** Stops the process in its tracks, as a machine under load may; resume() lets it go on. */
  pause(): void {
    if (this.#id !== undefined) signalProcess(this.#id, 'SIGSTOP');
  }

  resume(): void {
    if (this.#id !== undefined) signalProcess(this.#id, 'SIGCONT');
  }

  /** CPU time since its start and memory now. */
  usage(): KubeletUsage {
    const fields = statFields(this.pid ?? 0);
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { cpuSeconds: ticks / 100, rssBytes: Number(fields[21]) * 4096 };
  }

  async get(port: number, path: string): Promise<Response> {
    return fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(10_000) });
  }

  /** On the secure port, by a client that does not check its certificate. */
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
    if (status !== 200) throw new Error(`/pods answered ${status}`);
    const list = JSON.parse(text) as { readonly items?: readonly Pod[] | null };
    return list.items ?? [];
  }

  async #readOnly(): Promise<{ readonly status: number; readonly text: string }> {
    const response = await this.get(this.readOnlyPort, '/pods');
    return { status: response.status, text: await response.text() };
  }

  /** The pod of a manifest with this name: the kubelet appends the node's name. */
  async pod(name: string): Promise<Pod | undefined> {
    const pods = await this.pods();
    return pods.find((pod) => pod.metadata?.name === `${name}-${this.nodeName}`);
  }

  manifestPath(name: string): string {
    return join(this.manifestDir, extname(name) === '' ? `${name}.yaml` : name);
  }

  /** Puts a manifest into the folder at one stroke: an object as JSON, a string as it is. */
  writeManifest(name: string, manifest: Pod | string): void {
    mkdirSync(this.manifestDir, { recursive: true });
    const fresh = join(this.dir, `.${name}.fresh`);
    writeFileSync(fresh, typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
    renameSync(fresh, this.manifestPath(name));
  }

  removeManifest(name: string): void {
    if (!existsSync(this.manifestPath(name))) throw new Error(`there is no manifest ${name}`);
    rmSync(this.manifestPath(name));
  }
}

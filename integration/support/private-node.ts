// A private node for unit files with fixed paths and ports: mount and network namespaces in which /var/lib, /var/log, /run
// and /usr/libexec are empty and /etc is a copy. Nothing written there reaches the host, and all of it ends with the last
// process of the namespaces, which the kernel kills when this process ends.
// Invariant: only a process that has left the host's mount namespace mounts anything.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Exit } from '../rig/kubelet.ts';
import { LogFile } from '../rig/log-file.ts';
import { findProgram } from '../rig/prerequisites.ts';
import { mustRun } from '../rig/process.ts';
import { repositoryRoot } from '../rig/repository.ts';
import { type Rig, startRig } from '../rig/rig.ts';
import type { RigWorkspace } from '../rig/workspace.ts';

/** unshare(1) makes every mount private, so that these are not visible outside. */
const prepare = `set -e
for dir in /var/lib /var/log /run; do mount -t tmpfs -o mode=755 tmpfs "$dir"; done
# The kubelet creates the directory of FlexVolume drivers there.
if [ -d /usr/libexec ]; then mount -t tmpfs -o mode=755 tmpfs /usr/libexec; fi
cp -a /etc /run/etc
mount --bind /run/etc /etc
eval "$0"
ip link set lo up
for address in "$@"; do ip address add "$address" dev lo; done
echo ready
exec cat`;

type Kind = 'mount' | 'net';

/** An HTTP client that runs on the node; other clients are not available on every machine. */
const ask = `const response = await fetch(process.argv[1], { signal: AbortSignal.timeout(5000) });
if (!response.ok) throw new Error(String(response.status));
process.stdout.write(await response.text());`;

const builtCommand = join(repositoryRoot(), 'bin', 'kubelet');

/** The kernel kills such a process when this process ends. */
const leash = ['--pdeathsig', 'KILL'];

/** A kubelet on a private node, started exactly as a unit file specifies. */
export class UnitProcess {
  readonly log: LogFile;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, log: LogFile) {
    this.#child = child;
    this.log = log;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Sends SIGTERM; kills the process after the timeout. */
  async stop(timeoutMs = 15_000): Promise<Exit> {
    if (this.running) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), timeoutMs);
      await ended;
      clearTimeout(timer);
    }
    return { code: this.#child.exitCode, signal: this.#child.signalCode };
  }
}

interface PrivateNodeOptions {
  /** Keeps the network of the host, for an API server on a loopback port. */
  readonly sharesNetwork?: boolean;
  /** Commands of the shell that run in the mount namespace after the private directories are mounted. */
  readonly setUp?: string;
}

export class PrivateNode {
  readonly #workspace: RigWorkspace;
  readonly #addresses: readonly string[];
  readonly #options: PrivateNodeOptions;
  #holder: ChildProcess | undefined;
  #started = 0;

  /** `addresses` are added to the loopback addresses of the node. */
  constructor(workspace: RigWorkspace, addresses: readonly string[], options: PrivateNodeOptions = {}) {
    this.#workspace = workspace;
    this.#addresses = addresses;
    this.#options = options;
  }

  /** The path, outside of the node, of a path on the node. */
  outside(path: string): string {
    return join(`/proc/${this.#pid()}/root`, path);
  }

  #pid(): number {
    const pid = this.#holder?.pid;
    if (pid === undefined) throw new Error('the private node is not started');
    return pid;
  }

  async start(): Promise<void> {
    const { setUp = 'true' } = this.#options;
    const spaces = this.#kinds().map((kind) => `--${kind}`);
    const args = [...leash, 'unshare', ...spaces, 'sh', '-c', prepare, setUp, ...this.#addresses];
    const holder = spawn('setpriv', args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#holder = holder;
    const [first] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])) as unknown[];
    if (String(first).trim() !== 'ready') throw new Error(`failed to start the private node: ${first}`);
  }

  #kinds(): readonly Kind[] {
    return this.#options.sharesNetwork === true ? ['mount'] : ['mount', 'net'];
  }

  #enter(...kinds: readonly Kind[]): readonly string[] {
    const files = { mount: 'mnt', net: 'net' } as const;
    return ['nsenter', ...kinds.map((kind) => `--${kind}=/proc/${this.#pid()}/ns/${files[kind]}`), '--'];
  }

  /** A rig whose containerd uses the files of this node; its network is the host's, as a bridge requires. */
  async startRig(): Promise<Rig> {
    const containerd = findProgram('containerd') ?? 'containerd';
    const path = process.env['PATH'];
    process.env['PATH'] = `${dirname(this.command('containerd', containerd))}:${path}`;
    try {
      return await startRig({ workspace: this.#workspace });
    } finally {
      process.env['PATH'] = path;
    }
  }

  /** Writes a program outside of the node that runs `program` with the files of the node. Returns its path. */
  command(name: string, program: string): string {
    const path = join(this.#workspace.dir, 'private-bin', name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\nexec ${this.#enter('mount').join(' ')} ${program} "$@"\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** Writes a file on the node and creates its parent directories. */
  write(path: string, text: string): void {
    mkdirSync(dirname(this.outside(path)), { recursive: true });
    writeFileSync(this.outside(path), text);
  }

  /** Runs a program on the node to its end. */
  async run(program: string, ...args: readonly string[]): Promise<string> {
    const [nsenter = '', ...rest] = this.#enter(...this.#kinds());
    return mustRun(nsenter, [...rest, program, ...args], 10_000);
  }

  /** GET on a loopback port of the node; throws on any status but 200. */
  async get(port: number, path: string): Promise<string> {
    const url = `http://127.0.0.1:${port}${path}`;
    return this.run(process.execPath, '--input-type=module', '--eval', ask, url);
  }

  /** `command` is another kubelet than the built one. */
  async kubelet(argv: readonly string[], command = builtCommand): Promise<UnitProcess> {
    this.#started += 1;
    const log = new LogFile(join(this.#workspace.dir, `unit-${this.#started}.log`));
    const out = openSync(log.path, 'a');
    const child = spawn('setpriv', [...leash, ...this.#enter(...this.#kinds()), command, ...argv], {
      stdio: ['ignore', out, out],
    });
    closeSync(out);
    await once(child, 'spawn');
    return new UnitProcess(child, log);
  }

  async stop(): Promise<void> {
    const holder = this.#holder;
    if (holder === undefined || holder.exitCode !== null || holder.signalCode !== null) return;
    const ended = once(holder, 'exit');
    holder.stdin?.end();
    await ended;
  }
}

// The NFS server of this machine's kernel, for one test file: exports one directory on loopback, and can be blocked by
// the firewall. There is one such server per kernel, so no other process may use it at the same time.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { findProgram } from '../rig/prerequisites.ts';
import { mustRun, run } from '../rig/process.ts';

const address = '127.0.0.1';
const wall = ['INPUT', '-i', 'lo', '-p', 'tcp', '--dport', '2049', '-j', 'DROP'];
const programs = ['mount.nfs', 'rpc.nfsd', 'rpc.mountd', 'exportfs'];

/** Undefined if this machine can run it. */
export function nfsUnavailableReason(): string | undefined {
  const missing = programs.filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) return `${missing.join(', ')} not found`;
  if (Number(textOf('/proc/fs/nfsd/threads')) > 0) return 'this machine already serves NFS';
  for (const module of ['nfs', 'nfsd', 'nfsv4']) spawnSync('modprobe', [module]);
  const known = readFileSync('/proc/filesystems', 'utf8');
  return /\bnfs4\b/.test(known) && /\bnfsd\b/.test(known) ? undefined : 'this kernel does not support NFS';
}

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

export class NfsServer {
  readonly address = address;
  readonly #directory: string;
  #mountd: ChildProcess | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async start(): Promise<void> {
    mkdirSync('/var/lib/nfs/v4recovery', { recursive: true });
    if (!existsSync('/proc/fs/nfsd/threads')) await mustRun('mount', ['-t', 'nfsd', 'nfsd', '/proc/fs/nfsd']);
    this.#mountd = spawn('rpc.mountd', ['--foreground', '--no-nfs-version', '3'], { stdio: 'ignore' });
    const options = 'rw,no_root_squash,no_subtree_check,insecure,fsid=0';
    await mustRun('exportfs', ['-o', options, `${address}:${this.#directory}`]);
    // Files cannot be opened during the grace period, in which clients of an earlier server may reclaim their state.
    await mustRun('rpc.nfsd', [
      '--no-nfs-version',
      '3',
      '--grace-time',
      '10',
      '--lease-time',
      '10',
      '--host',
      address,
      '4',
    ]);
  }

  async stop(): Promise<void> {
    await run('rpc.nfsd', ['0']);
    await run('exportfs', ['-u', `${address}:${this.#directory}`]);
    this.#mountd?.kill();
  }

  async fallSilent(): Promise<void> {
    await mustRun('iptables', ['-I', ...wall]);
  }

  async answerAgain(): Promise<void> {
    await run('iptables', ['-D', ...wall]);
  }
}

// Clients of exec, attach and port-forward: kubectl as a child process, and a WebSocket to the kubelet's secure port.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { WebSocket } from 'ws';
import type { Kubelet } from '../rig/kubelet.ts';
import { type Cluster, kubectlProgram } from './cluster.ts';

interface Ended {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

export function startKubectl(cluster: Cluster, args: readonly string[], stdin?: Buffer): Running {
  return start(cluster, kubectlProgram, args, stdin);
}

/** Runs kubectl on a terminal. */
export function onTerminal(cluster: Cluster, args: readonly string[]): Promise<Ended> {
  const quoted = [kubectlProgram, ...args].map((each) => `'${each}'`).join(' ');
  return start(cluster, 'script', ['-qec', quoted, '/dev/null']).ended;
}

function start(cluster: Cluster, program: string, args: readonly string[], stdin?: Buffer): Running {
  const child = spawn(program, [...args], { env: cluster.kubectlEnv, timeout: 90_000 });
  // It may exit before it has read all of its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  const exited = once(child, 'close');
  const ended = Promise.all([buffer(child.stdout), buffer(child.stderr), exited]).then(
    ([stdout, stderr]): Ended => ({ code: child.exitCode, stdout, stderr: stderr.toString() }),
  );
  return { child, ended };
}

export function kubectl(cluster: Cluster, args: readonly string[], stdin?: Buffer): Promise<Ended> {
  return startKubectl(cluster, args, stdin).ended;
}

interface Channels {
  /** The output by channel: 1 stdout, 2 stderr, 3 status. */
  readonly output: Readonly<Record<number, string>>;
  readonly protocol: string;
  /** The close code; 1006 for a connection without a close frame. */
  readonly code: number;
}

export interface SocketExec {
  readonly socket: WebSocket;
  /** The output so far, by channel. */
  readonly output: Channels['output'];
  send(channel: number, text: string): void;
  /** Resolves with all output when the connection has ended. */
  readonly ended: Promise<Channels>;
}

/** Runs a command over a WebSocket, with the administrator's certificate. The runtime speaks v4, the kubelet v5. */
export async function webSocketExec(
  cluster: Pick<Cluster, 'admin'>,
  kubelet: Kubelet,
  where: string,
  command: readonly string[],
  streams = 'output=1&error=1',
  protocol = 'v4.channel.k8s.io',
): Promise<SocketExec> {
  const words = command.map((each) => `&command=${encodeURIComponent(each)}`).join('');
  const url = `wss://127.0.0.1:${kubelet.securePort}/exec/default/${where}?${streams}${words}`;
  const tls = { ...cluster.admin, rejectUnauthorized: false };
  const socket = new WebSocket(url, [protocol], tls);
  const output: Record<number, string> = {};
  socket.on('message', (data: Buffer) => {
    const channel = data[0] ?? -1;
    output[channel] = (output[channel] ?? '') + data.subarray(1).toString();
  });
  const ended = new Promise<Channels>((resolve) => {
    socket.once('close', (code) => resolve({ output, code, protocol: socket.protocol }));
  });
  await once(socket, 'open');
  return {
    socket,
    output,
    ended,
    send: (channel, text) =>
      socket.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text, 'latin1')])),
  };
}

/** The open TCP connections of a process as `local → remote` ports, except for those with a port of `others`. */
export function openConnections(pid: number, others: readonly number[]): readonly string[] {
  const inodes = socketInodes(pid);
  return readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => inodes.has(fields[9] ?? 'none'))
    .map(([, local = '', remote = '']) => [portOf(local), portOf(remote)] as const)
    .filter(([local, remote]) => remote !== 0 && !others.includes(local) && !others.includes(remote))
    .map(([local, remote]) => `${local} → ${remote}`);
}

/** The port of an address like `0100007F:2742`. */
function portOf(address: string): number {
  return Number.parseInt(address.split(':')[1] ?? '', 16);
}

function socketInodes(pid: number): ReadonlySet<string> {
  const directory = `/proc/${pid}/fd`;
  const inodes = readdirSync(directory).map((name) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${directory}/${name}`))?.[1] ?? '';
    } catch {
      // Closed meanwhile.
      return '';
    }
  });
  return new Set(inodes);
}

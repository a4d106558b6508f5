// The kubelets that run on this machine, of this and of other implementations, by their command lines.
// Invariants: the command line of a process is read only if its name can be that of a kubelet: reading it can block while the
// kernel changes the memory of the process. A process of a container with PIDs of its own is no kubelet of this machine: every
// image can call its program kubelet.
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { readHead } from './read-head.ts';

interface FoundKubelet {
  readonly pid: number;
  /** Without the program. */
  readonly args: readonly string[];
}

/** The names of the Go kubelet, and of Node.js of every version. */
const processNames = /^(kubelet|node|nodejs|MainThread|node-MainThread)$/;
const longestCommandLine = 128 * 1024;
const batch = 64;

export async function findKubelets(ownPid: number, proc = '/proc'): Promise<readonly FoundKubelet[]> {
  const pids = (await readdir(proc)).filter((name) => /^[0-9]+$/.test(name) && Number(name) !== ownPid);
  const found: FoundKubelet[] = [];
  for (let at = 0; at < pids.length; at += batch) {
    const some = await Promise.all(pids.slice(at, at + batch).map((pid) => readKubelet(proc, pid)));
    found.push(...some.flat());
  }
  return found;
}

async function readKubelet(proc: string, pid: string): Promise<readonly FoundKubelet[]> {
  try {
    const name = (await readFile(`${proc}/${pid}/comm`, 'utf8')).trim();
    if (!processNames.test(name)) return [];
    if (isInNestedPidNamespace(await readFile(`${proc}/${pid}/status`, 'utf8'))) return [];
    // A process can make its command line as large as its memory.
    const text = await readHead(`${proc}/${pid}/cmdline`, longestCommandLine + 1);
    if (text.length > longestCommandLine) return [];
    const args = kubeletArguments(text.replace(/\0$/, '').split('\0'));
    return args === undefined ? [] : [{ pid: Number(pid), args }];
  } catch {
    // It has ended.
    return [];
  }
}

/** By /proc/PID/status: the process has PIDs in more namespaces than that of the mounted /proc. */
function isInNestedPidNamespace(status: string): boolean {
  return /^NSpid:\t\d+\t/m.test(status);
}

/**
 * What follows the program, if it is a kubelet: the Go binary, or Node.js with the bundle. The Node.js of the package has the
 * name kubelet, too.
 */
export function kubeletArguments(argv: readonly string[]): readonly string[] | undefined {
  const [program = '', ...args] = argv;
  const name = basename(program);
  if (!/^(kubelet|node|nodejs)$/.test(name)) return undefined;
  const script = args.findIndex((each) => !each.startsWith('-'));
  const path = args[script] ?? '';
  if (basename(path) === 'main.mjs' && path.includes('kubelet')) return args.slice(script + 1);
  return name === 'kubelet' ? args : undefined;
}

// The kubelets that run on this machine, of this and of other implementations, by their command lines.
// Invariant: the command line of a process is read only if its name can be that of a kubelet: reading it can block while the
// kernel changes the memory of the process.
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';

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
    const text = await readFile(`${proc}/${pid}/cmdline`, 'utf8');
    if (text.length > longestCommandLine) return [];
    const args = kubeletArguments(text.replace(/\0$/, '').split('\0'));
    return args === undefined ? [] : [{ pid: Number(pid), args }];
  } catch {
    // It has ended.
    return [];
  }
}

/** What follows the program, if it is a kubelet: the Go binary, or Node.js with the bundle. */
export function kubeletArguments(argv: readonly string[]): readonly string[] | undefined {
  const [program = '', ...args] = argv;
  if (basename(program) === 'kubelet') return args;
  if (!/^node(js)?$/.test(basename(program))) return undefined;
  const script = args.findIndex((each) => !each.startsWith('-'));
  const path = args[script] ?? '';
  return basename(path) === 'main.mjs' && path.includes('kubelet') ? args.slice(script + 1) : undefined;
}

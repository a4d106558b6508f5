// Reads and sets the limit of open files of a process. Upstream: pkg/util/rlimit.
import { readFile } from 'node:fs/promises';
import { KubeletError } from '../../base/errors.ts';
import { loadSyscalls } from '../syscalls/syscalls.ts';
import { hostError } from '../syscalls/syscalls-errors.ts';

interface OpenFileLimits {
  readonly soft: number;
  readonly hard: number;
}

/** Sets the soft and the hard limit. Raising the hard one needs CAP_SYS_RESOURCE. */
export async function setOpenFiles(limit: number, options: { readonly pid?: number } = {}): Promise<void> {
  const { pid } = options;
  const now = await readOpenFiles(pid);
  if (now.soft === limit && now.hard === limit) return;
  const fail = (cause: KubeletError): KubeletError =>
    new KubeletError(
      cause.kind,
      cause.reason,
      `cannot set the limit of open files from ${now.soft} to ${limit}`,
      {
        cause,
        details: { ...now, limit },
      },
    );
  // Checked first, so that native code is not loaded on a machine where it cannot succeed.
  if (limit > now.hard && !(await mayRaiseLimits()))
    throw fail(new KubeletError('forbidden', 'EPERM', `raising it above ${now.hard} needs CAP_SYS_RESOURCE`));
  const syscalls = await loadSyscalls();
  try {
    syscalls.setOpenFileLimit(pid ?? 0, limit);
  } catch (err) {
    throw err instanceof KubeletError ? fail(err) : err;
  }
}

export async function readOpenFiles(pid?: number): Promise<OpenFileLimits> {
  const path = `/proc/${pid ?? 'self'}/limits`;
  const text = await readFile(path, 'utf8').catch((err: unknown) => {
    throw hostError(err, `cannot read ${path}`, { path });
  });
  const limits = parseOpenFiles(text);
  if (limits === undefined)
    throw new KubeletError('internal', 'NoOpenFileLimit', `${path} has no limit of open files`);
  return limits;
}

export function parseOpenFiles(text: string): OpenFileLimits | undefined {
  const [, soft, hard] = /^Max open files +(\S+) +(\S+)/m.exec(text) ?? [];
  if (soft === undefined || hard === undefined) return undefined;
  return { soft: limitOf(soft), hard: limitOf(hard) };
}

function limitOf(text: string): number {
  return text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
}

const capSysResource = 24n;

async function mayRaiseLimits(): Promise<boolean> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const capabilities = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  // If unknown, setrlimit is tried.
  return capabilities === undefined || ((BigInt(`0x${capabilities}`) >> capSysResource) & 1n) === 1n;
}

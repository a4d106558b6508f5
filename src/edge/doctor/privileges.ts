// The user and the capabilities of this process.
import { readFile } from 'node:fs/promises';

/** The capabilities that the kubelet and its volumes use, by their bit. */
const needed: readonly (readonly [name: string, bit: bigint])[] = [
  ['CAP_CHOWN', 0n],
  ['CAP_DAC_OVERRIDE', 1n],
  ['CAP_FOWNER', 3n],
  ['CAP_KILL', 5n],
  ['CAP_NET_ADMIN', 12n],
  ['CAP_SYS_PTRACE', 19n],
  ['CAP_SYS_ADMIN', 21n],
  ['CAP_SYS_RESOURCE', 24n],
];

export async function readPrivileges(): Promise<{
  readonly uid: number;
  readonly missing: readonly string[];
}> {
  return {
    uid: process.getuid?.() ?? -1,
    missing: missingCapabilities(await readFile('/proc/self/status', 'utf8')),
  };
}

/** From /proc/self/status: the effective set. */
export function missingCapabilities(status: string): readonly string[] {
  const digits = /^CapEff:\s*([0-9a-f]{1,16})$/m.exec(status)?.[1] ?? '0';
  const effective = BigInt(`0x${digits}`);
  return needed.filter(([, bit]) => ((effective >> bit) & 1n) === 0n).map(([name]) => name);
}

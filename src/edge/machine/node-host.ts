// The identity and the addresses of this host, for the node status. Upstream: cadvisor's machine info and version info,
// pkg/kubelet/nodestatus (LookupIP, ResolveBindAddress).
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { networkInterfaces, release } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultRouteAddresses } from './machine.ts';
import { inUserNamespace } from './user-namespace.ts';

interface HostIdentity {
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly swapBytes: number;
  readonly inUserNamespace: boolean;
}

const machineIdFiles = ['/etc/machine-id', '/var/lib/dbus/machine-id'] as const;
const systemUuidFiles = [
  '/sys/class/dmi/id/product_uuid',
  '/proc/device-tree/system-id',
  '/proc/device-tree/vm,uuid',
  '/etc/machine-id',
] as const;

/** Go's names of CPU architectures. */
const architectures: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  arm: 'arm',
  arm64: 'arm64',
  ppc64: 'ppc64le',
  riscv64: 'riscv64',
  s390x: 's390x',
};

type Resolve = (name: string) => Promise<readonly string[]>;

/** An unresponsive DNS server must not delay the node status. */
const lookupTimeoutMs = 3_000;

export const nodeHost = {
  architecture: (): string => architectures[process.arch] ?? process.arch,

  identity: async (): Promise<HostIdentity> => ({
    machineID: await firstText(machineIdFiles),
    systemUUID: await firstText(systemUuidFiles),
    bootID: await firstText(['/proc/sys/kernel/random/boot_id']),
    kernelVersion: release(),
    osImage: await osImage(),
    swapBytes: await swapBytes(),
    inUserNamespace: await inUserNamespace(),
  }),

  network: async (name: string, resolve: Resolve = resolveName, timeoutMs = lookupTimeoutMs) => ({
    hostAddresses: Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).map(({ address }) => address),
    ),
    // A name that does not resolve is not an error: the default route's address is used instead.
    nameAddresses: await noneAfter(
      resolve(name).catch(() => []),
      timeoutMs,
    ),
    defaultAddresses: await defaultRouteAddresses(),
  }),
};

async function resolveName(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

async function noneAfter(
  addresses: Promise<readonly string[]>,
  timeoutMs: number,
): Promise<readonly string[]> {
  const done = new AbortController();
  const none = sleep(timeoutMs, [], { signal: done.signal, ref: false }).catch(() => []);
  try {
    return await Promise.race([addresses, none]);
  } finally {
    done.abort();
  }
}

async function firstText(paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const text = await readFile(path, 'utf8').catch(() => '');
    const trimmed = text.replaceAll('\0', '').trim();
    if (trimmed !== '') return trimmed;
  }
  return '';
}

async function osImage(): Promise<string> {
  const text = await firstText(['/etc/os-release', '/usr/lib/os-release']);
  const name = /^PRETTY_NAME=(.*)$/m.exec(text)?.[1] ?? '';
  return name.replaceAll(/^["']|["']$/g, '') || 'Linux';
}

async function swapBytes(): Promise<number> {
  const text = await readFile('/proc/meminfo', 'utf8').catch(() => '');
  return Number(/^SwapTotal:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
}

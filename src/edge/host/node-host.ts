// What only this host can say of the node it is: its identity, its addresses, its capacity. Upstream: cadvisor's machine info
// and version info, pkg/kubelet/nodestatus (LookupIP, ResolveBindAddress).
import { lookup } from 'node:dns/promises';
import { readdir, readFile, statfs } from 'node:fs/promises';
import { availableParallelism, networkInterfaces, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { defaultRouteAddresses } from './machine.ts';

export interface HostIdentity {
  readonly machineID: string;
  readonly systemUUID: string;
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly swapBytes: number;
}

const machineIdFiles = ['/etc/machine-id', '/var/lib/dbus/machine-id'] as const;
const systemUuidFiles = [
  '/sys/class/dmi/id/product_uuid',
  '/proc/device-tree/system-id',
  '/proc/device-tree/vm,uuid',
  '/etc/machine-id',
] as const;
const hugePagesRoot = '/sys/kernel/mm/hugepages';

/** As Go names processors. */
const architectures: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  arm: 'arm',
  arm64: 'arm64',
  ppc64: 'ppc64le',
  riscv64: 'riscv64',
  s390x: 's390x',
};

export const nodeHost = {
  architecture: (): string => architectures[process.arch] ?? process.arch,

  identity: async (): Promise<HostIdentity> => ({
    machineID: await firstText(machineIdFiles),
    systemUUID: await firstText(systemUuidFiles),
    bootID: await firstText(['/proc/sys/kernel/random/boot_id']),
    kernelVersion: release(),
    osImage: await osImage(),
    swapBytes: await swapBytes(),
  }),

  network: async (name: string) => ({
    hostAddresses: Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).map(({ address }) => address),
    ),
    // A name that does not resolve is no fault: the default route's address is the next best.
    nameAddresses: await lookup(name, { all: true }).then(
      (found) => found.map(({ address }) => address),
      () => [],
    ),
    defaultAddresses: await defaultRouteAddresses(),
  }),

  capacity: async (directory: string) => {
    const { bsize, blocks } = await statfs(directory, { bigint: true });
    return {
      cores: availableParallelism(),
      memoryBytes: BigInt(totalmem()),
      storageBytes: bsize * blocks,
      hugePages: await hugePages(),
    };
  },
};

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

async function hugePages(): Promise<readonly { readonly pageBytes: bigint; readonly count: bigint }[]> {
  const names = await readdir(hugePagesRoot).catch(() => []);
  const sizes = names.flatMap((name) => {
    const kilobytes = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    return kilobytes === undefined ? [] : [{ name, pageBytes: BigInt(kilobytes) * 1024n }];
  });
  const found = sizes.map(async ({ name, pageBytes }) => {
    const count = await firstText([join(hugePagesRoot, name, 'nr_hugepages')]);
    return { pageBytes, count: /^\d+$/.test(count) ? BigInt(count) : 0n };
  });
  return await Promise.all(found);
}

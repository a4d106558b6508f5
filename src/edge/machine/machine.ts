// Facts about this machine: hostname, addresses, memory, page sizes, kernel features. Upstream: cadvisor's machine info,
// pkg/util/node.
import { readdir, readFile, stat } from 'node:fs/promises';
import { availableParallelism, hostname, networkInterfaces, release, totalmem } from 'node:os';
import { readMountTable } from '../mount/mount-table.ts';
import { inUserNamespace } from './user-namespace.ts';

export interface MachineFacts {
  readonly hostname: string;
  readonly addresses: readonly string[];
  readonly memoryBytes: bigint;
  /** In the CRI's form: 2MB, 1GB. */
  readonly hugePageSizes: readonly string[];
  /** 2 if the unified hierarchy is mounted at /sys/fs/cgroup. */
  readonly cgroupVersion: 1 | 2;
  readonly cpus?: number;
  /** Whether SELinux is enabled. */
  readonly selinux?: boolean;
  readonly appArmor?: boolean;
  /** Whether swap can be limited by cgroup. */
  readonly swapController?: boolean;
  readonly swapBytes?: bigint;
  /** As uname reports it: 6.1.0-31-amd64. */
  readonly kernelRelease?: string;
  /** As the kernel lists them: `0-3,7`. */
  readonly onlineCpus?: string;
  /** Whether this process runs in a user namespace other than the initial one. */
  readonly inUserNamespace?: boolean;
}

export async function readMachine(): Promise<MachineFacts> {
  return {
    hostname: hostname(),
    addresses: (await defaultRouteAddresses()).slice(0, 1),
    memoryBytes: BigInt(totalmem()),
    hugePageSizes: await hugePageSizes(),
    cgroupVersion: await cgroupVersion(),
    cpus: availableParallelism(),
    selinux: await matches('/sys/fs/selinux/enforce', /./),
    appArmor: await matches('/sys/module/apparmor/parameters/enabled', /^Y/),
    kernelRelease: release(),
    onlineCpus: (await readFile('/sys/devices/system/cpu/online', 'utf8').catch(() => '')).trim(),
    swapController: await swapController(),
    swapBytes: await swapBytes(),
    inUserNamespace: await inUserNamespace(),
  };
}

async function matches(path: string, pattern: RegExp): Promise<boolean> {
  return pattern.test(await readFile(path, 'utf8').catch(() => ''));
}

/** The interface of the default route; undefined on a machine without one. */
async function defaultRouteInterface(): Promise<string | undefined> {
  const table = await readFile('/proc/net/route', 'utf8').catch(() => '');
  const rows = table.split('\n').map((line) => line.split(/\s+/));
  return rows.find(
    ([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000',
  )?.[0];
}

/** One address per family, IPv4 first: of the default route's interface or, without one, of any other except loopback. */
export async function defaultRouteAddresses(): Promise<readonly string[]> {
  const preferred = await defaultRouteInterface();
  const interfaces = Object.entries(networkInterfaces());
  const ordered = [...interfaces.filter(([name]) => name === preferred), ...interfaces];
  const usable = ordered.flatMap(([, addresses]) =>
    (addresses ?? []).filter((each) => !each.internal && !each.address.startsWith('fe80:')),
  );
  const families = ['IPv4', 'IPv6'].flatMap((family) => usable.find((each) => each.family === family) ?? []);
  return families.map(({ address }) => address);
}

async function hugePageSizes(): Promise<readonly string[]> {
  const names = await readdir('/sys/kernel/mm/hugepages').catch(() => []);
  const kilobytes = names.flatMap((name) => /^hugepages-(\d+)kB$/.exec(name)?.[1] ?? []).map(Number);
  return kilobytes.toSorted((a, b) => a - b).map(pageSizeName);
}

function pageSizeName(kilobytes: number): string {
  if (kilobytes >= 1024 * 1024) return `${kilobytes / 1024 / 1024}GB`;
  return kilobytes >= 1024 ? `${kilobytes / 1024}MB` : `${kilobytes}KB`;
}

/** On v2 the file is looked up in the kubelet's own cgroup, since the root has none. */
async function swapController(): Promise<boolean> {
  if ((await cgroupVersion()) === 1) return await exists('/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes');
  const own = /^0::(.*)$/m.exec(await readFile('/proc/self/cgroup', 'utf8').catch(() => ''))?.[1] ?? '/';
  return await exists(`/sys/fs/cgroup${own}/memory.swap.max`);
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

async function swapBytes(): Promise<bigint> {
  const [, kilobytes = '0'] =
    /^SwapTotal:\s+(\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8').catch(() => '')) ?? [];
  return BigInt(kilobytes) * 1024n;
}

async function cgroupVersion(): Promise<1 | 2> {
  const mounts = await readMountTable().catch(() => []);
  const top = mounts.findLast(({ mountPoint }) => mountPoint === '/sys/fs/cgroup');
  return top?.fsType === 'cgroup2' ? 2 : 1;
}

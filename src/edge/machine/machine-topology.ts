// The NUMA nodes, sockets, cores, threads and caches of this machine. Upstream: cadvisor's sysinfo.GetNodesInfo, the input of
// the CPU, memory and topology managers. Invariant: only online CPUs are listed; a machine without NUMA is one node.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MachineCache, MachineTopology, NumaNode } from '../../api/ports/machine-topology.ts';
import { parseCpuList } from '../../api/quantity/cpu-list.ts';

const kernel = { sys: '/sys', proc: '/proc' };

export async function readMachineTopology(roots: typeof kernel = kernel): Promise<MachineTopology> {
  const devices = join(roots.sys, 'devices/system');
  const online = parseCpuList(await text(join(devices, 'cpu/online')));
  const numbers = parseCpuList(await text(join(devices, 'node/online')));
  const nodes =
    numbers.length === 0
      ? [await onlyNode(devices, online, roots)]
      : await Promise.all(numbers.map((id) => readNode(devices, id, online)));
  const threads = nodes.flatMap((node) => node.threads);
  return {
    sockets: new Set(threads.map(({ socket }) => socket)).size,
    cores: new Set(threads.map(({ core, socket }) => `${socket}/${core}`)).size,
    threads: threads.length,
    nodes,
  };
}

/** Only the IDs of the CPUs, on one node: what a kubelet without NUMA policies needs, in one read instead of twenty per CPU. */
export function flatTopology(onlineCpus: string): MachineTopology {
  const threads = parseCpuList(onlineCpus).map((id) => ({ id, core: id, socket: 0 }));
  const node = { id: 0, memoryBytes: 0n, hugePages: [], distances: [10], threads, caches: [] };
  return { sockets: 1, cores: threads.length, threads: threads.length, nodes: [node] };
}

async function readNode(devices: string, id: number, online: readonly number[]): Promise<NumaNode> {
  const directory = join(devices, `node/node${id}`);
  const own = parseCpuList(await text(join(directory, 'cpulist'))).filter((each) => online.includes(each));
  const distances = (await text(join(directory, 'distance'))).split(/\s+/).filter((word) => word !== '');
  return {
    id,
    memoryBytes: memoryTotal(await text(join(directory, 'meminfo'))),
    hugePages: await hugePages(join(directory, 'hugepages')),
    distances: distances.map(Number),
    ...(await readThreads(devices, own)),
  };
}

async function onlyNode(devices: string, online: readonly number[], roots: typeof kernel): Promise<NumaNode> {
  return {
    id: 0,
    memoryBytes: memoryTotal(await text(join(roots.proc, 'meminfo'))),
    hugePages: await hugePages(join(roots.sys, 'kernel/mm/hugepages')),
    distances: [10],
    ...(await readThreads(devices, online)),
  };
}

async function readThreads(
  devices: string,
  ids: readonly number[],
): Promise<Pick<NumaNode, 'threads' | 'caches'>> {
  const threads = await Promise.all(
    ids.map(async (id) => ({
      id,
      core: await number(join(devices, `cpu/cpu${id}/topology/core_id`)),
      socket: await number(join(devices, `cpu/cpu${id}/topology/physical_package_id`)),
    })),
  );
  const found = await Promise.all(ids.map((id) => readCaches(join(devices, `cpu/cpu${id}/cache`))));
  // A shared cache is listed by every thread that shares it.
  const caches = new Map(
    found.flat().map((cache) => [JSON.stringify([cache.level, cache.type, cache.threads]), cache]),
  );
  return { threads, caches: [...caches.values()] };
}

async function readCaches(directory: string): Promise<readonly MachineCache[]> {
  const names = (await readdir(directory).catch(() => []))
    .filter((name) => /^index\d+$/.test(name))
    .toSorted();
  return await Promise.all(
    names.map(async (name) => ({
      id: await optionalNumber(join(directory, name, 'id')),
      level: await number(join(directory, name, 'level')),
      type: await text(join(directory, name, 'type')),
      sizeBytes: cacheSize(await text(join(directory, name, 'size'))),
      threads: parseCpuList(await text(join(directory, name, 'shared_cpu_list'))),
    })),
  );
}

async function hugePages(directory: string): Promise<NumaNode['hugePages']> {
  const names = await readdir(directory).catch(() => []);
  const pools = await Promise.all(
    names.map(async (name) => ({
      sizeBytes: BigInt(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0) * 1024n,
      count: BigInt(await number(join(directory, name, 'nr_hugepages'))),
    })),
  );
  return pools
    .filter(({ sizeBytes }) => sizeBytes > 0n)
    .toSorted((a, b) => Number(a.sizeBytes - b.sizeBytes));
}

function memoryTotal(meminfo: string): bigint {
  return BigInt(/MemTotal:\s+(\d+) kB/.exec(meminfo)?.[1] ?? 0) * 1024n;
}

function cacheSize(size: string): bigint {
  const [, amount = '0', unit = ''] = /^(\d+)([KM]?)$/.exec(size) ?? [];
  return BigInt(amount) * (unit === 'K' ? 1024n : unit === 'M' ? 1024n ** 2n : 1n);
}

async function text(path: string): Promise<string> {
  return (await readFile(path, 'utf8').catch(() => '')).trim();
}

async function optionalNumber(path: string): Promise<number | undefined> {
  const found = await text(path);
  return /^\d+$/.test(found) ? Number(found) : undefined;
}

async function number(path: string): Promise<number> {
  return Number((await text(path)) || 0);
}

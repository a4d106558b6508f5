// Writes /sys/devices/system/{cpu,node} of machines that the tests do not have, in the kernel's layout: several NUMA nodes, threads,
// split L3 caches, offline CPUs, memory without CPUs.
// Invariant: like the kernel, an offline CPU has a directory, but neither topology nor caches, and is in no list but `offline`.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

interface MachineShape {
  readonly sockets: number;
  readonly nodesPerSocket: number;
  readonly coresPerNode: number;
  readonly threadsPerCore: number;
  /** L3 caches of a NUMA node; "socket": one cache for all nodes of a socket. */
  readonly cachesPerNode: number | 'socket';
  /**
   * adjacent: the threads of a core follow each other. split: the second threads follow all first ones (EPYC, Xeon).
   * interleaved: split, and neighbours are on different NUMA nodes (older Xeons).
   */
  readonly numbering: 'adjacent' | 'split' | 'interleaved';
  /** In place of 0, 1, 2 …, ascending. */
  readonly nodeIds?: readonly number[];
  readonly offlineCpus?: readonly number[];
  /** A node with memory and without CPUs: CXL, HBM. */
  readonly memoryOnlyNode?: number;
  /** Without the file `id` of caches: older kernels and some arm64 machines. */
  readonly hasCacheIds?: false;
}

interface Cpu {
  readonly id: number;
  readonly socket: number;
  /** Position of the NUMA node. */
  readonly node: number;
  /** Within the socket, as the kernel numbers cores. */
  readonly core: number;
  readonly cache: number;
}

export const machineShapes = {
  /** A virtual machine. */
  oneNode: shape({ coresPerNode: 4 }),
  oneNodeThreads: shape({ coresPerNode: 8, threadsPerCore: 2 }),
  twoSockets: shape({ sockets: 2, coresPerNode: 8 }),
  twoSocketsThreads: shape({ sockets: 2, coresPerNode: 8, threadsPerCore: 2, numbering: 'interleaved' }),
  /** EPYC in NPS2: 4 NUMA nodes with 2 core complexes each. */
  epyc: shape({ sockets: 2, nodesPerSocket: 2, coresPerNode: 8, threadsPerCore: 2, cachesPerNode: 2 }),
  epycWithoutThreads: shape({ sockets: 1, nodesPerSocket: 4, coresPerNode: 6, cachesPerNode: 2 }),
  /** Sub-NUMA clustering: two nodes share the L3 cache of a socket. */
  subNumaClusters: shape({ nodesPerSocket: 2, coresPerNode: 4, threadsPerCore: 2, cachesPerNode: 'socket' }),
  sparseNodes: shape({
    sockets: 2,
    coresPerNode: 2,
    threadsPerCore: 4,
    numbering: 'adjacent',
    nodeIds: [0, 8],
  }),
  offlineCpus: shape({ sockets: 2, coresPerNode: 4, threadsPerCore: 2, offlineCpus: [3, 8, 9] }),
  /** One cache per node, which is an uncore cache only where a CPU is offline. */
  offlineInSockets: shape({
    sockets: 2,
    nodesPerSocket: 2,
    coresPerNode: 4,
    threadsPerCore: 2,
    offlineCpus: [21],
  }),
  memoryOnlyNode: shape({ sockets: 2, coresPerNode: 2, memoryOnlyNode: 2 }),
  withoutCacheIds: shape({ sockets: 2, coresPerNode: 4, cachesPerNode: 2, hasCacheIds: false }),
} as const satisfies Readonly<Record<string, MachineShape>>;

function shape(values: Partial<MachineShape>): MachineShape {
  const one = { sockets: 1, nodesPerSocket: 1, coresPerNode: 1, threadsPerCore: 1 };
  return { ...one, cachesPerNode: 1, numbering: 'split', ...values };
}

/** Writes below `root`, which takes the place of /sys. */
export function writeSysTree(root: string, machine: MachineShape): void {
  const cpus = cpusOf(machine);
  const isOffline = ({ id }: Cpu): boolean => machine.offlineCpus?.includes(id) ?? false;
  const online = cpus.filter((cpu) => !isOffline(cpu));
  const files = {
    ...cpuLists(cpus, online),
    ...Object.assign(
      {},
      ...online.map((cpu) => ({ ...topologyFiles(cpu, online), ...cacheFiles(cpu, online, machine) })),
    ),
    ...nodeFiles(machine, online),
  } as Readonly<Record<string, string>>;
  const base = join(root, 'devices/system');
  for (const cpu of cpus.filter(isOffline)) mkdirSync(join(base, `cpu/cpu${cpu.id}`), { recursive: true });
  const directories = new Set(Object.keys(files).map((path) => dirname(join(base, path))));
  for (const directory of directories) mkdirSync(directory, { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(base, path), `${text}\n`);
  linkCpus(base, machine, cpus);
}

/** The links of a node to its CPUs, offline ones included. */
function linkCpus(base: string, machine: MachineShape, cpus: readonly Cpu[]): void {
  const ids = nodeIdsOf(machine);
  for (const { id, node } of cpus)
    symlinkSync(`../../cpu/cpu${id}`, join(base, `node/node${ids[node]}/cpu${id}`));
}

function nodeIdsOf({ nodeIds, nodesPerSocket, sockets }: MachineShape): readonly number[] {
  return nodeIds ?? Array.from({ length: sockets * nodesPerSocket }, (_, at) => at);
}

function cpusOf(machine: MachineShape): readonly Cpu[] {
  const { cachesPerNode, coresPerNode, nodesPerSocket, numbering, sockets, threadsPerCore } = machine;
  const nodes = sockets * nodesPerSocket;
  const cores = nodes * coresPerNode;
  const cpus = Array.from({ length: cores * threadsPerCore }, (_, at) => {
    const node = Math.floor(at / threadsPerCore / coresPerNode);
    const own = Math.floor(at / threadsPerCore) % coresPerNode;
    const thread = at % threadsPerCore;
    const socket = Math.floor(node / nodesPerSocket);
    const first = numbering === 'interleaved' ? own * nodes + node : node * coresPerNode + own;
    return {
      id: numbering === 'adjacent' ? at : thread * cores + first,
      socket,
      node,
      core: (node % nodesPerSocket) * coresPerNode + own,
      cache:
        cachesPerNode === 'socket'
          ? socket
          : node * cachesPerNode + Math.floor((own * cachesPerNode) / coresPerNode),
    };
  });
  return cpus.toSorted((a, b) => a.id - b.id);
}

function cpuLists(cpus: readonly Cpu[], online: readonly Cpu[]): Record<string, string> {
  const offline = cpus.filter((cpu) => !online.includes(cpu));
  return {
    'cpu/possible': list(cpus),
    'cpu/present': list(cpus),
    'cpu/online': list(online),
    'cpu/offline': list(offline),
    // x86 cannot turn off the first CPU, which has no such file.
    ...Object.fromEntries(
      cpus
        .filter(({ id }) => id > 0)
        .map((cpu) => [`cpu/cpu${cpu.id}/online`, online.includes(cpu) ? '1' : '0']),
    ),
  };
}

function topologyFiles(cpu: Cpu, online: readonly Cpu[]): Record<string, string> {
  const directory = `cpu/cpu${cpu.id}/topology`;
  const ofSocket = online.filter(({ socket }) => socket === cpu.socket);
  const ofCore = ofSocket.filter(({ core }) => core === cpu.core);
  return {
    [`${directory}/core_id`]: `${cpu.core}`,
    [`${directory}/die_id`]: '0',
    [`${directory}/physical_package_id`]: `${cpu.socket}`,
    [`${directory}/core_cpus_list`]: list(ofCore),
    [`${directory}/thread_siblings_list`]: list(ofCore),
    [`${directory}/core_siblings_list`]: list(ofSocket),
    [`${directory}/package_cpus_list`]: list(ofSocket),
  };
}

function cacheFiles(cpu: Cpu, online: readonly Cpu[], { hasCacheIds }: MachineShape): Record<string, string> {
  const ofCore = online.filter(({ core, socket }) => core === cpu.core && socket === cpu.socket);
  const ofCache = online.filter(({ cache }) => cache === cpu.cache);
  const own = Math.min(...ofCore.map(({ id }) => id));
  const caches = [
    { level: 1, type: 'Data', size: '32K', id: own, cpus: ofCore },
    { level: 1, type: 'Instruction', size: '32K', id: own, cpus: ofCore },
    { level: 2, type: 'Unified', size: '1024K', id: own, cpus: ofCore },
    { level: 3, type: 'Unified', size: '32768K', id: cpu.cache, cpus: ofCache },
  ];
  const files = caches.flatMap(({ cpus, id, level, size, type }, index) => {
    const directory = `cpu/cpu${cpu.id}/cache/index${index}`;
    const entries = { level: `${level}`, type, size, shared_cpu_list: list(cpus), shared_cpu_map: map(cpus) };
    const all = hasCacheIds === false ? entries : { ...entries, id: `${id}` };
    return Object.entries(all).map(([name, text]) => [`${directory}/${name}`, text]);
  });
  return Object.fromEntries(files) as Record<string, string>;
}

function nodeFiles(machine: MachineShape, online: readonly Cpu[]): Record<string, string> {
  const { memoryOnlyNode, nodesPerSocket } = machine;
  const ids = nodeIdsOf(machine);
  const all = memoryOnlyNode === undefined ? ids : [...ids, memoryOnlyNode];
  const distance = (from: number, to: number): number => {
    if (from === to) return 10;
    if (from >= ids.length || to >= ids.length) return 17;
    return Math.floor(from / nodesPerSocket) === Math.floor(to / nodesPerSocket) ? 12 : 32;
  };
  const files = all.flatMap((id, at) => {
    const cpus = online.filter(({ node }) => node === at);
    const entries = {
      cpulist: list(cpus),
      cpumap: map(cpus),
      distance: all.map((_, to) => distance(at, to)).join(' '),
      meminfo: `Node ${id} MemTotal:       ${16_777_216 + at} kB\nNode ${id} MemFree:        8388608 kB`,
      'hugepages/hugepages-2048kB/nr_hugepages': `${at * 4}`,
      'hugepages/hugepages-2048kB/free_hugepages': `${at * 4}`,
      'hugepages/hugepages-1048576kB/nr_hugepages': '0',
      'hugepages/hugepages-1048576kB/free_hugepages': '0',
    };
    return Object.entries(entries).map(([name, text]) => [`node/node${id}/${name}`, text]);
  });
  return {
    'node/online': all.join(','),
    'node/possible': all.join(','),
    'node/has_cpu': ids.join(','),
    'node/has_memory': all.join(','),
    ...(Object.fromEntries(files) as Record<string, string>),
  };
}

function list(cpus: readonly Cpu[]): string {
  const parts: string[] = [];
  const ids = cpus.map(({ id }) => id);
  for (let at = 0; at < ids.length; ) {
    let end = at;
    while (ids[end + 1] === (ids[end] ?? 0) + 1) end += 1;
    parts.push(end === at ? `${ids[at]}` : `${ids[at]}-${ids[end]}`);
    at = end + 1;
  }
  return parts.join(',');
}

/** Hexadecimal words of 32 bits, the highest first. */
function map(cpus: readonly Cpu[]): string {
  const mask = cpus.reduce((bits, { id }) => bits | (1n << BigInt(id)), 0n);
  const digits = mask.toString(16);
  const padded = digits.padStart(Math.ceil(digits.length / 8) * 8, '0');
  return padded.match(/.{8}/g)?.join(',') ?? '';
}

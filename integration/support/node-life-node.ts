// A node in a cluster whose kubelet is this one or a Go kubelet, for what happens around its pods: a collector of traces, a logind on
// a bus of its own, a proxy that records the calls of the runtime; and a node without a cluster for its iptables.
// Invariant: either kubelet writes to private directories only, since a Go kubelet has constant paths in /var/lib and /etc.
import { join } from 'node:path';
import { OtlpCollector } from '../../test/fakes/otlp-collector.ts';
import { makeCgroup } from '../rig/cgroups.ts';
import type { Kubelet } from '../rig/kubelet.ts';
import { findProgram } from '../rig/prerequisites.ts';
import { repositoryRoot } from '../rig/repository.ts';
import type { Rig } from '../rig/rig.ts';
import { claimWorkspace } from '../rig/workspace.ts';
import { type Cluster, startCluster } from './cluster.ts';
import { DbusDaemon } from './dbus-daemon.ts';
import { LogindProcess } from './fake-logind.ts';
import type { Variant } from './private-network.ts';
import { PrivateNode, type UnitProcess } from './private-node.ts';
import { StallingCri } from './stalling-cri.ts';

export const nodeName = 'node1';
const families = ['iptables', 'ip6tables'] as const;
const tables = ['mangle', 'nat', 'filter'] as const;
const logindFile = '/etc/systemd/logind.conf.d/99-kubelet.conf';

interface Parts {
  readonly host: PrivateNode;
  readonly rig: Rig;
  readonly cluster: Cluster;
  readonly cri: StallingCri;
  readonly collector: OtlpCollector;
  readonly bus: DbusDaemon;
  readonly logind: LogindProcess;
  readonly kubelet: Kubelet;
}

export class LifeNode {
  readonly parts: Parts;
  /** The headers of each request to the API server, in order. */
  readonly apiHeaders: Readonly<Record<string, string | undefined>>[] = [];

  constructor(parts: Parts) {
    this.parts = parts;
    parts.cluster.double.onRequest = ({ headers }) => void this.apiHeaders.push(headers);
  }

  /** The path of logind's configuration, seen from outside of the node. */
  get logindFile(): string {
    return this.parts.host.outside(logindFile);
  }

  async start(): Promise<void> {
    const { bus, cluster, cri, kubelet, logind, rig } = this.parts;
    makeCgroup(rig.workspace.name);
    await cri.start();
    await bus.start();
    await logind.start();
    await kubelet.start();
    await cluster.untilNodeReady();
  }

  /** GET on the read-only port. */
  async ask(path: string, headers: Readonly<Record<string, string>>): Promise<void> {
    const response = await fetch(`http://127.0.0.1:${this.parts.kubelet.readOnlyPort}${path}`, { headers });
    await response.text();
  }

  describe(): string {
    return this.parts.cluster.describeState(this.parts.kubelet);
  }

  async stop(): Promise<void> {
    const { bus, cluster, collector, cri, host, logind, rig } = this.parts;
    await rig.stop();
    await cri.stop();
    await cluster.stop();
    await logind.stop();
    await bus.close();
    await collector.end();
    await host.stop();
  }
}

/** `command` is a Go kubelet; by default this kubelet runs. */
export async function startLifeNode(command: string | undefined): Promise<LifeNode> {
  const workspace = claimWorkspace();
  const host = new PrivateNode(workspace, [], { sharesNetwork: true });
  await host.start();
  const rig = await host.startRig();
  const cluster = await startCluster(rig, nodeName);
  const collector = await OtlpCollector.start();
  const cri = new StallingCri(rig);
  const bus = new DbusDaemon();
  const logind = new LogindProcess(bus.address, host.outside(logindFile));
  const kubelet = rig.newKubelet({
    nodeName,
    command: host.command('kubelet', command ?? join(repositoryRoot(), 'bin', 'kubelet')),
    config: {
      ...cluster.kubeletConfig,
      // The API server double reads no protobuf.
      ...(command === undefined ? {} : { contentType: 'application/json' }),
      clusterDNS: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
      imageGCHighThresholdPercent: 99,
      tracing: { endpoint: collector.endpoint, samplingRatePerMillion: 1_000_000 },
      shutdownGracePeriod: '9s',
      shutdownGracePeriodCriticalPods: '4s',
      nodeStatusUpdateFrequency: '2s',
    },
    flags: [`--kubeconfig=${cluster.kubeconfig}`, `--container-runtime-endpoint=unix://${cri.socket}`],
    env: { OTEL_BSP_SCHEDULE_DELAY: '100', DBUS_SYSTEM_BUS_ADDRESS: bus.address },
    client: { cert: cluster.admin.cert, key: cluster.admin.key },
  });
  const node = new LifeNode({ host, rig, cluster, cri, collector, bus, logind, kubelet });
  try {
    await node.start();
    return node;
  } catch (err) {
    const state = node.describe();
    await node.stop();
    throw new Error(state, { cause: err });
  }
}

/** Of a kubelet without an API server, in a network of its own. */
function standaloneConfig(rig: Rig): string {
  return JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    cgroupRoot: `/${rig.workspace.name}`,
    containerRuntimeEndpoint: rig.endpoint,
    failSwapOn: false,
    failCgroupV1: false,
  });
}

export class IptablesNode {
  readonly #host: PrivateNode;
  readonly #rig: Rig;
  readonly kubelet: UnitProcess;

  constructor(host: PrivateNode, rig: Rig, kubelet: UnitProcess) {
    this.#host = host;
    this.#rig = rig;
    this.kubelet = kubelet;
  }

  /** The variant that iptables is, such as `nf_tables`. */
  async variant(): Promise<string | undefined> {
    return /\((.*)\)/.exec(await this.#host.run('iptables', '--version'))?.[1];
  }

  /** Chains and rules by family and table, without built-in chains, counters and comments. */
  async saved(): Promise<Readonly<Record<string, readonly string[]>>> {
    const pairs = families.flatMap((family) => tables.map((table) => [family, table] as const));
    const all = pairs.map(async ([family, table]) => {
      const lines = (await this.#host.run(`${family}-save`, '-t', table)).split('\n');
      const own = lines.filter((line) => line.startsWith('-A ') || / - \[/.test(line));
      return [`${family} ${table}`, own.map((line) => line.replace(/ - \[.*/, '')).sort()] as const;
    });
    return Object.fromEntries(await Promise.all(all));
  }

  /** Removes all rules and then all chains of their own from every table, as a reload of firewalld does. */
  async flush(): Promise<void> {
    for (const family of families)
      for (const table of tables)
        for (const operation of ['-F', '-X']) await this.#host.run(family, '-t', table, operation);
  }

  async stop(): Promise<void> {
    await this.kubelet.stop();
    await this.#rig.stop();
    await this.#host.stop();
  }
}

/** Commands that select a variant in the node's copy of /etc, as update-alternatives(1) of Debian does. */
function select(variant: Variant): string {
  const names = families.flatMap((family) => ['', '-save'].map((suffix) => [family, suffix] as const));
  const links = names.map(([family, suffix]) => {
    const program = findProgram(`${family}-${variant}${suffix}`) ?? 'false';
    return `ln -sf ${program} /etc/alternatives/${family}${suffix}`;
  });
  return links.join('\n');
}

/** `command` is a Go kubelet; by default this kubelet runs. */
export async function startIptablesNode(
  command: string | undefined,
  variant: Variant,
): Promise<IptablesNode> {
  const workspace = claimWorkspace();
  const address = '192.0.2.10';
  const host = new PrivateNode(workspace, [`${address}/32`], { setUp: select(variant) });
  await host.start();
  const rig = await host.startRig();
  makeCgroup(workspace.name);
  host.write('/etc/kubelet.yaml', standaloneConfig(rig));
  const argv = ['--config=/etc/kubelet.yaml', `--hostname-override=${nodeName}`, `--node-ip=${address}`];
  return new IptablesNode(host, rig, await host.kubelet(argv, command));
}

// A whole kubelet in memory: the real stores, loops and deciders on FakeCri and the fake clock.
// Invariant: it touches nothing outside the process, so that the test controls time, faults and restarts.

import type { CallOptions } from '../../src/api/cri/runtime.ts';
import type { Pod, PodStatus } from '../../src/api/k8s/types.ts';
import type { RpcService } from '../../src/api/kubelet/rpc-service.ts';
import { asPodUid } from '../../src/api/pod/pod-ref.ts';
import { staticPodHashes } from '../../src/api/pod/static-pod-hash/compute.ts';
import type { HttpAnswer, HttpHandler, HttpRequest } from '../../src/api/ports/http.ts';
import type { PodKill } from '../../src/api/ports/pod-kill.ts';
import type { PodObjects } from '../../src/api/ports/pod-objects.ts';
import type { ProbeAnswer } from '../../src/api/ports/probe-requests.ts';
import type { FileSystemSpace } from '../../src/api/ports/volume-host.ts';
import type { AssembleInput, Edges, StatsEdge } from '../../src/assemble/input.ts';
import { assemble, type Kubelet } from '../../src/assemble/kubelet.ts';
import { Channel } from '../../src/base/channel.ts';
import { KubeletError } from '../../src/base/errors.ts';
import { InFlightCalls } from '../../src/base/in-flight-calls.ts';
import { type Logger, Verbosity } from '../../src/base/log/log.ts';
import { textLogger } from '../../src/base/log/log-text.ts';
import { Supervisor } from '../../src/base/supervisor.ts';
import type { Tracer } from '../../src/base/tracer.ts';
import { parseArgs } from '../../src/config/command-line/parse-args.ts';
import { defaultGates, type FeatureGates } from '../../src/config/gates/feature-gates.ts';
import { LiveConfiguration } from '../../src/config/live/live-configuration.ts';
import { legacyConfiguration } from '../../src/config/load/complete.ts';
import { defaultsOf } from '../../src/config/schema.ts';
import type { KubeletConfiguration } from '../../src/config/table/kubelet-configuration.ts';
import { type KubeletFlags, kubeletFlags } from '../../src/config/table/kubelet-flags.ts';
import type { DurableFiles } from '../../src/edge/autonomy/durable-files.ts';
import { KeptRecords } from '../../src/edge/autonomy/kept-records.ts';
import type { MachineFacts } from '../../src/edge/machine/machine.ts';
import { flatTopology } from '../../src/edge/machine/machine-topology.ts';
import { ConfigStatus } from '../../src/live-config/config-status.ts';
import type { NodeHost } from '../../src/node/gather-node-facts.ts';
import { buildParts } from '../../src/sources/build-pods.ts';
import { ContainerCollector } from '../../src/workers/container-collector.ts';
import { ApiServerDouble, nodeUser } from '../api-server/double.ts';
import { memoryClient } from '../api-server/memory-client.ts';
import { TestAuthority } from '../api-server/pki.ts';
import type { CertificateOptions } from '../api-server/rules/certificate-controllers.ts';
import type { PodSignerOptions } from '../api-server/rules/pod-signer.ts';
import { FakeCri, type FakeCriOptions } from '../fake-cri/fake-cri.ts';
import { FakeCgroups } from '../fakes/fake-cgroups.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { FakeCsiDrivers } from '../fakes/fake-csi-drivers.ts';
import { FakeFlexDrivers } from '../fakes/fake-flex-drivers.ts';
import { FakeHostDevices, FakeHostPrograms } from '../fakes/fake-host-programs.ts';
import { FakeIpTables } from '../fakes/fake-iptables.ts';
import { FakeLogind } from '../fakes/fake-logind.ts';
import { FakeMemoryWatches } from '../fakes/fake-memory-watches.ts';
import { FakeRegistrars } from '../fakes/fake-registrars.ts';
import { fakeSpace, fakeStatsEdge } from '../fakes/fake-stats-edge.ts';
import { FakeVolumeHost } from '../fakes/fake-volume-host.ts';
import { MemoryCertificates, memoryPodKey } from '../fakes/memory-certificates.ts';
import { memoryDurableFiles } from '../fakes/memory-durable-files.ts';
import { memoryHistory } from '../fakes/memory-history.ts';
import { memoryLogs } from '../fakes/memory-logs.ts';
import { memoryRecords } from '../fakes/memory-records.ts';
import { MemoryRotation } from '../fakes/memory-rotation.ts';

const fakeHost: NodeHost = {
  architecture: () => 'amd64',
  identity: async () => ({
    machineID: 'm1',
    systemUUID: 's1',
    bootID: 'b1',
    kernelVersion: '6.1.0',
    osImage: 'Memory',
    swapBytes: 0,
    inUserNamespace: false,
  }),
  network: async () => ({
    hostAddresses: ['192.0.2.2'],
    nameAddresses: [],
    defaultAddresses: ['192.0.2.2'],
  }),
};

async function* nothing(): AsyncGenerator<Uint8Array> {
  // There is none.
}

interface Manifest {
  readonly text: string;
  readonly stamp: string;
}

export interface FakeNodeOptions extends Omit<FakeCriOptions, 'clock'> {
  /** Whether the node has an API server. */
  readonly cluster?: boolean;
  /** Decides certificate signing requests; without it they are not signed. */
  readonly certificates?: CertificateOptions;
  /** Decides requests for pod certificates; without it they stay pending. */
  readonly podSigner?: PodSignerOptions;
  readonly config?: Partial<KubeletConfiguration>;
  /** Whether the configuration can change while the kubelet runs, by reconfigure(). */
  readonly live?: boolean;
  readonly flags?: Partial<KubeletFlags>;
  readonly machine?: Partial<MachineFacts>;
  readonly objects?: PodObjects;
  readonly gates?: Partial<FeatureGates>;
  /** Receives a span of the method's name for each CRI call, too. */
  readonly tracer?: Tracer;
  /** The API server, as one of another release or with other gates. */
  readonly server?: {
    readonly minor?: number;
    readonly watchLists?: boolean;
    readonly gates?: { readonly CSIVolumeHealth?: boolean };
  };
}

export class FakeNode {
  readonly clock = new FakeClock(Date.UTC(2026, 10, 15, 12));
  readonly cri: FakeCri;
  readonly log: string[] = [];
  /** The existing directories. */
  readonly directories = new Set<string>();
  /** Files written by the kubelet, and links as `-> target`. */
  readonly files = new Map<string, string>();
  /** The paths of links whose target does not exist. */
  readonly danglingLinks = new Set<string>();
  /** Directories and mounts of volumes. */
  readonly volumes = new FakeVolumeHost('/var/lib/kubelet/pods');
  /** CSI drivers by their endpoint. Those that register outlive a kubelet, too. */
  readonly csi = new FakeCsiDrivers();
  /** The sockets of plugins that register. */
  readonly registrars = new FakeRegistrars();
  /** Cgroups outlive a kubelet. */
  readonly cgroups = new FakeCgroups();
  /** The tables outlive a kubelet. */
  readonly iptables = new FakeIpTables();
  /** systemd-logind, which outlives a kubelet. */
  readonly logind = new FakeLogind();
  /** The kernel's memory signals. */
  readonly memoryWatches = new FakeMemoryWatches();
  /** What the statistics read; a test may replace it before the start. */
  statsEdge: StatsEdge = fakeStatsEdge;
  /** Small files by path: pull records, Docker's configuration. */
  readonly records = new Map<string, string>();
  /** The files of container logs, as their rotation sees them; without content unless a test writes any. */
  readonly logFiles = new MemoryRotation(() => this.clock.now());
  /** Keys and certificates outlive a kubelet. */
  readonly certs = new MemoryCertificates();
  /** State files by path; they outlive a kubelet. */
  readonly stateFiles = new Map<string, string>();
  /** What is kept for a cut-off, by path; it outlives a kubelet. */
  readonly keptFiles = new Map<string, string>();
  /** Makes writes of these paths fail. */
  keptWritesFail: (path: string) => boolean = () => false;
  /** Of what is kept for a cut-off: whether reading and writing the path never end. */
  keptFilesHang: (path: string) => boolean = () => false;
  machineId = 'm1';
  /** The files of the history of ends; they outlive a kubelet. */
  readonly history = new Map<string, Buffer>();
  /** Network probes, to be replaced by a test. */
  readonly probes = {
    http: (): Promise<ProbeAnswer> => Promise.reject(new Error('no network in memory')),
    tcp: (): Promise<ProbeAnswer> => Promise.reject(new Error('no network in memory')),
    grpc: (): Promise<ProbeAnswer> => Promise.reject(new Error('no network in memory')),
  };
  /** The server of staticPodURL, to be replaced by a test. */
  httpGet: Edges['httpGet'] = () => Promise.reject(new Error('no network in memory'));
  /** Of the kubelet's log. */
  readonly verbosity = new Verbosity(2);
  /** Probe results, saved by one run of the kubelet for the next. */
  probeResultFile: string | undefined;
  /** Capacity of the machine; a test may reduce it before the next start. */
  capacity = { cpus: 2, memoryBytes: 8_000_000_000n };
  /** Space on every file system of the node. */
  space: FileSystemSpace = fakeSpace;
  /** The space at the time of a measurement; a test may compute it. */
  measureSpace = (): FileSystemSpace => this.space;
  /** Makes reading the manifest directory fail. */
  manifestsUnreadable = false;
  readonly #manifests = new Map<string, Manifest>();
  readonly #watchers = new Set<() => void>();
  /** Manifests removed since the kubelet last read the directory. */
  readonly #removed = new Set<string>();
  #options: FakeNodeOptions;
  #stamp = 0;
  #live: LiveConfiguration | undefined;
  #kubelet: Kubelet | undefined;
  #stop: (() => Promise<void>) | undefined;
  #connection = new AbortController();
  #secure: HttpHandler | undefined;
  /** The gRPC services by the path of their socket. */
  readonly #sockets = new Map<string, readonly RpcService[]>();
  /** Called when the secure port opens. */
  onSecurePortOpen: () => void = () => undefined;

  /** Undefined without the option `cluster`. */
  readonly api: ApiServerDouble | undefined;

  constructor({ cluster, ...options }: FakeNodeOptions = {}) {
    this.#options = options;
    this.cgroups.version = options.machine?.cgroupVersion ?? 1;
    const openLog = (path: string): void => {
      this.logFiles.open(path);
      options.openLog?.(path);
    };
    this.cri = new FakeCri({ clock: this.clock, ...options, openLog });
    const { certificates, podSigner } = options;
    if (cluster !== true) return;
    const authority = new TestAuthority({ now: () => this.clock.now() });
    const { sign } = authority;
    this.api = new ApiServerDouble({
      clock: this.clock,
      automount: false,
      caPem: authority.cert,
      ...(certificates && { certificates, sign }),
      ...(podSigner && { podSigner: { ...podSigner, sign } }),
      ...options.server,
    });
  }

  /** For the next start. */
  setFlags(flags: Partial<KubeletFlags>): void {
    this.#options = { ...this.#options, flags };
  }

  get stores(): Kubelet['stores'] {
    return this.#running.stores;
  }

  /** What a configuration on trial must pass, with the option `live`. */
  get trial(): NonNullable<Kubelet['trial']> {
    const { trial } = this.#running;
    if (trial === undefined) throw new Error('the configuration is not live');
    return trial;
  }

  get #running(): Kubelet {
    if (this.#kubelet === undefined) throw new Error('the kubelet is not running');
    return this.#kubelet;
  }

  /** Starts a kubelet on the present state: the first one, or the next one after stop() or kill(). */
  async start(): Promise<void> {
    const stop = new AbortController();
    this.#connection = new AbortController();
    this.#kubelet = this.#assemble(this.#logger());
    const supervisor = new Supervisor({
      components: this.#kubelet.components,
      clock: this.clock,
      log: this.#logger(),
      startDeadlineMs: 60_000,
      stopDeadlineMs: 10_000,
    });
    const ended = supervisor.run(stop.signal);
    this.#stop = async () => {
      stop.abort();
      await this.clock.until(ended, 30_000);
    };
    await this.clock.advance(0);
  }

  /** The configuration in force, with the option `live`. */
  get live(): LiveConfiguration {
    if (this.#live === undefined) throw new Error('the configuration is not live');
    return this.#live;
  }

  /** Changes the configuration as a valid new file does. */
  reconfigure(changes: Partial<KubeletConfiguration>): void {
    this.live.apply({ ...this.live.current(), ...changes });
  }

  /** Stops the kubelet gracefully; the runtime keeps running. */
  async stop(): Promise<void> {
    await this.#stop?.();
    this.#stop = undefined;
    this.#kubelet = undefined;
  }

  /** Kills the kubelet as kill -9 does: calls in flight are cut off, and no further call reaches the runtime. */
  async kill(): Promise<void> {
    this.#connection.abort(new KubeletError('unavailable', 'Killed', 'the kubelet was killed'));
    await this.stop();
  }

  /** Creates or changes a manifest. */
  write(name: string, pod: Pod | string): void {
    const text = typeof pod === 'string' ? pod : JSON.stringify(pod);
    this.#manifests.set(`/manifests/${name}`, { text, stamp: String(++this.#stamp) });
    for (const changed of this.#watchers) changed();
  }

  remove(name: string): void {
    this.#manifests.delete(`/manifests/${name}`);
    this.#removed.add(`/manifests/${name}`);
    for (const changed of this.#watchers) changed();
  }

  /** Removes a manifest and writes it again before the kubelet reads the directory. */
  recreate(name: string): void {
    const path = `/manifests/${name}`;
    const manifest = this.#manifests.get(path);
    if (manifest === undefined) throw new Error(`no manifest ${name}`);
    this.#manifests.set(path, { text: manifest.text, stamp: String(++this.#stamp) });
    this.#removed.add(path);
    for (const changed of this.#watchers) changed();
  }

  /** Replaces all pods of the API server source. */
  setApiPods(...pods: readonly Pod[]): void {
    this.stores.desired.set('api', pods);
  }

  /** Kills a pod as eviction and preemption do; resolves when it has ended. */
  killPod(uid: string, kill: PodKill): Promise<void> {
    return this.#running.stores.kills.kill(asPodUid(uid), kill);
  }

  /** Removes unused containers as eviction under disk pressure does. */
  async deleteUnusedContainers(): Promise<void> {
    const collector = this.#running.components.find((each) => each instanceof ContainerCollector);
    if (collector === undefined) throw new Error('the kubelet has no container collector');
    await this.clock.until(collector.deleteUnusedContainers(new AbortController().signal), 60_000);
  }

  /** The explanation of /explain. */
  explanation(uid: string): string | undefined {
    return this.#explained(uid)?.explanation;
  }

  /** Since when the explanation applies. */
  explainedSince(uid: string): string | undefined {
    return this.#explained(uid)?.since;
  }

  #explained(uid: string) {
    return this.#kubelet?.explainer.explain().pods.find((pod) => pod.uid === uid);
  }

  /** What the kubelet records for its page. */
  get page(): Kubelet['page'] {
    return this.#running.page;
  }

  /** Events as `Killing: Stopping container c`, in order; repeated ones once. */
  eventLines(uid: string): readonly string[] {
    const events = this.#running.events.recent(asPodUid(uid));
    return events.map(({ reason, message }) => `${reason}: ${message}`);
  }

  /** Sends a request to the secure port. */
  async request(request: HttpRequest): Promise<HttpAnswer> {
    if (this.#secure === undefined) throw new Error('the secure port is closed');
    return await this.#secure(request);
  }

  /** The handlers of a gRPC service; undefined while nothing listens on the socket. */
  grpcHandlers(path: string, service: string): RpcService['handlers'] | undefined {
    return this.#sockets.get(path)?.find(({ definition }) => definition.fullName === service)?.handlers;
  }

  /** By the UID of the manifest. */
  status(uid: string): PodStatus | undefined {
    return this.stores.statuses.get(asPodUid(uid));
  }

  /** The pod's events, in the order of their last occurrence. */
  events(uid: string): ReturnType<Kubelet['events']['recent']> {
    if (this.#kubelet === undefined) throw new Error('the kubelet is not running');
    return this.#kubelet.events.recent(uid);
  }

  /** The names of the mutating CRI calls, in order. */
  calls(): readonly string[] {
    return this.cri.calls.map(({ method }) => method);
  }

  logged(part: string): readonly string[] {
    return this.log.filter((line) => line.includes(part));
  }

  #openApi(api: ApiServerDouble): NonNullable<AssembleInput['cluster']> {
    return () => {
      const opened = memoryClient(api, this.clock, nodeUser('n'));
      return { ...opened, close: () => opened.transport.closeConnections() };
    };
  }

  /** The kubelet of this node, not started. */
  assembled(): Kubelet {
    return this.#assemble(this.#logger());
  }

  #assemble(log: Logger): Kubelet {
    const config = {
      ...legacyConfiguration({}),
      staticPodPath: '/manifests',
      healthzPort: 0,
      readOnlyPort: 0,
      tlsCertFile: '/var/lib/kubelet/pki/kubelet.crt',
      tlsPrivateKeyFile: '/var/lib/kubelet/pki/kubelet.key',
      ...this.#options.config,
    };
    this.#live = this.#options.live === true ? new LiveConfiguration(config) : undefined;
    return assemble({
      config: this.#live?.view ?? config,
      live: this.#live,
      configStatus: this.#options.live === true ? new ConfigStatus() : undefined,
      flags: { ...defaultsOf(kubeletFlags), ...this.#options.flags },
      gates: { ...defaultGates, ...this.#options.gates },
      args: parseArgs([]),
      machine: {
        hostname: 'n',
        addresses: ['192.0.2.2'],
        memoryBytes: 8_000_000_000n,
        hugePageSizes: ['2MB'],
        cgroupVersion: 1,
        ...this.#options.machine,
      },
      capacity: {
        ...this.capacity,
        storageBytes: 100_000_000_000n,
        hugePages: [],
        maxProcesses: 32_768n,
      },
      topology: flatTopology('0-1'),
      nodeName: 'n',
      cluster: this.api && this.#openApi(this.api),
      ...(this.#options.objects === undefined ? {} : { objects: this.#options.objects }),
      clock: this.clock,
      random: Math.random,
      log,
      verbosity: this.verbosity,
      tracer: this.#options.tracer,
      edges: {
        calls: new InFlightCalls(this.clock),
        cri: () => this.#connect(),
        files: {
          makeDirectory: async (path) => {
            const isNew = !this.directories.has(path);
            this.directories.add(path);
            return isNew;
          },
          readText: async () => 'nameserver 10.255.255.53\n',
          listNames: async (path) => this.#namesIn(path),
          readTextIfAny: async (path) => this.files.get(path),
          writeText: async (path, text) => void this.files.set(path, text),
          link: async (target, path) => void this.files.set(path, `-> ${target}`),
          removeFile: async (path) => {
            this.files.delete(path);
            this.danglingLinks.delete(path);
          },
          exists: async (path) => path.endsWith('.log') || this.files.has(path),
          isDanglingLink: async (path) => this.danglingLinks.has(path),
          removeTree: async (path) => {
            for (const each of this.directories)
              if (`${each}/`.startsWith(`${path}/`)) this.directories.delete(each);
            for (const each of this.files.keys()) if (each.startsWith(`${path}/`)) this.files.delete(each);
          },
        },
        cgroups: () => this.cgroups,
        systemProcesses: () => undefined,
        memoryPressure: { watch: async (request) => this.memoryWatches.watch(request) },
        kernelLog: async () => ({ close: () => undefined }),
        manifests: this.#manifestFiles(),
        decode: async (work) => [...buildParts(work, staticPodHashes)],
        stateFiles: this.#stateFiles(),
        plugins: {
          watch: this.registrars.watch,
          dial: this.registrars.dial,
          devicePlugins: { dial: () => Promise.reject(new Error('no sockets in memory')) },
          deviceDirectory: {
            prepare: async () => undefined,
            isUnused: async () => false,
            identity: async () => 'socket',
          },
        },
        csi: () => this.csi,
        logind: this.logind,
        hostPrograms: new FakeHostPrograms(),
        hostDevices: new FakeHostDevices(),
        flexDrivers: () => new FakeFlexDrivers(),
        iptables: this.iptables,
        probes: this.probes,
        probeResultFile: () => ({
          read: async () => this.probeResultFile,
          write: async (text) => {
            if (!this.#connection.signal.aborted) this.probeResultFile = text;
          },
        }),
        tails: {
          readTail: async (path) => this.#wholeFile(path),
          readLogTail: async (path) => this.#wholeFile(path),
        },
        historyFiles: () => this.#historyFiles(),
        keptRecords: (options) =>
          new KeptRecords({ ...options, files: this.#keptFiles(), machineId: async () => this.machineId }),
        idRange: async (idsPerPod) => ({ first: idsPerPod, length: 2 ** 32 - idsPerPod }),
        hookHttp: () => Promise.reject(new Error('no network in memory')),
        imageHost: this.#imageHost(),
        httpGet: (request) => this.httpGet(request),
        trimMemory: () => undefined,
        residentBytes: () => 0,
        listen: () => Promise.reject(new Error('no ports in memory')),
        listenUnix: async () => ({ close: async () => undefined }),
        pageFile: async () => undefined,
        upgradeProxy: () => () => Promise.reject(new Error('no ports in memory')),
        listenSecure: async ({ handler, host, port }) => {
          this.#secure = handler;
          this.onSecurePortOpen();
          return { host, port, close: async () => undefined };
        },
        listenGrpc: async ({ path, services }) => {
          this.#sockets.set(path, services);
          return { close: async () => void this.#sockets.delete(path) };
        },
        pause: async () => undefined,
        logs: {
          files: memoryLogs(this.files),
          nextTurn: (fn) => void this.clock.setTimer(0, fn),
        },
        logRotation: () => this.logFiles,
        systemLogs: {
          files: () => ({ open: async () => undefined }),
          journal: { units: async () => undefined, read: nothing },
        },
        loopDelay: {
          start: () => undefined,
          stop: () => undefined,
          watch: () => undefined,
          maxSinceMs: () => 0,
          longestSinceMs: () => [],
        },
        profiler: {
          cpu: async () => '{}',
          allocations: async () => '{}',
          heap: nothing,
          resources: () => [],
          commandLine: ['kubelet'],
        },
        nodeVersion: 'v0',
        ownPid: 1,
        randomBytes: (count) => new Uint8Array(count),
        textFile: {
          read: async (path) => this.files.get(path) ?? '',
          watch: () => ({ close: () => undefined }),
        },
        nodeHost: fakeHost,
        certs: this.certs,
        podKey: memoryPodKey,
        volumes: () => this.volumes,
        stats: () => ({
          ...this.statsEdge,
          host: {
            ...this.statsEdge.host,
            space: async () => this.measureSpace(),
            room: async () => ({ ...this.measureSpace(), device: '1' }),
          },
        }),
      },
    });
  }

  #wholeFile(path: string): { readonly bytes: Uint8Array; readonly whole: boolean } | undefined {
    const text = this.files.get(path);
    return text === undefined ? undefined : { bytes: new TextEncoder().encode(text), whole: true };
  }

  #namesIn(path: string): readonly string[] {
    const below = [...this.directories, ...this.files.keys(), ...this.danglingLinks].filter((each) =>
      each.startsWith(`${path}/`),
    );
    return [...new Set(below.map((each) => each.slice(path.length + 1).split('/')[0] ?? ''))];
  }

  /** The runtime for this run of the kubelet: cut off when the kubelet is killed. */
  #connect(): ReturnType<Edges['cri']> {
    const { signal: life } = this.#connection;
    const runtime = this.cri as unknown as Record<
      string,
      (request: object, options?: CallOptions) => unknown
    >;
    const own: Record<string, unknown> = {
      connectionChanged: new Channel<boolean>(),
      close: () => undefined,
    };
    return new Proxy(own, {
      get: (target, name: string) =>
        target[name] ??
        ((request: object, options: CallOptions = {}) => {
          const signal = options.signal === undefined ? life : AbortSignal.any([options.signal, life]);
          this.#options.tracer?.start({ scope: 'cri', name }).end();
          return runtime[name]?.call(this.cri, request, { ...options, signal });
        }),
    }) as unknown as ReturnType<Edges['cri']>;
  }

  #manifestFiles(): Edges['manifests'] {
    return {
      list: async () => {
        if (this.manifestsUnreadable) throw new KubeletError('unavailable', 'EIO', 'input/output error');
        const entries = [...this.#manifests]
          .map(([path, { stamp }]) => ({ path, kind: 'file' as const, stamp }))
          .toSorted((a, b) => (a.path < b.path ? -1 : 1));
        return { kind: 'directory', entries };
      },
      read: async (path) => {
        const manifest = this.#manifests.get(path);
        if (manifest === undefined) throw new KubeletError('not-found', 'NotFound', `${path} does not exist`);
        const bytes = new TextEncoder().encode(manifest.text);
        return { bytes, stamp: manifest.stamp, changedAtMs: this.clock.now() - 60_000 };
      },
      watch: (_path, onChange) => {
        this.#watchers.add(onChange);
        const takeRemoved = async (): Promise<readonly string[]> => {
          const removed = [...this.#removed];
          this.#removed.clear();
          return removed;
        };
        return { close: () => void this.#watchers.delete(onChange), takeRemoved };
      },
    };
  }

  #historyFiles(): ReturnType<Edges['historyFiles']> {
    const { signal: life } = this.#connection;
    return memoryHistory(this.history, () => !life.aborted);
  }

  #keptFiles(): DurableFiles {
    const { signal: life } = this.#connection;
    return memoryDurableFiles(this.keptFiles, {
      isAlive: () => !life.aborted,
      fails: (path) => this.keptWritesFail(path),
      hangs: (path) => this.keptFilesHang(path),
    });
  }

  #stateFiles(): Edges['stateFiles'] {
    const { signal: life } = this.#connection;
    const write = async (path: string, text: string): Promise<void> => {
      if (!life.aborted) this.stateFiles.set(path, text);
    };
    return {
      read: async (path) => this.stateFiles.get(path),
      write,
      replace: write,
      flush: async () => undefined,
      keep: async (path, as) => {
        const text = this.stateFiles.get(path);
        if (text !== undefined) await write(as, text);
      },
    };
  }

  #imageHost(): Edges['imageHost'] {
    return {
      records: memoryRecords(this.records),
      programs: () => ({
        check: () => Promise.resolve(),
        run: () => Promise.reject(new Error('no programs in memory')),
      }),
      workingDirectory: '/',
      home: '/root',
    };
  }

  #logger(): Logger {
    return textLogger({
      write: (line) => void this.log.push(line),
      clock: this.clock,
      verbosity: this.verbosity,
      pid: 1,
    });
  }
}

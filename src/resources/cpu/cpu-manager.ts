// The CPU manager: with the policy static, containers of Guaranteed pods that request whole CPUs have them for themselves; with
// none, the runtime decides. Upstream: pkg/kubelet/cm/cpumanager.
// Owns the CPU assignments (sole writer of cpu_manager_state). Invariants: no CPU belongs to two pods; the kubelet starts with any
// state file; a container starts only after `saved`, so that a kill loses no assignment.
import { join } from 'node:path';
import type { Container, Pod } from '../../api/k8s/types.ts';
import { initAndRegularContainers } from '../../api/pod/find-container.ts';
import { isDown, latestContainer } from '../../api/pod/observed.ts';
import { type PodUid, podRef, podUid } from '../../api/pod/pod-ref.ts';
import { untilAborted } from '../../base/abort/race-abort.ts';
import { type Component, type LoopLoad, on } from '../../base/component.ts';
import { isKind } from '../../base/errors.ts';
import { KeptCheckpoint } from '../checkpoint/kept-checkpoint.ts';
import type { HintProvider, ResourceHints, TopologyHint } from '../topology/hint-provider.ts';
import { type CpuAssignments, parseCpuState, type StoredCpus } from './cpu-assignments.ts';
import type { CpuManagerDeps } from './cpu-manager-deps.ts';
import { CpuReconciler } from './cpu-reconciler.ts';
import { CpuSet } from './cpu-set.ts';
import { decodeCpuState, encodeCpuState } from './cpu-state.ts';
import { createStaticPolicy } from './create-static-policy.ts';
import { RecoveryReport } from './recovery-report.ts';
import { restoreCpus } from './restore-cpus.ts';
import { startWithoutPolicy } from './start-without-policy.ts';
import type { StaticPolicy } from './static-policy.ts';

/** What the static policy adds. */
interface Static {
  readonly policy: StaticPolicy;
  readonly state: CpuAssignments;
  readonly reserved: CpuSet;
  readonly hasWholeCores: boolean;
}

const policyName = 'static';

export class CpuManager implements Component, HintProvider {
  readonly name = 'cpu-manager';
  readonly wakes;
  readonly #deps: CpuManagerDeps;
  readonly #checkpoint: KeptCheckpoint<StoredCpus>;
  readonly #reconciler: CpuReconciler;
  readonly #report: RecoveryReport;
  /** Undefined with the policy none, and until the state was restored. */
  #static: Static | undefined;
  /** Cache: every shared container has the same set. */
  readonly #texts = new WeakMap<CpuSet, string>();
  #encode = (): string => encodeCpuState({ policyName: 'none', defaultCpuSet: '', entries: {} });

  constructor(deps: CpuManagerDeps) {
    this.#deps = deps;
    const { clock, config, files, pods, report, runtime } = deps;
    const { log } = report;
    this.wakes = [on(pods.observed.changed, () => this.#reconciler.poke())];
    this.#report = new RecoveryReport({ ...report, clock });
    this.#checkpoint = new KeptCheckpoint<StoredCpus>({
      files,
      path: this.#path,
      clock,
      decode: (text) => parseCpuState(decodeCpuState(text)),
      encode: () => this.#encode(),
      onError: (err) => log.error('Failed to save the state of the CPU manager', { path: this.#path, err }),
    });
    this.#reconciler = new CpuReconciler({
      cri: runtime.cri,
      ...pods,
      wanted: (uid, container) => this.#textOf(this.cpusFor(uid, container)),
      periodMs: config.reconcilePeriodMs,
      clock,
      log,
    });
  }

  #textOf(cpus: CpuSet): string {
    const known = this.#texts.get(cpus);
    if (known !== undefined) return known;
    this.#texts.set(cpus, `${cpus}`);
    return `${cpus}`;
  }

  get #path(): string {
    return join(this.#deps.config.rootDir, 'cpu_manager_state');
  }

  loopLoad(): LoopLoad {
    return this.#reconciler.load();
  }

  /** Fails on a wrong configuration only. */
  async start(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { config, machine, metrics } = this.#deps;
    if (config.policy !== policyName) return await this.#startNone(signal);
    const { options, policy, reserved } = createStaticPolicy(machine, config);
    const rules = {
      policyName,
      all: policy.managed,
      reserved,
      isStrict: options.strictReservation,
      take: (available: CpuSet, count: number) => policy.take(available, count),
    };
    const state = await restoreCpus(this.#restoreDeps, rules, signal);
    this.#static = { policy, state, reserved, hasWholeCores: options.fullPcpusOnly };
    this.#encode = () => encodeCpuState(state.toState(policyName));
    metrics.start();
    this.#show();
    this.#checkpoint.save();
    this.#reconciler.start();
    this.#deps.report.log.info('Started the CPU manager', {
      cpus: `${machine.topology.cpus}`,
      reserved: `${reserved}`,
      shared: `${state.defaultCpus}`,
    });
    return { stopped: this.#stopAfter(signal) };
  }

  get #restoreDeps(): Parameters<typeof restoreCpus>[0] {
    const { clock, files, report, runtime } = this.#deps;
    const { log } = report;
    return {
      checkpoint: this.#checkpoint,
      files,
      path: this.#path,
      runtime,
      report: this.#report,
      clock,
      log,
    };
  }

  async #startNone(signal: AbortSignal): Promise<{ readonly stopped: Promise<void> }> {
    const { cpus } = this.#deps.machine.topology;
    return await startWithoutPolicy(
      { ...this.#restoreDeps, runtime: this.#deps.runtime, cpus, checkpoint: this.#checkpoint },
      (state) => {
        this.#encode = () => encodeCpuState(state);
      },
      signal,
    );
  }

  async #stopAfter(signal: AbortSignal): Promise<void> {
    await untilAborted(signal);
    this.#report.close();
    await this.#reconciler.stop();
    await this.#checkpoint.saved().catch(() => undefined);
    await this.#checkpoint.flush();
  }

  containerHints(pod: Pod, container: Container): ResourceHints {
    return this.#static?.policy.containerHints(this.#static.state, pod, container) ?? new Map();
  }

  podHints(pod: Pod): ResourceHints {
    return this.#static?.policy.podHints(this.#static.state, pod) ?? new Map();
  }

  allocate(pod: Pod, container: Container, { mask }: TopologyHint): void {
    if (this.#static === undefined) return;
    const { policy, state } = this.#static;
    const uid = podUid(pod);
    try {
      const allocation = policy.allocate(state, pod, container, mask);
      if (allocation !== undefined) this.#allocated(pod, container, allocation);
    } catch (err) {
      this.#failed(pod, container, err);
    }
    if (initAndRegularContainers(pod).at(-1)?.name !== container.name) return;
    state.dropClaims(uid);
    this.#report.settled(uid, podRef(pod));
  }

  #allocated(
    pod: Pod,
    { name }: Container,
    { cpus, how }: NonNullable<ReturnType<StaticPolicy['allocate']>>,
  ): void {
    const { machine, metrics, pods, report } = this.#deps;
    const uid = podUid(pod);
    const isNew = how === 'new';
    metrics.allocated(this.#static?.hasWholeCores === true, isNew ? cpus : undefined, machine.topology);
    if (how === 'kept') return;
    this.#changed();
    if (how === 'adopted') this.#report.adopted();
    else if (latestContainer(pods.observed.get(uid), name)?.state === 'running')
      this.#report.moved(uid, name, undefined, `${cpus}`);
    report.log
      .v(2)
      .info('Allocated exclusive CPUs', { pod: podRef(pod), container: name, cpus: `${cpus}`, how });
  }

  /** differs from upstream: a pod that already runs is not rejected; its container stays on the shared CPUs. */
  #failed(pod: Pod, { name: container }: Container, err: unknown): void {
    const { metrics, pods, report } = this.#deps;
    const uid = podUid(pod);
    metrics.failed(this.#static?.hasWholeCores === true);
    if (!isKind(err, 'conflict') || isDown(pods.observed.get(uid))) throw err;
    this.#report.unplaced(uid, container);
    report.log.warn('Running container stays on the shared CPUs', { pod: podRef(pod), container, err });
  }

  release(uid: PodUid): void {
    if (this.#static === undefined) return;
    const { policy, state } = this.#static;
    const freed = state.release(uid);
    policy.forget(uid);
    this.#reconciler.forget(uid);
    this.#report.settled(uid);
    if (!freed.isEmpty) this.#changed();
  }

  holders(): readonly PodUid[] {
    return this.#static?.state.pods ?? [];
  }

  #changed(): void {
    this.#checkpoint.save();
    this.#show();
    this.#reconciler.poke();
  }

  #show(): void {
    if (this.#static === undefined) return;
    const { reserved, state } = this.#static;
    const { machine, metrics } = this.#deps;
    metrics.show(state.defaultCpus.difference(reserved), state.exclusive(), machine.topology);
  }

  /** Undefined if the container has no CPUs of its own. */
  exclusiveCpus(uid: PodUid, container: string): CpuSet | undefined {
    return this.#static?.state.get(uid, container);
  }

  hasExclusiveCpus(uid: PodUid): boolean {
    return this.#static?.state.entries.has(uid) === true;
  }

  /** The container's own CPUs, else the shared ones; empty if the runtime decides. */
  cpusFor(uid: PodUid, container: string): CpuSet {
    return this.#static?.state.cpusFor(uid, container) ?? CpuSet.empty;
  }

  /** The CPUs that may be exclusive, whether they are or not; none with the policy none. */
  allocatable(): CpuSet {
    return this.#static?.policy.allocatable ?? CpuSet.empty;
  }

  /** A container is created with these CPUs (of `cpusFor`): it needs no update unless they change. */
  created(uid: PodUid, container: string, cpus: CpuSet): void {
    if (this.#static !== undefined) this.#reconciler.created(uid, container, `${cpus}`);
  }

  /** Resolves when the running containers have left the CPUs that others own by now, as far as the runtime complies. */
  async settled(): Promise<void> {
    if (this.#static !== undefined) await this.#reconciler.settled();
  }

  /** Resolves when the assignments are in the file. */
  async saved(): Promise<void> {
    await this.#checkpoint.saved();
  }
}

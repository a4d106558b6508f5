// Expands volumes on this node: right after set-up, before containers may use them, and while they are mounted.
// Upstream: pkg/volume/util/operationexecutor (node_expander.go, GenerateExpandInUseVolumeFunc, expandVolumeDuringMount).
// Invariants: one expansion per persistent volume at a time, however many pods use it; killing the process in between loses
// nothing, since the claim's status is the only state that decides; what is remembered per volume is bounded.
import type { PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/k8s/types.ts';
import { podRef, podUid } from '../../api/pod/pod-ref.ts';
import type { EventSink, EventText, ObjectEvents } from '../../api/ports/events.ts';
import type { Quantity } from '../../api/quantity/quantity.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { describeError } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { DeviceLocks } from '../devices/device-locks.ts';
import type { MountedVolumes } from '../mounted-volumes.ts';
import type { VolumePlugin, VolumeSpec } from '../plugin.ts';
import { observeOperation, type VolumeMetricsPort } from '../volume-metrics-port.ts';
import { failedPatch } from './claim-patches.ts';
import { ClaimStatus, type ClaimStatusDeps } from './claim-status.ts';
import { computeExpansion, type ExpansionDecision, sizeOfClaim } from './compute-expansion.ts';
import {
  claimReference,
  type ExpansionFailure,
  expandFailureOf,
  mountedExpansionFailure,
  readOnlyEvent,
  setUpExpansionFailure,
  succeededEvent,
} from './expansion-failure.ts';
import { ExpansionMemory } from './expansion-memory.ts';

interface VolumeExpanderDeps extends ClaimStatusDeps {
  readonly mounts: Pick<MountedVolumes, 'isMountedByOtherPod'>;
  readonly events: EventSink & ObjectEvents;
  readonly metrics: Pick<VolumeMetricsPort, 'observe'>;
  readonly log: Logger;
}

export interface ExpansionRequest {
  readonly pod: Pod;
  /** With its claim and persistent volume as read by the latest set-up or update. */
  readonly spec: VolumeSpec;
  readonly plugin: VolumePlugin;
  /** What containers have: the volume's directory, or the link to its device. */
  readonly path: string;
  /** As for its set-up. */
  readonly devicePath?: string | undefined;
  /** False right after set-up, before the volume counts as mounted. */
  readonly isMounted: boolean;
}

export type ExpansionResult =
  /** Nothing to do, or nothing now. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'expanded'; readonly size: Quantity }
  /** After set-up the caller reports it, and the volume does not count as mounted. Of a mounted volume it is reported already. */
  | { readonly kind: 'failed'; readonly failure: ExpansionFailure };

interface Target extends ExpansionRequest {
  /** Of the persistent volume. */
  readonly name: string;
  readonly persistent: PersistentVolume;
  readonly claim: PersistentVolumeClaim;
  readonly expansion: NonNullable<VolumePlugin['expansion']>;
}

type Expand = Extract<ExpansionDecision, { readonly do: 'expand' }>;

/** Also of a plugin whose set-up has no deadline. */
const maxDeadlineMs = 600_000;
const unchanged: ExpansionResult = { kind: 'unchanged' };

export class VolumeExpander {
  readonly #deps: VolumeExpanderDeps;
  readonly #claims: ClaimStatus;
  readonly #locks = new DeviceLocks();
  readonly #memory: ExpansionMemory;

  constructor(deps: VolumeExpanderDeps) {
    this.#deps = deps;
    this.#claims = new ClaimStatus(deps);
    this.#memory = new ExpansionMemory(deps.clock);
  }

  /** Whether expand() may have something to do now. Cheap: for callers that take a lock first. */
  isDue(request: ExpansionRequest): boolean {
    const target = targetOf(request);
    return target !== undefined && this.#hasWork(target);
  }

  /** Rejects only if the signal is aborted. */
  async expand(request: ExpansionRequest, signal: AbortSignal): Promise<ExpansionResult> {
    const target = targetOf(request);
    if (target === undefined) return unchanged;
    const { claim, isMounted, name, pod } = target;
    const isFirst = !isMounted && !this.#deps.mounts.isMountedByOtherPod(name, podUid(pod));
    this.#memory.begin(name, sizeOfClaim(claim), isFirst);
    if (!this.#hasWork(target)) return unchanged;
    return await this.#locks.run(name, signal, async () => {
      // Another pod's attempt may have ended meanwhile.
      if (!this.#hasWork(target)) return unchanged;
      try {
        return await this.#observed(target, () => this.#attempt(target, signal));
      } catch (err) {
        if (signal.aborted) throw err;
        const { spec } = target;
        const failure = isMounted ? this.#reportFailure(target, err) : setUpExpansionFailure(spec, err);
        return { kind: 'failed', failure };
      }
    });
  }

  #hasWork(target: Target): boolean {
    const { isMounted, name } = target;
    if (isMounted && this.#memory.isBackingOff(name)) return false;
    return this.#decide(target, target.claim).do !== 'nothing';
  }

  #decide({ isMounted, name, persistent, spec }: Target, claim: PersistentVolumeClaim): ExpansionDecision {
    const memory = this.#memory.get(name);
    const decision = computeExpansion({
      claim,
      persistent,
      isReadOnly: spec.readOnly,
      isMounted,
      knownSize: memory?.knownSize ?? sizeOfClaim(claim),
      hasFailed: memory?.hasFailed === true,
    });
    const isRefused = decision.do === 'expand' && memory?.refusedSize?.equals(decision.size) === true;
    return isMounted && isRefused ? { do: 'nothing' } : decision;
  }

  async #attempt(target: Target, signal: AbortSignal): Promise<ExpansionResult> {
    const decide = (claim: PersistentVolumeClaim): ExpansionDecision => this.#decide(target, claim);
    const { claim, decision } = await this.#claims.prepare(target.claim, decide, signal);
    switch (decision.do) {
      case 'nothing':
        return unchanged;
      case 'adopt-size':
        this.#memory.hasSize(target.name, decision.size);
        return unchanged;
      case 'report-read-only':
        this.#emit(target, claim, readOnlyEvent(target.spec));
        return unchanged;
      case 'expand':
        return await this.#expandTo(target, claim, decision, signal);
    }
  }

  async #expandTo(
    target: Target,
    claim: PersistentVolumeClaim,
    decision: Expand,
    signal: AbortSignal,
  ): Promise<ExpansionResult> {
    const { devicePath, expansion, name, path, plugin, pod, spec } = target;
    const { mode, size } = decision;
    const request = { pod, spec: { ...spec, claim }, path, sizeBytes: size.value(), devicePath };
    const ms = Math.min(plugin.deadlineMs, maxDeadlineMs);
    const deadline = { clock: this.#deps.clock, ms, signal, what: `expanding volume "${spec.name}"` };
    try {
      await withDeadline(deadline, (within) => expansion.expand(request, within));
    } catch (err) {
      if (signal.aborted) throw err;
      return await this.#refused(target, claim, decision, err, signal);
    }
    this.#emit(target, claim, succeededEvent(spec, pod));
    this.#deps.log.info('Expanded volume', { ...fields(target), size: size.toString() });
    if (mode !== 'shared') await this.#claims.finish(claim, size, mode, signal);
    this.#memory.expanded(name, size);
    return { kind: 'expanded', size };
  }

  /** Throws the error unless the volume can be used as it is. */
  async #refused(
    { name, pod, spec }: Target,
    claim: PersistentVolumeClaim,
    { isLastTry, mode, size }: Expand,
    err: unknown,
    signal: AbortSignal,
  ): Promise<ExpansionResult> {
    const { clock, log } = this.#deps;
    const failure = expandFailureOf(err);
    const about = { pod: podRef(pod), volume: spec.name, persistentVolume: name, err: describeError(err) };
    if (failure === 'unsupported' && mode !== 'tracked') {
      log.v(4).info('The driver does not expand volumes on nodes', about);
      this.#memory.hasSize(name, size);
      return unchanged;
    }
    if (failure !== 'uncertain' && mode !== 'legacy') {
      this.#memory.failedForSure(name);
      // differs from upstream: a claim that has its size already does not become infeasible because one more node failed.
      const isInfeasible = mode === 'tracked' && (failure === 'infeasible' || isLastTry);
      const message = `failed to expand pvc with ${describeError(err)}`;
      const patch = failedPatch(claim, { message, isInfeasible, nowMs: clock.now() });
      await this.#claims.patch(claim, patch, signal).catch((patchErr: unknown) => {
        if (signal.aborted) throw patchErr;
        log.error('Failed to record the failed expansion on the claim', { ...about, err: patchErr });
      });
    }
    if (failure !== 'precondition') throw err;
    this.#memory.refuses(name, size);
    log.error('The volume cannot be expanded while it is used', about);
    return unchanged;
  }

  /** Upstream records a duration of its own only for mounted volumes; otherwise it is part of the mount. */
  async #observed<T>({ isMounted, plugin, spec }: Target, run: () => Promise<T>): Promise<T> {
    if (!isMounted) return await run();
    const operation = {
      plugin: plugin.label?.(spec) ?? plugin.name,
      operation: 'volume_fs_resize',
      migrated: spec.isMigrated === true,
    } as const;
    return await observeOperation(this.#deps, operation, run);
  }

  #reportFailure(target: Target, err: unknown): ExpansionFailure {
    const { events, log } = this.#deps;
    const retryInMs = this.#memory.backOff(target.name);
    const failure = mountedExpansionFailure(target.spec, err);
    events.pod(target.pod, { type: 'Warning', ...failure.event });
    log.warn('Failed to expand volume', { ...fields(target), retryInMs, err: describeError(err) });
    return failure;
  }

  #emit({ pod }: Target, claim: PersistentVolumeClaim, event: EventText): void {
    this.#deps.events.pod(pod, event);
    this.#deps.events.object(claimReference(claim), event);
  }
}

/** Undefined for a volume of the pod's spec, also of a migrated kind, and if the node has no part in expansions. */
function targetOf(request: ExpansionRequest): Target | undefined {
  const { plugin, spec } = request;
  const { claim, persistent } = spec;
  const { expansion } = plugin;
  const name = persistent?.metadata?.name;
  if (claim === undefined || persistent === undefined || name === undefined || expansion === undefined)
    return undefined;
  if (expansion.applies?.(spec) === false) return undefined;
  return { ...request, name, persistent, claim, expansion };
}

function fields({ name, pod, spec }: Target): Record<string, unknown> {
  return { pod: podRef(pod), volume: spec.name, persistentVolume: name };
}

// Stops one container: its preStop hook, its turn in the termination order, SIGTERM, and SIGKILL after the rest of the grace
// period. Upstream: killContainer and setTerminationGracePeriod in kuberuntime_container.go.
// Invariants: hook, turn and signal share one grace period; at least two seconds pass between SIGTERM and SIGKILL; a hook that
// fails or takes too long never prevents the container from being stopped, and runs no longer than the container.
import type { CriRuntime } from '../../api/cri/runtime.ts';
import type { LifecycleHandler, Pod } from '../../api/k8s/types.ts';
import { findContainer } from '../../api/pod/find-container.ts';
import type { ObservedContainer } from '../../api/pod/observed.ts';
import { podRef } from '../../api/pod/pod-ref.ts';
import { containerFieldPath, type EventSink } from '../../api/ports/events.ts';
import { withDeadline } from '../../base/abort/deadline.ts';
import { isKind } from '../../base/errors.ts';
import type { Logger } from '../../base/log/log.ts';
import { type HookDeps, runHook } from '../container/hooks.ts';
import type { StopCause } from '../decide/pod-action.ts';
import type { TerminationOrder } from './termination-order.ts';

export interface StopDeps extends HookDeps {
  readonly cri: Pick<CriRuntime, 'stopContainer' | 'stopPodSandbox' | 'execSync'>;
  readonly report: { readonly events: EventSink; readonly log: Logger };
}

export interface StopOptions {
  /** Undefined: the spec is lost; only the annotations of the containers are known. */
  readonly pod: Pod | undefined;
  /** Overrides the grace periods of pod and containers. */
  readonly graceSeconds: number | undefined;
  readonly cause?: StopCause;
  /** The reason, for the log. */
  readonly why: string;
  /** The message of the Killing event; by default that the container is being stopped. */
  readonly message?: string;
  readonly podIp: string | undefined;
  readonly order?: TerminationOrder | undefined;
  readonly signal: AbortSignal;
}

/** Enough for the container to handle SIGTERM before SIGKILL. */
const minimumGraceSeconds = 2;

/** The requested grace period. It may be less than the minimum: then no hook runs. */
export function computeGraceSeconds(
  container: ObservedContainer,
  options: Pick<StopOptions, 'pod' | 'graceSeconds' | 'cause'>,
): number {
  const { pod } = options;
  return (
    options.graceSeconds ??
    pod?.metadata?.deletionGracePeriodSeconds ??
    probeGraceSeconds(container, options) ??
    pod?.spec?.terminationGracePeriodSeconds ??
    container.deletionGraceSeconds ??
    container.terminationGraceSeconds ??
    minimumGraceSeconds
  );
}

export async function stopContainer(
  deps: StopDeps,
  container: ObservedContainer,
  options: StopOptions,
): Promise<void> {
  const { clock } = deps;
  const { order, pod, signal } = options;
  const spec = findContainer(pod, container.name);
  let graceSeconds = computeGraceSeconds(container, options);
  emitKilling(deps, container, options);
  const preStop = spec === undefined ? container.preStop : spec.lifecycle?.preStop;
  const stopped = new AbortController();
  try {
    if (preStop !== undefined && graceSeconds > 0) {
      const run = { container, handler: preStop, graceSeconds, stopped: stopped.signal };
      const startedMs = clock.monotonic();
      const isLate = await runPreStop(deps, run, options);
      // A timer may fire a fraction of a millisecond early: a late hook has spent all of the grace period nevertheless.
      graceSeconds = isLate ? 0 : graceSeconds - wholeSeconds(clock.monotonic() - startedMs);
    }
    const startedMs = clock.monotonic();
    await order?.waitForTurn(container.name, graceSeconds * 1_000, signal);
    graceSeconds -= wholeSeconds(clock.monotonic() - startedMs);
    await sendStop(deps, container, graceSeconds, options);
  } finally {
    stopped.abort();
  }
  order?.stopped(container.name);
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

async function sendStop(
  deps: StopDeps,
  container: ObservedContainer,
  graceSeconds: number,
  { pod, signal, why }: StopOptions,
): Promise<void> {
  const timeout = Math.max(graceSeconds, minimumGraceSeconds);
  deps.report.log.info('Stopping container', {
    ...(pod === undefined ? {} : { pod: podRef(pod) }),
    container: container.name,
    containerID: container.id,
    graceSeconds: timeout,
    why,
  });
  await unlessGone(deps.cri.stopContainer({ containerId: container.id, timeout }, { signal }));
}

export async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (err) {
    if (!isKind(err, 'not-found')) throw err;
  }
}

/** A failed probe may have a grace period of its own. */
function probeGraceSeconds(
  { name }: ObservedContainer,
  { cause, pod }: Pick<StopOptions, 'pod' | 'cause'>,
): number | undefined {
  if (pod?.spec?.terminationGracePeriodSeconds === undefined) return undefined;
  const spec = findContainer(pod, name);
  if (cause === 'liveness') return spec?.livenessProbe?.terminationGracePeriodSeconds;
  return cause === 'startup' ? spec?.startupProbe?.terminationGracePeriodSeconds : undefined;
}

function emitKilling(
  { report: { events } }: StopDeps,
  { name }: ObservedContainer,
  options: StopOptions,
): void {
  const { message = `Stopping container ${name}`, pod } = options;
  if (pod === undefined) return;
  const fieldPath = containerFieldPath(pod, name);
  if (fieldPath !== undefined) events.pod(pod, { type: 'Normal', reason: 'Killing', message }, fieldPath);
}

interface PreStopRun {
  readonly container: ObservedContainer;
  readonly handler: LifecycleHandler;
  readonly graceSeconds: number;
  /** Aborts once the container has been stopped. */
  readonly stopped: AbortSignal;
}

/** Resolves when the hook has ended, or with true at the end of the grace period: the hook then runs on until the stop. */
async function runPreStop(deps: StopDeps, run: PreStopRun, options: StopOptions): Promise<boolean> {
  const { graceSeconds, stopped } = run;
  const { signal } = options;
  const deadline = { clock: deps.clock, ms: graceSeconds * 1_000, signal, what: 'preStop hook' };
  const hook = reportPreStop(deps, run, options, AbortSignal.any([signal, stopped]));
  try {
    await withDeadline(deadline, async () => await hook);
    return false;
  } catch (err) {
    signal.throwIfAborted();
    if (!isKind(err, 'timeout')) throw err;
    const fields = { container: run.container.name, containerID: run.container.id, graceSeconds };
    deps.report.log.info('preStop hook exceeded the grace period', fields);
    return true;
  }
}

/** Runs the hook and reports its failure. Never rejects. */
async function reportPreStop(
  deps: StopDeps,
  { container: observed, handler, stopped }: PreStopRun,
  options: StopOptions,
  signal: AbortSignal,
): Promise<void> {
  const container = findContainer(options.pod, observed.name) ?? { name: observed.name };
  const pod = options.pod ?? { metadata: {} };
  const { podIp } = options;
  const run = { pod, container, containerId: observed.id, handler, podIp, when: 'preStop' as const };
  try {
    await runHook(deps, run, signal);
  } catch (err) {
    // An interrupted command or request has failed; an interrupted sleep has not.
    if (options.signal.aborted || (stopped.aborted && handler.sleep !== undefined)) return;
    const fields = { pod: podRef(pod), container: observed.name, containerID: observed.id };
    deps.report.log.error('Failed to run preStop hook', { ...fields, err });
    const fieldPath = containerFieldPath(pod, observed.name);
    // The error may contain the hook's output, so it is not part of the event.
    const event = { type: 'Warning', reason: 'FailedPreStopHook', message: 'PreStopHook failed' } as const;
    if (fieldPath !== undefined) deps.report.events.pod(pod, event, fieldPath);
  }
}

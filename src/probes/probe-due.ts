// Decides when a probe runs next. Pure. Upstream: run and doProbe in pkg/kubelet/prober/worker.go.
// Invariant: a container that was running before the kubelet started is probed within `spreadMs`, not a random period later.
import type { ProbeKind } from '../api/ports/probe-results.ts';

export interface DueInput {
  readonly kind: ProbeKind;
  readonly timing: { readonly initialDelayMs: number; readonly periodMs: number };
  /** When the container started and when its worker first observed it; both on the monotonic clock. */
  readonly startedAtMs: number;
  readonly seenAtMs: number;
  /** Jitter for a container that was running before the kubelet started; otherwise 0. */
  readonly spreadMs: number;
  /** When the first and the last probe of this container began. */
  readonly firstRunAtMs: number | undefined;
  readonly lastRunAtMs: number | undefined;
  /** Consecutive failures of a new container's readiness probe. */
  readonly earlyFailures: number;
  /** Delay before the retry that follows the first early failure. */
  readonly retryMs: number;
  readonly onHold: boolean;
  /** The startup probe has succeeded, or there is none. */
  readonly started: boolean;
}

/** Monotonic milliseconds; undefined while no probe is to run. */
export function computeDue(input: DueInput): number | undefined {
  const { kind, onHold, started, timing } = input;
  if (onHold || (kind !== 'startup' && !started)) return undefined;
  if (input.lastRunAtMs !== undefined) return nextMs(input, input.lastRunAtMs);
  return Math.max(input.startedAtMs + firstDelayMs(kind, timing), input.seenAtMs + input.spreadMs);
}

/** Enough for most servers to start listening, and longer than upstream waits before the first probe. */
const suppressMs = 2_000;

type FirstRun = Pick<DueInput, 'firstRunAtMs' | 'timing'>;

/** Whether a container of this age may still be starting up towards its first readiness. */
export function isInFirstPeriod({ firstRunAtMs, timing }: FirstRun, atMs: number): boolean {
  return firstRunAtMs !== undefined && atMs < firstRunAtMs + timing.periodMs;
}

/** Whether the container is so new that a failure is expected: it is not counted and emits no event. */
export function isFailureSuppressed(first: FirstRun, atMs: number): boolean {
  return isInFirstPeriod(first, atMs) && atMs < (first.firstRunAtMs ?? 0) + suppressMs;
}

/** Early failures are retried after `retryMs`, doubled each time; at the latest when upstream would have probed. */
function nextMs(input: DueInput, lastRunAtMs: number): number {
  const { firstRunAtMs = lastRunAtMs, retryMs, timing, earlyFailures } = input;
  if (earlyFailures === 0 || !isInFirstPeriod(input, lastRunAtMs)) return lastRunAtMs + timing.periodMs;
  return Math.min(lastRunAtMs + retryMs * 2 ** (earlyFailures - 1), firstRunAtMs + timing.periodMs);
}

/**
 * Readiness is probed as early as allowed. Probes that can kill a container leave it a whole period first.
 * differs from upstream: there the period's phase depends on the pod's arrival, so the first probe runs at any moment of it.
 */
function firstDelayMs(kind: ProbeKind, { initialDelayMs, periodMs }: DueInput['timing']): number {
  return kind === 'readiness' ? initialDelayMs : Math.max(initialDelayMs, periodMs);
}

// When a probe is to run next. Pure. Upstream: run and doProbe in pkg/kubelet/prober/worker.go.
// Invariant: a container that this life of the kubelet finds running is asked within `spreadMs`, not a random period later.
import type { ProbeKind } from '../api/probe-results.ts';

export interface DueInput {
  readonly kind: ProbeKind;
  readonly timing: { readonly initialDelayMs: number; readonly periodMs: number };
  /** When the container started and when its worker first saw it; both on the monotonic clock. */
  readonly startedAtMs: number;
  readonly seenAtMs: number;
  /** For a container that was there before this kubelet; otherwise 0. */
  readonly spreadMs: number;
  /** When the last probe of this container began. */
  readonly lastRunAtMs: number | undefined;
  readonly onHold: boolean;
  /** The startup probe has succeeded, or there is none. */
  readonly started: boolean;
}

/** Monotonic milliseconds; undefined while nothing is to be asked. */
export function computeDue(input: DueInput): number | undefined {
  const { kind, onHold, started, timing } = input;
  if (onHold || (kind !== 'startup' && !started)) return undefined;
  if (input.lastRunAtMs !== undefined) return input.lastRunAtMs + timing.periodMs;
  return Math.max(input.startedAtMs + firstDelayMs(kind, timing), input.seenAtMs + input.spreadMs);
}

/**
 * Readiness is wanted as soon as it may be asked for. What can end a container leaves it a whole period first.
 * differs from upstream: there the period's phase is that of the pod's arrival, so the first probe comes at any moment of it.
 */
function firstDelayMs(kind: ProbeKind, { initialDelayMs, periodMs }: DueInput['timing']): number {
  return kind === 'readiness' ? initialDelayMs : Math.max(initialDelayMs, periodMs);
}

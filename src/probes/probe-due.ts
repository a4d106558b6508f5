// When a probe is to run next. Pure. Upstream: run and doProbe in pkg/kubelet/prober/worker.go.
// Invariant: a container that this life of the kubelet finds running is asked within `spreadMs`, not a random period later.
import type { ProbeKind } from '../api/ports/probe-results.ts';

export interface DueInput {
  readonly kind: ProbeKind;
  readonly timing: { readonly initialDelayMs: number; readonly periodMs: number };
  /** When the container started and when its worker first saw it; both on the monotonic clock. */
  readonly startedAtMs: number;
  readonly seenAtMs: number;
  /** For a container that was there before this kubelet; otherwise 0. */
  readonly spreadMs: number;
  /** When the first and the last probe of this container began. */
  readonly firstRunAtMs: number | undefined;
  readonly lastRunAtMs: number | undefined;
  /** How often in a row the container was found not to be ready yet. */
  readonly tooEarly: number;
  /** After how long it is asked again when it was so for the first time. */
  readonly soonMs: number;
  readonly onHold: boolean;
  /** The startup probe has succeeded, or there is none. */
  readonly started: boolean;
}

/** Monotonic milliseconds; undefined while nothing is to be asked. */
export function computeDue(input: DueInput): number | undefined {
  const { kind, onHold, started, timing } = input;
  if (onHold || (kind !== 'startup' && !started)) return undefined;
  if (input.lastRunAtMs !== undefined) return nextMs(input, input.lastRunAtMs);
  return Math.max(input.startedAtMs + firstDelayMs(kind, timing), input.seenAtMs + input.spreadMs);
}

/** What most servers need until they listen, and longer than upstream takes to ask for the first time. */
const quietMs = 2_000;

type FirstRun = Pick<DueInput, 'firstRunAtMs' | 'timing'>;

/** Whether a container of this age may still be on its way to its first word of readiness. */
export function isInFirstPeriod({ firstRunAtMs, timing }: FirstRun, atMs: number): boolean {
  return firstRunAtMs !== undefined && atMs < firstRunAtMs + timing.periodMs;
}

/** Whether it is so young that a failure is no news: it is neither counted nor told. */
export function isQuiet(first: FirstRun, atMs: number): boolean {
  return isInFirstPeriod(first, atMs) && atMs < (first.firstRunAtMs ?? 0) + quietMs;
}

/** Too early: soon, then twice as long after each time; at the latest when upstream would have asked. */
function nextMs(input: DueInput, lastRunAtMs: number): number {
  const { firstRunAtMs = lastRunAtMs, soonMs, timing, tooEarly } = input;
  if (tooEarly === 0 || !isInFirstPeriod(input, lastRunAtMs)) return lastRunAtMs + timing.periodMs;
  return Math.min(lastRunAtMs + soonMs * 2 ** (tooEarly - 1), firstRunAtMs + timing.periodMs);
}

/**
 * Readiness is wanted as soon as it may be asked for. What can end a container leaves it a whole period first.
 * differs from upstream: there the period's phase is that of the pod's arrival, so the first probe comes at any moment of it.
 */
function firstDelayMs(kind: ProbeKind, { initialDelayMs, periodMs }: DueInput['timing']): number {
  return kind === 'readiness' ? initialDelayMs : Math.max(initialDelayMs, periodMs);
}

// States in one sentence why a container or a pod ended. Pure: no clock, no I/O, no log.
// Invariant: a container's own end is never attributed to a termination that began later.
import type { PodKill } from '../api/ports/pod-kill.ts';
import { type EndKind, truncateText } from './end-record.ts';
import { signalOfExitCode } from './signal-name.ts';

export interface ContainerEnd {
  readonly name: string;
  readonly exitCode: number;
  /** The runtime's reason and message. */
  readonly reason: string;
  readonly message: string;
  /** 0: it never ran. */
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  /** Of the spec, such as 64Mi. */
  readonly memoryLimit?: string | undefined;
  /** The termination of the pod, if it began before the container ended. */
  readonly termination?: PodTermination | undefined;
  /** The message of the event Killing that this container got. */
  readonly killing?: string | undefined;
  /** The sandbox of the container had ended, too, while the pod should run. */
  readonly sandboxDied?: boolean;
}

export interface PodTermination {
  readonly why: string;
  readonly sinceMs: number;
  readonly graceSeconds: number;
  readonly kill?: PodKill | undefined;
}

interface DescribedEnd {
  readonly kind: EndKind;
  readonly cause: string;
  readonly signal?: string;
}

const kinds: Readonly<Record<string, EndKind>> = {
  Evicted: 'evicted',
  Preempting: 'preempted',
  DeadlineExceeded: 'deadline',
  Terminated: 'shutdown',
  NodeShutdown: 'shutdown',
};

const podCauses: Readonly<Partial<Record<EndKind, string>>> = {
  evicted: 'was evicted',
  preempted: 'was preempted by a critical pod',
  deadline: 'exceeded its active deadline',
  shutdown: 'was terminated by the shutdown of the node',
};

const maxQuotedBytes = 400;

/** The kind of a termination by the kubelet itself. */
export function killKind({ evicted, reason }: PodKill): EndKind {
  return evicted === true ? 'evicted' : (kinds[reason] ?? 'killed');
}

export function describeKill(kill: PodKill): DescribedEnd {
  const kind = killKind(kill);
  return { kind, cause: sentence(`The pod ${podCause(kill)}: ${quoted(kill.message)}`) };
}

export function describeRejection(reason: string, message: string): DescribedEnd {
  return {
    kind: 'rejected',
    cause: sentence(`The kubelet rejected the pod (${reason}): ${quoted(message)}`),
  };
}

export function describeContainerEnd(end: ContainerEnd): DescribedEnd {
  const signal = signalOfExitCode(end.exitCode);
  const kind = end.reason === 'OOMKilled' ? 'oom' : 'exit';
  const cause = sentence(`Container ${end.name} ${predicate(end, signal)}`);
  return { kind, cause, ...(signal === undefined ? {} : { signal }) };
}

function predicate(end: ContainerEnd, signal: string | undefined): string {
  const { exitCode, killing, memoryLimit, message, reason, sandboxDied, startedAtMs, termination } = end;
  const code = `exit code ${exitCode}${signal === undefined ? '' : `, ${signal}`}`;
  if (reason === 'OOMKilled') {
    const exceeded =
      memoryLimit === undefined
        ? 'its pod or the node ran out of memory'
        : `it exceeded its memory limit of ${memoryLimit}`;
    // The kernel may choose another process of the container than its first.
    return exitCode === sigkillCode
      ? `was killed by the kernel because ${exceeded} (${code})`
      : `ended after the kernel killed one of its processes because ${exceeded} (${code})`;
  }
  if (startedAtMs === 0) return `could not be started: ${quoted(message || reason)} (${code})`;
  if (termination !== undefined) return `${stopped(termination, end)} (${code})`;
  if (killing !== undefined) return `was stopped by the kubelet because ${killingCause(killing)} (${code})`;
  if (reason === 'Unknown') {
    return `ended while the container runtime was not running, as in a reboot of the node (${code})`;
  }
  if (sandboxDied === true && signal !== undefined) return `ended with the sandbox of its pod (${code})`;
  if (exitCode === 0) return 'completed (exit code 0)';
  if (signal !== undefined) return `was terminated by ${signal} (exit code ${exitCode})`;
  return `exited with an error (${code}${hints[exitCode] ?? ''})`;
}

/** 128 + SIGKILL. */
const sigkillCode = 137;

const hints: Readonly<Record<number, string>> = {
  126: ', usually a command that cannot be executed',
  127: ', usually a command that was not found',
};

function stopped(
  { graceSeconds, kill, sinceMs, why }: PodTermination,
  { exitCode, finishedAtMs }: ContainerEnd,
): string {
  const because = kill === undefined ? why : `its pod ${podCause(kill)}: ${quoted(kill.message)}`;
  const isLate =
    exitCode === sigkillCode && graceSeconds > 0 && finishedAtMs - sinceMs >= graceSeconds * 1000;
  const late = isLate ? `, and killed after its grace period of ${graceSeconds} s` : '';
  return `was stopped because ${because.replace(/\.$/, '')}${late}`;
}

function podCause(kill: PodKill): string {
  return podCauses[killKind(kill)] ?? `was terminated by the kubelet (${quoted(kill.reason)})`;
}

/** From the message of the event Killing: `Container app failed liveness probe, will be restarted`. */
function killingCause(message: string): string {
  const probe = ['liveness', 'startup'].find((each) => message.includes(`failed ${each} probe`));
  return probe === undefined ? quoted(message) : `it failed its ${probe} probe`;
}

function quoted(text: string): string {
  return truncateText(text.trim(), maxQuotedBytes);
}

function sentence(text: string): string {
  return truncateText(text.endsWith('.') ? text : `${text}.`);
}

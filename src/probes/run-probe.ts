// Runs one probe to a verdict: up to three attempts if an attempt errors, no retry if the container has exited.
// Upstream: probe and runProbeWithRetries in pkg/kubelet/prober/prober.go, pkg/probe/exec.
// An attempt that timed out while the kubelet's event loop was delayed is repeated before its failure counts.
// Invariant: settles within the attempts' timeouts or at the abort; a command that is too slow is killed by the runtime.
import { type CriRuntime, isCommandTimeout, rpcErrorText } from '../api/cri/runtime.ts';
import { formatDurationMs } from '../api/k8s/duration.ts';
import type { ContainerId } from '../api/pod/pod-ref.ts';
import type { LoopDelay } from '../api/ports/loop-delay.ts';
import type { ProbeAnswer, ProbeEdges } from '../api/ports/probe-requests.ts';
import type { Clock } from '../base/clock.ts';
import { describeError, isAbortOf, KubeletError } from '../base/errors.ts';
import type { ProbeTarget } from './probe-target.ts';

interface RunProbeDeps {
  readonly edges: ProbeEdges;
  readonly cri: Pick<CriRuntime, 'execSync'>;
  /** The gate ExecProbeTimeout: a command that times out has failed. Without it, the probe errors. */
  readonly timeoutFails: boolean;
  readonly loopDelay: LoopDelay;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export type ProbeVerdict =
  | ProbeAnswer
  /** No result: reported in an event, not counted. */
  | { readonly result: 'errored'; readonly state: 'failure' | 'unknown'; readonly output: string }
  /** The container exited during the probe: neither reported nor counted. */
  | { readonly result: 'gone' };

/** Runs one probe of the container; `target` is evaluated for each attempt. */
export type ProbeRunner = (
  id: ContainerId,
  target: () => ProbeTarget,
  signal: AbortSignal,
) => Promise<ProbeVerdict>;

const attempts = 3;
/** How often an attempt is repeated that timed out while the kubelet's event loop was delayed. */
const maxRepeats = 2;
const outputLimitBytes = 10 * 1024;
/** The messages with which runtimes reject a command in a container that has just exited. */
const goneMessage =
  /(container|task|process|execution) \S* ?(was )?not found|not running|CONTAINER_EXITED|process already finished|cannot exec in a (stopped|deleted)/i;

export function probeRunner(deps: RunProbeDeps): ProbeRunner {
  return (id, target, signal) => runProbe(deps, id, target, signal);
}

async function runProbe(
  deps: RunProbeDeps,
  id: ContainerId,
  target: () => ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeVerdict> {
  let failure: unknown;
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      return await runRepeatedly(deps, id, target(), signal);
    } catch (err) {
      if (signal.aborted || isAbortOf(err, signal)) return { result: 'gone' };
      if (isGone(err)) return { result: 'gone' };
      failure = err;
    }
  }
  const state =
    failure instanceof KubeletError && failure.reason === 'ProbeBodyFailed' ? 'failure' : 'unknown';
  return { result: 'errored', state, output: errorText(failure) };
}

/**
 * Repeats attempts that timed out during a delay of the event loop: a server that answered in time must not fail its probe
 * because the kubelet was too busy to read the answer.
 * differs from upstream: there every timeout counts; its probes run on threads of their own.
 */
async function runRepeatedly(
  deps: RunProbeDeps,
  id: ContainerId,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  for (let repeats = 0; ; repeats++) {
    const beganMs = deps.clock.monotonic();
    if (target.by !== 'exec') deps.loopDelay.watch(target.request.timeoutMs);
    const answer = await runOnce(deps, id, target, signal);
    if (answer.timedOut !== true || repeats === maxRepeats) return answer;
    if (deps.loopDelay.maxSinceMs(beganMs) < significantDelayMs(target)) return answer;
    signal.throwIfAborted();
  }
}

/** Commands are timed by the runtime, so a delay of the kubelet does not matter. */
function significantDelayMs(target: ProbeTarget): number {
  return target.by === 'exec' ? Number.POSITIVE_INFINITY : Math.max(100, target.request.timeoutMs / 10);
}

async function runOnce(
  { cri, edges, timeoutFails }: RunProbeDeps,
  id: ContainerId,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  switch (target.by) {
    case 'exec':
      return await runCommand(cri, id, target, timeoutFails, signal);
    case 'http':
      return await edges.http(target.request, signal);
    case 'tcp':
      return await edges.tcp(target.request, signal);
    case 'grpc':
      return await edges.grpc(target.request, signal);
  }
}

async function runCommand(
  cri: RunProbeDeps['cri'],
  containerId: ContainerId,
  { command, timeoutSeconds }: Extract<ProbeTarget, { by: 'exec' }>,
  timeoutFails: boolean,
  signal: AbortSignal,
): Promise<ProbeAnswer> {
  try {
    const options = { signal, keepBytes: outputLimitBytes };
    const answer = await cri.execSync({ containerId, cmd: command, timeout: timeoutSeconds }, options);
    const output = firstBytes([answer.stdout, answer.stderr]);
    return { result: answer.exitCode === 0 ? 'success' : 'failure', output };
  } catch (err) {
    if (!timeoutFails || !isCommandTimeout(err)) throw err;
    const after = formatDurationMs(timeoutSeconds * 1_000);
    return {
      result: 'failure',
      output: `command timed out: ${JSON.stringify(command.join(' '))} timed out after ${after}`,
    };
  }
}

function firstBytes(chunks: readonly Uint8Array[]): string {
  const beginnings = chunks.map((chunk) => chunk.subarray(0, outputLimitBytes));
  return Buffer.concat(beginnings).subarray(0, outputLimitBytes).toString('utf8');
}

/** Applies to commands only: errors of other probes have neither this kind nor these messages. */
function isGone(err: unknown): boolean {
  if (!(err instanceof KubeletError)) return false;
  if (err.kind === 'not-found') return true;
  return goneMessage.test(err.message);
}

function errorText(err: unknown): string {
  return err instanceof KubeletError ? rpcErrorText(err) : describeError(err);
}

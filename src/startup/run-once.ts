// Decides when a kubelet with --runonce is done. Pure.
// Upstream: formerly pkg/kubelet/runonce.go, where the durations come from; upstream now rejects --runonce.
import type { ContainerStatus, Pod, PodStatus } from '../api/k8s/types.ts';
import { podRef } from '../api/pod/pod-ref.ts';

export interface RunOncePod {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
}

export interface RunOnceEnd {
  readonly exit: 0 | 1;
  /** The pods that did not start. */
  readonly failed: readonly string[];
}

/** How long the sources have to report their pods. */
export const manifestDelayMs = 1_000;

/** How long pods have to start: ten retries, the first after a second, with doubling delays. */
export const longestWaitMs = (2 ** 10 - 1) * 1_000;

/**
 * Done when every pod has all its containers running, or has completed if its restart policy lets it complete. Exits with 1 if
 * one failed.
 * differs from upstream: pods that complete are waited for, since whether one is seen running before it fails is a race.
 */
export function runOnceOutcome(pods: readonly RunOncePod[]): 'wait' | RunOnceEnd {
  const states = pods.map((each) => ({ name: podRef(each.pod), state: podState(each) }));
  if (states.some(({ state }) => state === 'starting' || state === 'running')) return 'wait';
  const failed = states.filter(({ state }) => state === 'failed').map(({ name }) => name);
  return { exit: failed.length === 0 ? 0 : 1, failed };
}

/** The outcome at the deadline: pods that are still starting have failed, pods that run have started. */
export function runOnceTimeout(pods: readonly RunOncePod[]): RunOnceEnd {
  const failed = pods.filter((each) => ['starting', 'failed'].includes(podState(each)));
  return { exit: failed.length === 0 ? 0 : 1, failed: failed.map(({ pod }) => podRef(pod)) };
}

/** `running`: up, and expected to complete. */
type PodState = 'starting' | 'running' | 'up' | 'failed';

function podState({ pod, status }: RunOncePod): PodState {
  // differs from upstream: a rejected pod counts as failed. There it was ignored, and the exit code was 0.
  if (status?.phase === 'Failed') return 'failed';
  if (status?.phase === 'Succeeded') return 'up';
  const policy = pod.spec?.restartPolicy;
  const states = (pod.spec?.containers ?? []).map(({ name }) =>
    containerState(
      status?.containerStatuses?.find((each) => each.name === name),
      policy,
    ),
  );
  if (states.includes('failed')) return 'failed';
  if (states.includes('starting')) return 'starting';
  return states.includes('running') ? 'running' : 'up';
}

function containerState(status: ContainerStatus | undefined, policy: string | undefined): PodState {
  const completes = policy === 'Never' || policy === 'OnFailure';
  if (status?.state?.running !== undefined) return completes ? 'running' : 'up';
  const terminated = status?.state?.terminated;
  if (terminated === undefined) return 'starting';
  if (terminated.exitCode !== 0) return policy === 'Never' ? 'failed' : 'starting';
  return completes ? 'up' : 'starting';
}

// When a kubelet that runs its pods once is done: --runonce. Pure.
// Upstream had it in pkg/kubelet/runonce.go, from where the numbers are; v1.34 refuses it.
import type { ContainerStatus, Pod, PodStatus } from '../api/k8s/types.ts';
import { podRef } from '../api/pod/pod-ref.ts';

export interface RunOncePod {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
}

export interface RunOnceEnd {
  readonly exit: 0 | 1;
  /** Which pods did not start. */
  readonly failed: readonly string[];
}

/** How long the sources have to name their pods. */
export const manifestDelayMs = 1_000;

/** How long pods have to start: ten retries, the first after a second, each wait twice the one before. */
export const longestWaitMs = (2 ** 10 - 1) * 1_000;

/**
 * Done when every pod has all its containers up or, where it is one that ends, has ended; 1 when one ended badly.
 * differs from upstream: a pod that ends is waited for. Whether it was still seen running before it failed is chance.
 */
export function runOnceOutcome(pods: readonly RunOncePod[]): 'wait' | RunOnceEnd {
  const states = pods.map((each) => ({ name: podRef(each.pod), state: podState(each) }));
  if (states.some(({ state }) => state === 'starting' || state === 'running')) return 'wait';
  const failed = states.filter(({ state }) => state === 'failed').map(({ name }) => name);
  return { exit: failed.length === 0 ? 0 : 1, failed };
}

/** What to say when the time is over: what still starts has failed, what runs has started. */
export function runOnceTimeout(pods: readonly RunOncePod[]): RunOnceEnd {
  const failed = pods.filter((each) => ['starting', 'failed'].includes(podState(each)));
  return { exit: failed.length === 0 ? 0 : 1, failed: failed.map(({ pod }) => podRef(pod)) };
}

/** Running: up, and yet to end. */
type PodState = 'starting' | 'running' | 'up' | 'failed';

function podState({ pod, status }: RunOncePod): PodState {
  // differs from upstream: a pod that was refused has failed, too. It said nothing about it and exited with 0.
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
  const ends = policy === 'Never' || policy === 'OnFailure';
  if (status?.state?.running !== undefined) return ends ? 'running' : 'up';
  const ended = status?.state?.terminated;
  if (ended === undefined) return 'starting';
  if (ended.exitCode !== 0) return policy === 'Never' ? 'failed' : 'starting';
  return ends ? 'up' : 'starting';
}

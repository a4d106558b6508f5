// The pod workers and who finds them work on the disk.
import type { Clock } from '../base/clock.ts';
import type { Component } from '../base/component.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import { hasEndedForGood } from '../runtime/decide/compute-pod-actions.ts';
import { CrashBackoff, crashLimits } from '../runtime/decide/crash-backoff.ts';
import type { PodRuntime } from '../runtime/pod-runtime.ts';
import type { GarbagePolicy } from '../runtime/stop/garbage.ts';
import { Housekeeping, Leftovers } from '../workers/housekeeping.ts';
import { PodWorkers } from '../workers/pod-workers.ts';
import type { PodWorkersDeps, WorkerPolicy } from '../workers/worker-deps.ts';

interface WorkersInput extends Omit<PodWorkersDeps, 'runtime' | 'policy' | 'leftovers' | 'settings' | 'log'> {
  readonly runtime: PodRuntime;
  readonly policy: Omit<WorkerPolicy, 'hasEndedForGood'>;
  readonly restartRules: boolean;
  readonly syncFrequencyMs: number;
  readonly log: (component: string) => Logger;
}

/** How long calls under way may go on when the kubelet stops. */
const drainMs = 3_000;
const housekeepingMs = 60_000;

export function podWorkers(input: WorkersInput): {
  readonly workers: PodWorkers;
  /** The workers themselves, and what finds them work. */
  readonly components: readonly Component[];
} {
  const { clock, desired, restartRules, runtime, syncFrequencyMs } = input;
  const leftovers = new Leftovers();
  const workers = new PodWorkers({
    ...input,
    policy: {
      ...input.policy,
      hasEndedForGood: (pod, seen) => hasEndedForGood(pod, seen, { restartRules }),
    },
    leftovers,
    settings: { syncFrequencyMs, drainMs },
    log: input.log('workers'),
  });
  const housekeeping = new Housekeeping({
    desired,
    workers,
    disk: runtime,
    leftovers,
    clock,
    log: input.log('housekeeping'),
    everyMs: housekeepingMs,
  });
  return { workers, components: [workers, housekeeping] };
}

/** How long containers that crash wait, as the operator has it. */
export function crashBackoff({
  clock,
  config,
  gates,
}: {
  readonly clock: Clock;
  readonly config: Pick<KubeletConfiguration, 'crashLoopBackOff'>;
  readonly gates: Pick<FeatureGates, 'KubeletCrashLoopBackOffMax' | 'ReduceDefaultCrashLoopBackOffDecay'>;
}): CrashBackoff {
  const { maxContainerRestartPeriod } = config.crashLoopBackOff;
  return new CrashBackoff(
    clock,
    crashLimits({
      reduced: gates.ReduceDefaultCrashLoopBackOffDecay,
      longestMs: gates.KubeletCrashLoopBackOffMax ? maxContainerRestartPeriod?.ms : undefined,
    }),
  );
}

/** What is kept of containers that ended, as the operator has it. */
export function garbagePolicy(
  flags: Pick<
    KubeletFlags,
    'maximumDeadContainers' | 'maximumDeadContainersPerContainer' | 'minimumContainerTTLDuration'
  >,
): GarbagePolicy {
  return {
    perContainer: flags.maximumDeadContainersPerContainer,
    minAgeMs: flags.minimumContainerTTLDuration.ms,
    total: flags.maximumDeadContainers,
  };
}

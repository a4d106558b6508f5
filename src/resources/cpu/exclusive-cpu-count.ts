// How many CPUs of its own a container, or a whole pod, is promised. Pure.
// Upstream: guaranteedCPUs and podGuaranteedCPUs of pkg/kubelet/cm/cpumanager/policy_static.go, with the gate
// PodLevelResourceManagers off: a pod with pod-level resources uses the shared CPUs.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { hasPodLevelResources } from '../../api/pod/resources.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import { Quantity } from '../../api/quantity/quantity.ts';

/** 0: the container uses the shared CPUs. Only whole CPUs of a Guaranteed pod are exclusive. */
export function exclusiveCpuCount(pod: Pod, container: Container): number {
  return isEligible(pod) ? wholeCpus(container) : 0;
}

/** What the pod needs at once: sidecars run beside the init containers after them and beside the regular containers. */
export function exclusivePodCpuCount(pod: Pod): number {
  if (!isEligible(pod)) return 0;
  let starting = 0;
  let sidecars = 0;
  for (const container of pod.spec?.initContainers ?? []) {
    const own = wholeCpus(container);
    if (isSidecar(container)) sidecars += own;
    else starting = Math.max(starting, sidecars + own);
  }
  const regular = (pod.spec?.containers ?? []).reduce((sum, each) => sum + wholeCpus(each), 0);
  return Math.max(starting, sidecars + regular);
}

function isEligible(pod: Pod): boolean {
  return podQosClass(pod) === 'Guaranteed' && !hasPodLevelResources(pod);
}

function wholeCpus({ resources }: Container): number {
  const request = resources?.requests?.['cpu'];
  if (request === undefined) return 0;
  const cpus = Quantity.fromJson(request);
  const whole = cpus.value();
  return whole > 0n && whole * 1000n === cpus.milliValue() ? Number(whole) : 0;
}

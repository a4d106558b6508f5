// The memory and huge pages that containers and pods request from the memory manager. Pure.
// Upstream: getContainerRequestedResources and getPodRequestedResources in pkg/kubelet/cm/memorymanager/policy_static.go.
import type { Container, Pod } from '../../api/k8s/types.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import { hasPodLevelResources } from '../../api/pod/resources.ts';
import { isSidecar } from '../../api/pod/restart-policy.ts';
import { filterAmounts, parseAmounts } from '../../api/quantity/resource-amounts.ts';
import { KubeletError } from '../../base/errors.ts';
import { isMemoryType, wholeAmount } from './memory-machine.ts';

/** In bytes, by resource, in the order of names. */
export type MemoryRequests = ReadonlyMap<string, number>;

/** Whether the containers of this pod get memory of their own: it is Guaranteed by the resources of its containers. */
export function hasOwnMemory(pod: Pod): boolean {
  return podQosClass(pod) === 'Guaranteed' && !hasPodLevelResources(pod);
}

/** Throws if a request is fractional or does not fit into 64 bits. */
// differs from upstream: whole amounts count however they are written; upstream refuses "1.5Gi" of a static pod.
export function containerMemory({ resources }: Container): MemoryRequests {
  const requested = [...filterAmounts(parseAmounts(resources?.requests), isMemoryType)].map(
    ([type, quantity]): [string, number] => {
      const bytes = wholeAmount(quantity);
      if (bytes !== undefined) return [type, bytes];
      const message = '[memorymanager] failed to represent quantity as int64';
      throw new KubeletError('invalid', 'UnexpectedAdmissionError', message);
    },
  );
  return new Map(requested.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The most that the pod needs at a time. Resources that only init containers request do not count. */
export function podMemory({ spec }: Pod): MemoryRequests {
  const starting = new Map<string, number>();
  const sidecars = new Map<string, number>();
  for (const container of spec?.initContainers ?? [])
    for (const [type, bytes] of containerMemory(container)) {
      const sum = (sidecars.get(type) ?? 0) + bytes;
      if (isSidecar(container)) sidecars.set(type, sum);
      else starting.set(type, Math.max(starting.get(type) ?? 0, sum));
    }
  const running = new Map<string, number>();
  for (const container of spec?.containers ?? [])
    for (const [type, bytes] of containerMemory(container))
      running.set(type, (running.get(type) ?? 0) + bytes);
  const total = [...running].map(([type, bytes]): [string, number] => [
    type,
    Math.max(bytes + (sidecars.get(type) ?? 0), starting.get(type) ?? 0),
  ]);
  return new Map(total.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The init containers before this one that have ended when it starts: all of them for a regular container. */
export function endedInitContainers({ spec }: Pod, container: string): readonly Container[] {
  const all = spec?.initContainers ?? [];
  const at = all.findIndex(({ name }) => name === container);
  return (at === -1 ? all : all.slice(0, at)).filter((each) => !isSidecar(each));
}

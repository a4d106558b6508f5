// Rejects pods while the node is under pressure. Pure; reason and message are upstream's.
// Upstream: Admit in pkg/kubelet/eviction/eviction_manager.go.
import type { Pod, Taint } from '../../api/k8s/types.ts';
import { isCriticalPod } from '../../api/pod/critical-pods.ts';
import { podQosClass } from '../../api/pod/qos.ts';
import type { PressureCondition } from '../../api/ports/pressure.ts';
import { tolerates } from './node-constraints.ts';

interface PressureRejection {
  readonly reason: 'Evicted';
  readonly message: string;
}

const memoryPressureTaint: Taint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/** `conditions`: of the node, in the order in which it reports them. Undefined if the pod may be admitted. */
export function admitUnderPressure(
  pod: Pod,
  conditions: readonly PressureCondition[],
  options: { readonly skipPodLevelResources?: boolean } = {},
): PressureRejection | undefined {
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  const onlyMemory = conditions.every((condition) => condition === 'MemoryPressure');
  if (onlyMemory && podQosClass(pod, options) !== 'BestEffort') return undefined;
  const tolerations = pod.spec?.tolerations ?? [];
  if (onlyMemory && tolerations.some((each) => tolerates(each, memoryPressureTaint))) return undefined;
  return { reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` };
}

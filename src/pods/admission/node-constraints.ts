// Checks the constraints other than resources: node name, host ports and taints. Pure.
// Upstream: the scheduler's nodename, nodeports and tainttoleration plugins.
import type { ContainerPort, Node, Pod, Taint, Toleration } from '../../api/k8s/types.ts';
import { longRunningContainers } from '../../api/pod/find-container.ts';

export function namesAnotherNode(pod: Pod, node: Node): boolean {
  const nodeName = pod.spec?.nodeName ?? '';
  return nodeName !== '' && nodeName !== node.metadata?.name;
}

const anyAddress = '0.0.0.0';

export function hasPortConflict(pod: Pod, others: readonly Pod[]): boolean {
  const inUse = others.flatMap(hostPorts);
  return hostPorts(pod).some((port) => inUse.some((other) => conflicts(port, other)));
}

interface HostPort {
  readonly address: string;
  readonly protocol: string;
  readonly port: number;
}

function hostPorts(pod: Pod): readonly HostPort[] {
  return longRunningContainers(pod)
    .flatMap((container): readonly ContainerPort[] => container.ports ?? [])
    .filter(({ hostPort = 0 }) => hostPort > 0)
    .map(({ hostIP = '', hostPort = 0, protocol = 'TCP' }) => ({
      address: hostIP === '' ? anyAddress : hostIP,
      protocol,
      port: hostPort,
    }));
}

function conflicts(a: HostPort, b: HostPort): boolean {
  const sameAddress = a.address === b.address || a.address === anyAddress || b.address === anyAddress;
  return sameAddress && a.protocol === b.protocol && a.port === b.port;
}

/** The first NoExecute taint that the pod does not tolerate. */
export function untoleratedTaint(pod: Pod, node: Node): Taint | undefined {
  const tolerations = pod.spec?.tolerations ?? [];
  return (node.spec?.taints ?? []).find(
    (taint) => taint.effect === 'NoExecute' && !tolerations.some((each) => tolerates(each, taint)),
  );
}

export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { effect = '', key = '', operator = 'Equal', value = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return operator === 'Equal' && value === (taint.value ?? '');
}

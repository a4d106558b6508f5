// Plugs admission together: what runs, what the node is and has, and who can end a pod. Nothing is decided here.

import type { Node, Pod, PodStatus } from '../api/k8s/types.ts';
import { isDown, type ObservedPod } from '../api/pod/observed.ts';
import { type PodUid, podUid } from '../api/pod/pod-ref.ts';
import type { EventSink } from '../api/ports/events.ts';
import type { PodKill } from '../api/ports/pod-kill.ts';
import { formatAmounts, type ResourceAmounts } from '../api/quantity/resource-amounts.ts';
import type { Logger } from '../base/log/log.ts';
import type { FeatureGates } from '../config/gates/feature-gates.ts';
import type { KubeletConfiguration } from '../config/table/kubelet-configuration.ts';
import type { KubeletFlags } from '../config/table/kubelet-flags.ts';
import type { MachineFacts } from '../edge/machine/machine.ts';
import { Admission } from '../pods/admission/admission.ts';
import { appArmorRefusal, podLevelRefusal, sysctlRefusal } from '../pods/admission/node-security.ts';

interface AdmissionInput {
  readonly config: KubeletConfiguration;
  readonly flags: KubeletFlags;
  readonly gates: FeatureGates;
  readonly nodeName: string;
  readonly host: { architecture(): string };
  readonly resources: { active(): readonly Pod[]; allocatable(): ResourceAmounts; readonly maxPods: number };
  readonly observed: { get(uid: PodUid): ObservedPod | undefined };
  /** What is known of a pod by now, which the pod its source gave does not have yet. */
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly topology: { admit(pod: Pod): { readonly reason: string; readonly message: string } | undefined };
  /** The node's object where there is one. */
  readonly ownNode: () => Node | undefined;
  readonly kill: (uid: PodUid, kill: PodKill) => Promise<void>;
  readonly preempted: (resource: string) => void;
  readonly events: EventSink;
  readonly log: Logger;
}

export function assembleAdmission(input: AdmissionInput): Admission {
  const { events, gates, kill, observed, preempted, resources, statuses } = input;
  return new Admission({
    active: () =>
      resources.active().map((pod) => {
        const status = statuses.get(podUid(pod));
        return status === undefined ? pod : { ...pod, status };
      }),
    runs: (uid) => !isDown(observed.get(uid)),
    node: () => nodeAsItIs(input),
    kill,
    take: (pod) => input.topology.admit(pod),
    settings: { podLevelResources: gates.PodLevelResources },
    events,
    preempted,
    log: input.log.with({ component: 'admission' }),
  });
}

/** What the API server knows of it, with what this kubelet knows better: an object may be of an earlier life. */
function nodeAsItIs({ config, flags, host, nodeName, ownNode, resources }: AdmissionInput): Node {
  const known = ownNode();
  const allocatable = {
    ...known?.status?.allocatable,
    ...formatAmounts(resources.allocatable()),
    pods: String(resources.maxPods),
  };
  if (known !== undefined) return { ...known, status: { ...known.status, allocatable } };
  const labels = {
    'kubernetes.io/hostname': nodeName,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': host.architecture(),
    ...flags.nodeLabels,
  };
  return {
    metadata: { name: nodeName, labels },
    spec: { taints: config.registerWithTaints.map(({ key, value, effect }) => ({ key, value, effect })) },
    status: { allocatable },
  };
}

/** What this machine cannot give a pod, or must not. */
export function nodeRefusal(
  {
    config,
    gates,
    machine,
  }: {
    readonly gates: Pick<FeatureGates, 'PodLevelResources'>;
    readonly config: Pick<KubeletConfiguration, 'allowedUnsafeSysctls'>;
    readonly machine: Pick<MachineFacts, 'appArmor' | 'kernelRelease'>;
  },
  pod: Pod,
): ReturnType<typeof sysctlRefusal> {
  const { appArmor = false, kernelRelease = '' } = machine;
  const sysctls = { kernelRelease, allowedUnsafe: config.allowedUnsafeSysctls };
  return (
    sysctlRefusal(pod, sysctls) ??
    appArmorRefusal(pod, appArmor) ??
    podLevelRefusal(pod, gates.PodLevelResources)
  );
}

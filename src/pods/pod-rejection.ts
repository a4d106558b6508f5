// Rejects pods that this kubelet cannot run whatever else runs: by their spec, the gates and the machine. Pure.
// Upstream: the admit handlers of pkg/kubelet/kubelet.go (sysctl, AppArmor, features).
import type { Pod } from '../api/k8s/types.ts';
import { appArmorRefusal, podLevelRefusal, sysctlRefusal } from './admission/node-security.ts';
import { type RefuseGates, refusePod } from './refuse-pod.ts';

interface RejectionSettings {
  readonly gates: RefuseGates & {
    readonly ContainerRestartRules: boolean;
    readonly ImageVolume: boolean;
    readonly PodLevelResources: boolean;
  };
  readonly allowedUnsafeSysctls: readonly string[];
  readonly appArmor: boolean;
  readonly kernelRelease: string;
}

export function rejectPod(pod: Pod, settings: RejectionSettings): ReturnType<typeof refusePod> {
  const { allowedUnsafeSysctls: allowedUnsafe, appArmor, gates, kernelRelease } = settings;
  return (
    refusePod(pod, {
      restartRules: gates.ContainerRestartRules,
      imageVolumes: gates.ImageVolume,
      gates,
    }) ??
    sysctlRefusal(pod, { kernelRelease, allowedUnsafe }) ??
    appArmorRefusal(pod, appArmor) ??
    podLevelRefusal(pod, gates.PodLevelResources)
  );
}

// Rejects pods that this kubelet can never run, regardless of other pods: by spec, feature gates and machine. Pure.
// A check that depends on other pods or on the node's resources belongs in admission/.
// Upstream: the admit handlers of pkg/kubelet/kubelet.go (sysctl, AppArmor, features).
import type { Pod } from '../api/k8s/types.ts';
import { appArmorRejection, podLevelRejection, sysctlRejection } from './admission/node-security.ts';
import { featureRejection } from './admission/required-features.ts';
import { rejectUnsupported, type UnsupportedGates } from './unsupported-fields.ts';

interface RejectionSettings {
  readonly gates: UnsupportedGates & {
    readonly ContainerRestartRules: boolean;
    readonly ImageVolume: boolean;
    readonly PodLevelResources: boolean;
  };
  /** The features that the node declares. */
  readonly declaredFeatures: readonly string[];
  readonly allowedUnsafeSysctls: readonly string[];
  readonly appArmor: boolean;
  readonly kernelRelease: string;
}

export function rejectPod(pod: Pod, settings: RejectionSettings): ReturnType<typeof rejectUnsupported> {
  const { allowedUnsafeSysctls: allowedUnsafe, appArmor, gates, kernelRelease } = settings;
  return (
    rejectUnsupported(pod, {
      restartRules: gates.ContainerRestartRules,
      imageVolumes: gates.ImageVolume,
      gates,
    }) ??
    sysctlRejection(pod, { kernelRelease, allowedUnsafe }) ??
    appArmorRejection(pod, appArmor) ??
    podLevelRejection(pod, gates.PodLevelResources) ??
    featureRejection(pod, settings.declaredFeatures)
  );
}

// The node features that a pod, or an update of one, requires, and those of them that the node does not declare. Pure.
// Upstream: component-helpers/nodedeclaredfeatures/features, and the declared features handler of pkg/kubelet/lifecycle.
// Invariant: the API server and the scheduler apply the same rules, from the node's status.declaredFeatures.
import { isDeepStrictEqual } from 'node:util';
import type { Container, Pod, PodSpec } from '../../api/k8s/types.ts';
import { isSidecar, mayRestartAll } from '../../api/pod/restart-policy.ts';
import { Quantity } from '../../api/quantity/quantity.ts';

const toRun: Readonly<Record<string, (pod: Pod) => boolean>> = {
  RestartAllContainersOnContainerExits: mayRestartAll,
  UserNamespacesHostNetworkSupport: ({ spec }) => spec?.hostNetwork === true && spec.hostUsers === false,
  VolumeBindMountOptions: ({ spec }) =>
    allContainers(spec).some(({ volumeMounts = [] }) =>
      volumeMounts.some(({ bindMountOptions = [] }) => bindMountOptions.length > 0),
    ),
};

const toUpdate: Readonly<Record<string, (before: PodSpec, after: PodSpec) => boolean>> = {
  InPlacePodLevelResourcesVerticalScaling: (before, after) =>
    !isDeepStrictEqual(before.resources, after.resources),
  InPlacePodVerticalScalingInitContainers: (before, after) =>
    (before.initContainers ?? []).some(
      (container, index) =>
        !isSidecar(container) &&
        !isDeepStrictEqual(container.resources, after.initContainers?.[index]?.resources),
    ),
  InPlacePodVerticalScalingMemoryBackedVolumes: hasResizedMemoryVolume,
};

interface FeatureRejection {
  readonly reason: 'PodFeatureUnsupported';
  readonly message: string;
}

export function featureRejection(pod: Pod, declared: readonly string[]): FeatureRejection | undefined {
  const message = describeMissing(toRun, (requires) => requires(pod), declared);
  return message === undefined ? undefined : { reason: 'PodFeatureUnsupported', message };
}

/** What an update requires that the node does not declare; undefined if nothing. */
export function updateProblem(before: Pod, after: Pod, declared: readonly string[]): string | undefined {
  const [from, to] = [before.spec, after.spec];
  if (from === undefined || to === undefined) return undefined;
  return describeMissing(toUpdate, (requires) => requires(from, to), declared);
}

function describeMissing<F>(
  features: Readonly<Record<string, F>>,
  isRequired: (requires: F) => boolean,
  declared: readonly string[],
): string | undefined {
  const missing = Object.entries(features)
    .filter(([name, requires]) => !declared.includes(name) && isRequired(requires))
    .map(([name]) => name);
  if (missing.length === 0) return undefined;
  return `Pod requires node features that are not available: ${missing.join(', ')}`;
}

function allContainers(spec: PodSpec | undefined): readonly Pick<Container, 'volumeMounts'>[] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? []), ...(spec?.ephemeralContainers ?? [])];
}

function hasResizedMemoryVolume(before: PodSpec, after: PodSpec): boolean {
  const [from, to] = [before.volumes ?? [], after.volumes ?? []];
  return (
    from.length === to.length &&
    to.some(({ emptyDir, name }, index) => {
      const old = from[index];
      const [was, is] = [old?.emptyDir?.sizeLimit, emptyDir?.sizeLimit];
      if (old?.name !== name || emptyDir?.medium !== 'Memory' || was === undefined || is === undefined)
        return false;
      if (was === is) return false;
      return Quantity.parse(was).cmp(Quantity.parse(is)) !== 0;
    })
  );
}

// A pod's containers across the three lists of its spec: init containers (sidecars among them), regular and ephemeral ones.
// Pure. Upstream: pkg/api/v1/pod (VisitContainers) and GetContainerSpec in pkg/kubelet/container.
import type { Container, Pod } from '../k8s/types.ts';
import { isSidecar } from './restart-policy.ts';

type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

/** The type by the list that holds the container, as the label of metrics. */
export function containerType({ spec }: Pod, name: string): ContainerType {
  const isIn = (list: readonly { readonly name: string }[] | undefined): boolean =>
    list?.some((each) => each.name === name) === true;
  if (isIn(spec?.initContainers)) return 'init_container';
  return isIn(spec?.ephemeralContainers) ? 'ephemeral_container' : 'container';
}

/** Init, regular and ephemeral containers, in this order. Ephemeral ones have all fields of the others. */
export function allContainers(pod: Pod): readonly Container[] {
  const ephemeral = (pod.spec?.ephemeralContainers ?? []) as readonly Container[];
  return [...initAndRegularContainers(pod), ...ephemeral];
}

/** The containers that may have resources. */
export function initAndRegularContainers({ spec }: Pod): readonly Container[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

/** Sidecars and regular containers: those that run side by side until the pod ends. */
export function longRunningContainers({ spec }: Pod): readonly Container[] {
  return [...(spec?.initContainers ?? []).filter(isSidecar), ...(spec?.containers ?? [])];
}

/** The spec of a container of any type. */
export function findContainer(pod: Pod | undefined, name: string): Container | undefined {
  return pod === undefined ? undefined : allContainers(pod).find((each) => each.name === name);
}

/** Of an ephemeral container: the container whose processes it shares, if it names one. */
export function targetContainerName({ spec }: Pod, name: string): string | undefined {
  const found = spec?.ephemeralContainers?.find((each) => each.name === name);
  return found?.targetContainerName === '' ? undefined : found?.targetContainerName;
}

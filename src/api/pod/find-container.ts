// A pod's containers whatever list they are in: ordinary, init (sidecars among them) and ephemeral ones. Pure.
import type { Container, Pod } from '../k8s/types.ts';

/** An ephemeral container has all fields of an ordinary one, and one of its own. */
interface FoundContainer {
  readonly container: Container;
  /** Of an ephemeral container: whose processes it is to see. */
  readonly targetName: string | undefined;
}

type ContainerType = 'container' | 'init_container' | 'ephemeral_container';

/** By the list it is in, as metrics name it. */
export function containerType({ spec }: Pod, name: string): ContainerType {
  const isIn = (list: readonly { readonly name: string }[] | undefined): boolean =>
    list?.some((each) => each.name === name) === true;
  if (isIn(spec?.initContainers)) return 'init_container';
  return isIn(spec?.ephemeralContainers) ? 'ephemeral_container' : 'container';
}

export function allContainers(pod: Pod): readonly Container[] {
  const { containers = [], ephemeralContainers = [], initContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers, ...(ephemeralContainers as readonly Container[])];
}

export function findContainer(pod: Pod, name: string): FoundContainer | undefined {
  const container = allContainers(pod).find((each) => each.name === name);
  if (container === undefined) return undefined;
  const ephemeral = pod.spec?.ephemeralContainers?.find((each) => each.name === name);
  const target = ephemeral?.targetContainerName ?? '';
  return { container, targetName: target === '' ? undefined : target };
}

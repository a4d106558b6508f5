// A pod's containers whatever list they are in: ordinary, init (sidecars among them) and ephemeral ones. Pure.
import type { Container, Pod } from '../api/k8s.ts';

/** An ephemeral container has all fields of an ordinary one, and one of its own. */
export interface FoundContainer {
  readonly container: Container;
  /** Of an ephemeral container: whose processes it is to see. */
  readonly targetName: string | undefined;
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

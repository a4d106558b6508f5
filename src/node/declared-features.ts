// The features that the node declares in status.declaredFeatures: the scheduler and the API server rely on them.
// Invariant: a feature is declared only if it is implemented, its gate is on, and its row below is here. Upstream:
// component-helpers/nodedeclaredfeatures. To declare one: add its gate to the list when its last part lands.

/** Each is the name of a feature and of its gate. */
export const declarableFeatures = [
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
] as const;

export type DeclarableFeature = (typeof declarableFeatures)[number];

/** Sorted by name. Fixed for the life of the process. */
export function declaredFeatures(gates: Readonly<Record<DeclarableFeature, boolean>>): readonly string[] {
  return declarableFeatures.filter((name) => gates[name]).toSorted();
}

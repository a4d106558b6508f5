// The feature gates that decide what a status has, by upstream's names. Types and defaults only.
export interface StatusGates {
  readonly PodObservedGenerationTracking: boolean;
  readonly PodReadyToStartContainersCondition: boolean;
  readonly ContainerRestartRules: boolean;
  readonly ContainerStopSignals: boolean;
  readonly SupplementalGroupsPolicy: boolean;
  readonly InPlacePodVerticalScaling: boolean;
}

/** As this version has them when nobody sets anything. */
export const defaultStatusGates: StatusGates = {
  PodObservedGenerationTracking: true,
  PodReadyToStartContainersCondition: true,
  ContainerRestartRules: false,
  ContainerStopSignals: false,
  SupplementalGroupsPolicy: true,
  InPlacePodVerticalScaling: true,
};
